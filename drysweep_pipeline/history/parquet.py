"""The history as Parquet for other engines: a file a table, sweep and campaign, in folders named ``key=value``.

A campaign is written when it stands, not while it is running, so that the rounds of a search do not wait for it. Files
have the same name every time and are replaced one by one: first what belongs to a campaign, then what belongs to the
sweep, the campaigns last of all, and then the manifest. What is missing is found by comparing with the manifest.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from drysweep_pipeline.durable import read_json, sha256_of, write_json, write_whole
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.history.edition import digest, findings_of

SCHEMA_VERSION = 1
STRAY = "it is none of what was published"
BATCH_ROWS = 100_000
OF_A_CAMPAIGN = {
    "sightings": "round, fp, strategy",
    "verdicts": "ord",
    "events": "seq",
    "strategy_runs": "round, strategy, attempt",
    "rounds": "round",
}
OF_A_SWEEP = ("all_findings", "findings", "campaigns")
# All that a campaign's files hold changes only together with one of these.
_MARKS = """
    with said as (
        select campaign, max(ord) as verdicts from history.published.verdicts where sweep = $sweep group by campaign
    ), happened as (
        select campaign, max(seq) as events from history.published.events where sweep = $sweep group by campaign
    )
    select
        campaign, outcome <> 'running' as stands,
        concat_ws('/', $edition, outcome, reason, rounds, coalesce(verdicts, 0), coalesce(events, 0)) as mark
    from history.published.campaigns
    left join said using (campaign)
    left join happened using (campaign)
    where sweep = $sweep
    order by as_of, seq
"""
# A column that is also the name of a folder must be a dictionary in the file for pyarrow to take both for one.
_FOLDERS = ("sweep", "campaign")
_ROWS = "select * {cast} from history.main.{table} where sweep = $sweep and campaign = $campaign order by {order}"
_CAST = "replace (cast(fp as varchar) as fp)"
_SHOWN = "select unnest(cast($shown as varchar[])) as campaign"
_MINE = "sweep = $sweep"
_STANDING = findings_of(
    sighting=f"{_MINE} and campaign in ({_SHOWN})", verdict=_MINE, life=_MINE, published="history.published"
)
_FINDINGS = f"create or replace temp table shown_findings as select * {_CAST} from ({_STANDING})"
_SWEEP_ROWS = {
    "all_findings": "from temp.shown_findings order by fp",
    "findings": "from temp.shown_findings where status <> 'rejected' order by fp",
    "campaigns": f"from history.main.campaigns where sweep = $sweep and campaign in ({_SHOWN}) order by as_of, seq",
}


@dataclass(frozen=True, slots=True)
class Due:
    """The campaigns of a sweep that are to be written, those that are to be there, and what tells that they are."""

    campaigns: tuple[str, ...]
    shown: tuple[str, ...]
    marks: dict[str, str]
    gone: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """Where the Parquet of one sweep lies: ``root`` is the folder of all sweeps."""

    root: Path
    sweep: str

    @property
    def manifest(self) -> Path:
        """What tells which campaigns are there, and in which files."""
        return self.root / f"{self.sweep}.json"

    def of_campaign(self, table: str, campaign: str) -> Path:
        """Return the file of a table's rows of one campaign."""
        return self.root / table / f"sweep={self.sweep}" / f"campaign={campaign}" / f"{table}.parquet"

    def of_sweep(self, table: str) -> Path:
        """Return the file of a table that is written as a whole for each sweep."""
        return self.root / table / f"sweep={self.sweep}" / f"{table}.parquet"

    def listed(self) -> dict[str, Any]:
        """Return the campaigns of the manifest; none where it is missing or broken, since all is then written again."""
        try:
            found: dict[str, Any] = read_json(self.manifest)["campaigns"] if self.manifest.exists() else {}
        except (IntegrityError, KeyError, TypeError):
            return {}
        return found


def due(connection: duckdb.DuckDBPyConnection, exported: Exported, anew: bool) -> Due | None:
    """Return what is to be written of the history attached as ``history``; None where all is there as it should be.

    A campaign that is running is left out until it stands; one that goes on again keeps being written with the others.
    """
    listed = exported.listed()
    rows = connection.execute(_MARKS, {"sweep": exported.sweep, "edition": digest()[:12]}).fetchall()
    marks = {campaign: mark for campaign, stands, mark in rows if stands or campaign in listed}
    standing = {campaign for campaign, stands, _ in rows if stands}
    there = {} if anew else {campaign: entry["mark"] for campaign, entry in listed.items()}
    changed = [campaign for campaign, mark in marks.items() if there.get(campaign) != mark]
    gone = sorted(listed.keys() - {campaign for campaign, _, _ in rows})
    if not standing & set(changed) and not gone:
        return None
    return Due(tuple(changed), tuple(marks), marks, tuple(gone))


def export(connection: duckdb.DuckDBPyConnection, exported: Exported, work: Due) -> None:
    """Write what is due of the history attached as ``history``, each file whole or not at all, the manifest last."""
    listed = {name: entry for name, entry in exported.listed().items() if name in work.shown}
    for campaign in work.campaigns:
        files = [_campaign_file(connection, exported, table, campaign) for table in OF_A_CAMPAIGN]
        listed[campaign] = {"mark": work.marks[campaign], "files": files}
    connection.execute(_FINDINGS, {"sweep": exported.sweep, "shown": list(work.shown)})
    try:
        of_sweep = [_sweep_file(connection, exported, table, work.shown) for table in OF_A_SWEEP]
    finally:
        connection.execute("drop table if exists temp.shown_findings")
    told = {"schema_version": SCHEMA_VERSION, "sweep": exported.sweep, "files": of_sweep, "campaigns": listed}
    write_json(exported.manifest, told)
    for campaign in work.gone:
        for table in OF_A_CAMPAIGN:
            shutil.rmtree(exported.of_campaign(table, campaign).parent, ignore_errors=True)


def _campaign_file(
    connection: duckdb.DuckDBPyConnection, exported: Exported, table: str, campaign: str
) -> dict[str, Any]:
    cast = _CAST if table in ("sightings", "verdicts", "events") else ""
    query = _ROWS.format(table=table, cast=cast, order=OF_A_CAMPAIGN[table])
    path = exported.of_campaign(table, campaign)
    return _written(connection, exported, path, query, {"sweep": exported.sweep, "campaign": campaign})


def _sweep_file(
    connection: duckdb.DuckDBPyConnection, exported: Exported, table: str, shown: Sequence[str]
) -> dict[str, Any]:
    given = {"sweep": exported.sweep, "shown": list(shown)} if table == "campaigns" else {}
    return _written(connection, exported, exported.of_sweep(table), f"select * {_SWEEP_ROWS[table]}", given)


def _written(
    connection: duckdb.DuckDBPyConnection, exported: Exported, path: Path, query: str, given: dict[str, Any]
) -> dict[str, Any]:
    """Write a query's rows to a file; return its entry in the manifest."""
    for leftover in path.parent.glob(".*.part"):
        leftover.unlink(missing_ok=True)
    rows = 0

    def write(part: Path) -> None:
        nonlocal rows
        rows = _write_rows(connection, query, given, part)

    write_whole(path, write)
    place, sha256 = path.relative_to(exported.root).as_posix(), sha256_of(path)
    return {"path": place, "rows": rows, "bytes": path.stat().st_size, "sha256": sha256}


def spoilt(exported: Exported) -> dict[Path, str]:
    """Return the files of the manifest, or the manifest itself, that are not what was written, with what is wrong.

    A file that the manifest does not have, and that whoever reads all files of a folder would take for one of them, is
    ``STRAY``. Files are replaced before their manifest: who finds one spoilt asks again while nothing is published.
    """
    there = {path for path in exported.root.glob(f"*/sweep={exported.sweep}/**/*") if _is_whole(path)}
    if not exported.manifest.exists():
        return {exported.manifest: "it is gone, and files that it would list are there"} if there else {}
    try:
        told = read_json(exported.manifest)
        entries = [*told["files"], *(each for entry in told["campaigns"].values() for each in entry["files"])]
        unlike = {exported.root / each["path"]: why for each in entries if (why := _unlike(exported.root, each))}
        return unlike | dict.fromkeys(sorted(there - {exported.root / each["path"] for each in entries}), STRAY)
    except (IntegrityError, KeyError, TypeError) as error:
        return {exported.manifest: error.what if isinstance(error, IntegrityError) else f"not readable: {error!r}"}


def _is_whole(path: Path) -> bool:
    return path.is_file() and not path.name.endswith(".part")


def _unlike(root: Path, entry: dict[str, Any]) -> str | None:
    path, sha256 = root / entry["path"], entry.get("sha256")
    if not path.is_file():
        return "it is gone"
    # Files of before it was recorded have none.
    return "corrupt_artifact: it is not what was written" if sha256 and sha256_of(path) != sha256 else None


def _write_rows(connection: duckdb.DuckDBPyConnection, query: str, given: dict[str, Any], part: Path) -> int:
    # Not imported by whoever only publishes rounds that go on.
    import pyarrow as pa
    import pyarrow.parquet as pq

    reader = connection.sql(query, params=given or None).to_arrow_reader(BATCH_ROWS)
    text = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([field.with_type(text) if field.name in _FOLDERS else field for field in reader.schema])
    rows = 0
    with pq.ParquetWriter(part, schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_table(pa.Table.from_batches([batch]).cast(schema))
            rows += batch.num_rows
    return rows
