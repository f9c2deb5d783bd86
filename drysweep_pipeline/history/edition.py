"""The tables, views and macros of the history file: making them, and renewing the views of an older drysweep."""

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from string import Template

import duckdb

from drysweep_pipeline.history.comments import statements

# 1.5 and 2.0 both open files of this version; either may be what an analyst has.
CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.5.0",
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_HAS_TABLES = "select count(*) from information_schema.schemata where schema_name = 'published'"
_IS_PUBLISHED = "select count(*) from duckdb_schemas() where database_name = 'history' and schema_name = 'published'"
_EDITION = "select views from published.edition"
_COLUMNS = "select column_name from information_schema.columns where table_schema = 'main' and table_name = ?"
_ALWAYS = {"sighting": "true", "verdict": "true", "life": "true"}
_AS_OF = {"sighting": "as_of <= cast(t as timestamptz)", "verdict": "true", "life": "as_of <= cast(t as timestamptz)"}
_KNOWN_AT = {
    "sighting": "taken_at <= cast(t as timestamptz)",
    "verdict": "known_at <= cast(t as timestamptz)",
    "life": "known_at <= cast(t as timestamptz)",
}
# Most findings say the same all the time; only the others are looked through. What an older drysweep published knows
# only what they said last, which has to do for the time before.
_SAID_THEN = """(
    select *
    from published.payload said
    where not exists (select 1 from published.former_payload f where f.sweep = said.sweep and f.fp = said.fp)
    union all by name
    select * exclude (standing)
    from published.payloads said
    left join (select sweep, seq, round, taken_at from published.places) place using (sweep, seq, round)
    where exists (select 1 from published.former_payload f where f.sweep = said.sweep and f.fp = said.fp)
    qualify row_number() over (
        partition by said.sweep, said.fp
        order by coalesce({then}, false) desc, said.as_of desc, said.seq desc, said.round desc
    ) = 1
)"""
_SAID_AS_OF = _SAID_THEN.format(then="said.as_of <= cast(t as timestamptz)")
_SAID_KNOWN_AT = _SAID_THEN.format(then="place.taken_at <= cast(t as timestamptz)")


def is_current(connection: duckdb.DuckDBPyConnection) -> bool:
    """Tell whether the file attached as ``history`` has the tables and views of this version."""
    # Asked on the ledger's connection, since opening the file by itself would start an engine for every round.
    if not connection.execute(_IS_PUBLISHED).fetchall()[0][0]:
        return False
    return connection.execute("select views from history.published.edition").fetchall() == [(digest(),)]


def has_views_of_this_version(connection: duckdb.DuckDBPyConnection) -> bool:
    """Tell whether an open history has the views of this version, or cannot say what it has."""
    with suppress(duckdb.Error):
        return connection.execute(_EDITION).fetchall() == [(digest(),)]
    return True


def bring_up(file: Path) -> None:
    """Give a history file, new or published before, the tables and views of this version; the file is not open."""
    with duckdb.connect(str(file), config=CONFIG) as connection:
        connection.begin()
        fill(connection)
        connection.commit()


def fill(connection: duckdb.DuckDBPyConnection) -> None:
    """Give an open database the tables and views of this version."""
    if not connection.execute(_HAS_TABLES).fetchall()[0][0]:
        connection.execute(_text("tables"))
    if connection.execute(_EDITION).fetchall() != [(digest(),)]:
        _renew(connection, _views())


def _renew(connection: duckdb.DuckDBPyConnection, views: str) -> None:
    connection.execute(_text("additions"))
    connection.execute(views)
    for statement in statements(_Columns(connection)):
        connection.execute(statement)
    connection.execute("delete from published.edition")
    connection.execute("insert into published.edition values (?)", [digest()])


@cache
def digest() -> str:
    """Return what tells this version's tables and views from another's."""
    return hashlib.sha256((_text("additions") + _views()).encode()).hexdigest()


class _Columns(dict[str, list[str]]):
    """The columns of the views, looked up when they are asked for."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        super().__init__()
        self._connection = connection

    def __missing__(self, view: str) -> list[str]:
        return [row[0] for row in self._connection.execute(_COLUMNS, [view]).fetchall()]


def findings_of(
    *, sighting: str, verdict: str, life: str, payload: str | None = None, published: str = "published"
) -> str:
    """Return the query of where findings stand, from what three conditions let through of the schema ``published``.

    ``payload`` is what has one row a finding with what it says of itself; without it, what each says now.
    """
    said = payload or f"{published}.payload"
    given = {"sighting": sighting, "verdict": verdict, "life": life, "payload": said, "published": published}
    return Template(_text("findings")).substitute(given)


def _views() -> str:
    return Template(_text("views")).substitute(
        all_findings=findings_of(**_ALWAYS),
        findings_as_of=findings_of(**_AS_OF, payload=_SAID_AS_OF),
        findings_known_at=findings_of(**_KNOWN_AT, payload=_SAID_KNOWN_AT),
    )


def _text(name: str) -> str:
    return Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8").rstrip().rstrip(";")
