"""What finders return, made into candidates: checked, completed with defaults, fingerprinted in SQL, landed as Parquet.

A row without one of its fingerprint fields is refused and named; the valid rows beside it are kept. Which files make
a round is ``landing``'s business.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from drysweep_pipeline import fingerprint
from drysweep_pipeline.durable import write_whole
from drysweep_pipeline.errors import RowsRefused
from drysweep_pipeline.mentions import folded, scrubbed, sql_folded
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.spelling import literal
from drysweep_pipeline.values import Severity

TEXT_FIELDS = ("subject", "kind", "severity", "scope", "title", "path", "owner", "evidence")
STANDARD = (*TEXT_FIELDS, "line")
_TEXTS = frozenset(TEXT_FIELDS)
NOT_FROM_A_FINDER = ("fingerprint", "fp", "identity", "verdict", "state", "strategy", "round")
# The columns of a landed file, in order: fp UUID, row and line BIGINT, the others VARCHAR; attributes is a JSON object.
COLUMNS = ("fp", "identity", "strategy", "row", *TEXT_FIELDS, "line", "attributes")
_FIELD_COLUMN = "identity_{}"
_UNFIT = "unfit"
_SPELLED_COLUMN = "token{}"
# Numbers that DuckDB writes into JSON though JSON has none such; inside a string this matches too, which does no harm.
_NO_JSON = r"(^|[\[,:])(NaN|-?Infinity)($|[,\]}])"
_MAY_BE_NO_JSON = re.compile("DOUBLE|FLOAT|JSON|UNION|VARIANT")
_SHOWN = 5
_BATCH_ROWS = 10_000
_LINE_NUMBERS = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that could not be taken in, and why; rows count from 1."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the table ``given``: its name in SQL, which is ours and not the finder's, and its type."""

    sql: str
    type: str


_Columns: TypeAlias = Mapping[str, _Column]


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of the rows of one attempt: how many were landed, how many were refused, and the first of those.

    ``withheld`` counts those that stem from something planted, which are no findings, and ``scrubbed`` those of the
    landed ones that told of something planted as well, which they no longer do.
    """

    rows: int
    refused: int = 0
    first_refused: tuple[Refusal, ...] = ()
    withheld: int = 0
    scrubbed: int = 0


@dataclass(frozen=True, slots=True)
class Unfit:
    """A row that cannot be taken in as it came, and why."""

    reason: str


def prepare(rows: Iterable[Mapping[str, Any] | Unfit], fields: tuple[str, ...]) -> pa.Table:
    """Return rows as they come, from whoever may report anything, as a table for ``land_prepared``; raises nothing.

    What cannot be taken in keeps its place among the rows and is refused when they land.
    """
    schema = _prepared_schema(fields)
    coming, batches = iter(rows), []
    while batch := [_fit(row, fields) for row in islice(coming, _BATCH_ROWS)]:
        batches.append(pa.RecordBatch.from_pylist(batch, schema=schema))
    return pa.Table.from_batches(batches, schema=schema)


def land_prepared(
    table: pa.Table, strategy: str, fields: tuple[str, ...], path: Path, planted: Sequence[str] = ()
) -> Taken:
    """Land what ``prepare`` made of rows at ``path``, but for those that are of something planted."""
    return _landed(table, strategy, fields, identity_columns(fields), path, planted)


def written_as_json(fields: tuple[str, ...]) -> dict[str, Callable[[Any], str]]:
    """Return the columns of prepared rows whose texts are JSON, with what writes a value of theirs."""
    return {"attributes": written, **dict.fromkeys(identity_columns(fields), fingerprint.token)}


def merged(tables: Sequence[pa.Table]) -> pa.Table:
    """Return prepared rows of several attempts as one table: what is unfit as the last has it, no row twice."""
    *earlier, last = tables
    fit = [table.filter(table[_UNFIT].is_null()) for table in earlier]
    if not any(table.num_rows for table in fit):
        return last
    both = pa.concat_tables([*fit, last])
    return both.group_by(both.column_names, use_threads=False).aggregate([])


def land_rows(rows: Iterable[Mapping[str, Any]], strategy: str, fields: tuple[str, ...], path: Path) -> Taken:
    """Land findings given as dictionaries, one a finding, at ``path``. Raises ``RowsRefused``."""
    prepared = [_prepared(row, fields) for row in rows]
    return land_prepared(pa.Table.from_pylist(prepared, schema=_prepared_schema(fields)), strategy, fields, path)


def land_table(
    table: pa.Table, strategy: str, fields: tuple[str, ...], path: Path, planted: Sequence[str] = ()
) -> Taken:
    """Land an Arrow table whose columns are the findings' fields at ``path``, but for rows of something planted.

    Raises ``RowsRefused``.
    """
    _check_columns(table, fields)
    return _landed(table, strategy, fields, None, path, planted)


def reported(table: pa.Table, fields: tuple[str, ...], identities: Iterable[str], *, prepared: bool) -> frozenset[str]:
    """Return which of some identities a table reports in a row that can be taken in; nothing is landed.

    ``prepared``: it is what ``prepare`` made of rows. Raises ``RowsRefused``.
    """
    if not prepared:
        _check_columns(table, fields)
    with _completed(table, "", fields, identity_columns(fields) if prepared else None) as connection:
        return frozenset(identity for (identity,) in connection.execute(_REPORTED, [list(identities)]).fetchall())


def _check_columns(table: pa.Table, fields: tuple[str, ...]) -> None:
    _check_names(table.column_names, fields)
    missing = [name for name in fields if name not in table.column_names]
    if missing:
        raise RowsRefused(
            f"missing_field: {', '.join(missing)}", help=f"the columns are {', '.join(table.column_names)}"
        )


def _prepared_schema(fields: tuple[str, ...]) -> pa.Schema:
    names = [*STANDARD, "attributes", _UNFIT, *identity_columns(fields)]
    return pa.schema([(name, pa.int64() if name == "line" else pa.string()) for name in names])


def _fit(row: Mapping[str, Any] | Unfit, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return one row prepared, or the reason why it cannot be."""
    if isinstance(row, Unfit):
        return {_UNFIT: row.reason}
    try:
        _check_values(row, fields)
        return _prepared(row, fields)
    except RowsRefused as error:
        return {_UNFIT: str(error)}


def unfit(row: Mapping[str, Any], fields: tuple[str, ...]) -> str | None:
    """Return why a row cannot be taken in, whatever it lacks or is worth; None where it can."""
    why: str | None = _fit(row, fields).get(_UNFIT)
    return why


def _check_values(row: Mapping[str, Any], fields: tuple[str, ...]) -> None:
    """Refuse what has no one spelling: values with parts as identity, and what is no number as a line."""
    for name in fields:
        if isinstance(row.get(name), Mapping | list):
            raise RowsRefused(
                f"nested_field: {name}", help="a field of the fingerprint is text, a number, true or false"
            )
    line = row.get("line")
    if line is not None and (isinstance(line, bool) or not isinstance(line, int) or line not in _LINE_NUMBERS):
        raise RowsRefused(f"bad_line: {hidden(repr(line), 60)}", help="a whole number is expected")


def _check_names(names: Iterable[Any], fields: tuple[str, ...]) -> None:
    """Refuse names that no finder may give, and those that differ by case only from one that means something."""
    texts = sorted(name for name in names if isinstance(name, str))
    claimed = [name for name in texts if name.lower() in NOT_FROM_A_FINDER]
    if claimed:
        raise RowsRefused(f"{', '.join(claimed)}: not accepted from a finder")
    known = {name.lower(): name for name in (*STANDARD, *fields)}
    for name in texts:
        meant = known.get(name.lower())
        if meant is not None and name not in (*STANDARD, *fields):
            raise RowsRefused(f"the column {name!r} would be ignored", help=f"did you mean {meant!r}? case matters")


@lru_cache(maxsize=256)
def _check_keys(names: tuple[Any, ...], fields: tuple[str, ...]) -> None:
    """Refuse the keys of a row as ``_check_names`` does; most rows of a finder have those of the one before."""
    _check_names(names, fields)


def _prepared(row: Mapping[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    """Return one dictionary with its tokens written and everything that is no standard field under attributes."""
    _check_keys(tuple(row), fields)
    prepared: dict[str, Any] = {_FIELD_COLUMN.format(i): _token_or_none(row.get(name)) for i, name in enumerate(fields)}
    rest = {}
    for key, value in row.items():
        if key in _TEXTS:
            prepared[key] = _text(value)
        elif key != "line":
            rest[key] = value
        elif isinstance(value, int):
            prepared[key] = value
    prepared["subject"] = prepared.get("subject") or _text(row.get(fields[0]))
    prepared["kind"] = prepared.get("kind") or _text(row.get(fields[-1]))
    prepared["attributes"] = written(rest)
    return prepared


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return written(value) if isinstance(value, Mapping | list) else str(value)


# Made once, since making one takes longer than writing a row with it.
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, default=str, allow_nan=False)


def written(value: Any) -> str:
    """Return a value as attributes are written: as JSON, a number that JSON lacks as its text."""
    try:
        return _ENCODER.encode(value)
    except ValueError:  # a number that JSON has no way to write
        return _ENCODER.encode(_with_finite(value))


def _with_finite(value: Any) -> Any:
    """Return a value with the text of each number in it that JSON has no way to write."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _with_finite(each) for key, each in value.items()}
    return [_with_finite(each) for each in value] if isinstance(value, list | tuple) else value


def _token_or_none(value: Any) -> str | None:
    if isinstance(value, str):
        return _token_of_text(value)
    if value is None:
        return None
    try:
        return fingerprint.token(value if isinstance(value, int | float) else str(value))
    except ValueError:
        return None


@lru_cache(maxsize=1 << 14)
def _token_of_text(value: str) -> str | None:
    """Return a text as the identity spells it; what a finder reports often has few values in one of its fields."""
    try:
        return fingerprint.token(value)
    except ValueError:
        return None


def identity_columns(fields: tuple[str, ...]) -> list[str]:
    """Return the columns that hold the fields' tokens where they were written in Python."""
    return [_FIELD_COLUMN.format(i) for i in range(len(fields))]


def _landed(
    table: pa.Table,
    strategy: str,
    fields: tuple[str, ...],
    tokens: list[str] | None,
    path: Path,
    planted: Sequence[str] = (),
) -> Taken:
    """Fingerprint, fill defaults, part good rows from bad ones and write the good ones, in DuckDB."""
    with _completed(table, strategy, fields, tokens, kept=bool(planted)) as connection:
        withheld, told = _withhold(connection, planted) if planted else (0, 0)
        write_whole(path, lambda part: _copy(connection, part))
        refused, shown = _refusals(connection)
    return Taken(table.num_rows - refused - withheld, refused, shown, withheld, told)


def _withhold(connection: duckdb.DuckDBPyConnection, planted: Sequence[str]) -> tuple[int, int]:
    """Take out the good rows that are of something planted, and its names out of the others; return how many each."""
    names = [folded(name) for name in planted]
    withheld = len(connection.execute(_WITHHOLD.format(said=_OF), [names]).fetchall())
    told = _scrub(connection, planted, names)
    # Whatever still mentions one is not to land, however that came.
    left = len(connection.execute(_WITHHOLD.format(said=_SAID), [names]).fetchall())
    return withheld + left, told - left


def _scrub(connection: duckdb.DuckDBPyConnection, planted: Sequence[str], names: list[str]) -> int:
    """Take planted names out of what good rows say beside what they are of; return of how many rows."""
    rows = connection.execute(_TELLING, [names]).fetchall()
    if rows:
        cleaned = [(row, *(text and scrubbed(text, planted) for text in texts)) for row, *texts in rows]
        columns = dict(zip(("row", *_BESIDE), map(list, zip(*cleaned, strict=True)), strict=True))
        types = {name: pa.int64() if name == "row" else pa.string() for name in columns}
        connection.register("cleaned", pa.table({name: pa.array(columns[name], types[name]) for name in columns}))
        connection.execute(_SCRUB)
    return len(rows)


@contextmanager
def _completed(
    table: pa.Table, strategy: str, fields: tuple[str, ...], tokens: list[str] | None, *, kept: bool = False
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection with ``completed``: the rows given, with defaults, identity and reason.

    It is a view, which costs no memory, unless it is to be ``kept`` as a table from which rows can be taken out.
    """
    with scratch(threads=1) as connection:
        columns = _registered(connection, table)
        source = _with_tokens(columns, fields, empty=table.num_rows == 0) if tokens is None else "given"
        spelled = [columns[name].sql for name in tokens] if tokens else _spelled(fields)
        rows = _complete_sql(columns, fields, spelled, source, strategy, given=tokens is not None)
        connection.execute(f"create temp {'table' if kept else 'view'} completed as {rows}")
        yield connection


def _registered(connection: duckdb.DuckDBPyConnection, table: pa.Table) -> _Columns:
    """Make a table ``given`` and return its columns by the names that the finder gave them."""
    # In SQL they go by names of ours, so that no column of a finder can pass for one that is computed here.
    connection.register("given", table.rename_columns([f"given{i}" for i in range(table.num_columns)]))
    described = connection.execute("describe given").fetchall()
    columns: dict[str, _Column] = {}
    for name, (sql, kind, *_) in zip(table.column_names, described, strict=True):
        columns[_free(name, columns)] = _Column(sql, kind)
    return columns


def _free(name: str, taken: _Columns) -> str:
    """Return a name, or that name with the first number that makes it another than those taken."""
    return next(each for each in (name, *(f"{name}_{i}" for i in range(1, len(taken) + 2))) if each not in taken)


def _spelled(fields: tuple[str, ...]) -> list[str]:
    """Return the columns that hold the fields' tokens where SQL writes them."""
    return [_SPELLED_COLUMN.format(i) for i in range(len(fields))]


def _copy(connection: duckdb.DuckDBPyConnection, part: Path) -> None:
    connection.execute(_LAND, [str(part)])


_LAND = f"""
    copy (
        select {fingerprint.sql_fingerprint("identity")} as fp, {", ".join(COLUMNS[1:])}
        from completed
        where reason is null
    ) to ? (format parquet, compression zstd)
"""
_REPORTED = """
    select distinct identity
    from completed
    where reason is null and list_contains(cast(? as varchar[]), identity)
"""
# What a row is of; where it tells of something planted beside that, it may be real all the same.
_OF = sql_folded("concat_ws(chr(10), identity, subject, scope, path)")
_SAID = sql_folded(f"concat_ws(chr(10), identity, {', '.join(TEXT_FIELDS)}, attributes)")
_BESIDE = ("kind", "title", "owner", "evidence", "attributes")
_MENTIONS = """
    reason is null and exists (
        select 1 from (select unnest(cast(? as varchar[])) as name) where contains({said}, name)
    )
"""
_WITHHOLD = f"delete from completed where {_MENTIONS} returning row"
_TELLING = f"select row, {', '.join(_BESIDE)} from completed where {_MENTIONS.format(said=_SAID)}"
_SCRUB = f"""
    update completed set {", ".join(f"{name} = cleaned.{name}" for name in _BESIDE)}
    from cleaned
    where cleaned.row = completed.row
"""
_BAD = f"select row, reason, count(*) over () from completed where reason is not null order by row limit {_SHOWN}"


def _refusals(connection: duckdb.DuckDBPyConnection) -> tuple[int, tuple[Refusal, ...]]:
    rows = connection.execute(_BAD).fetchall()
    return (rows[0][2] if rows else 0), tuple(Refusal(row, reason) for row, reason, _ in rows)


def _with_tokens(columns: _Columns, fields: tuple[str, ...], *, empty: bool) -> str:
    """Return SQL for what was given with its fields' tokens beside it, each spelled out once."""
    # Most strategies find nothing in most rounds, and planning these expressions would be the longest part of that.
    wanted = [columns[name] for name in fields]
    expressions = ["null::varchar" if empty else fingerprint.sql_token(each.sql, each.type) for each in wanted]
    tokens = ", ".join(f"{e} as {name}" for e, name in zip(expressions, _spelled(fields), strict=True))
    return f"(select *, {tokens} from given)"


def _complete_sql(
    given_columns: _Columns, fields: tuple[str, ...], tokens: list[str], source: str, strategy: str, *, given: bool
) -> str:
    """Return SQL for the rows given, in their order, with defaults, identity and reason."""
    wanted = {name: _standard(name, given_columns) for name in STANDARD}
    # A line number may be the field that says what is wrong; subject and kind are text all the same.
    first, last = (f"cast({_standard(name, given_columns)} as varchar)" for name in (fields[0], fields[-1]))
    wanted["subject"] = f"coalesce({wanted['subject']}, {first})"
    wanted["kind"] = f"coalesce({wanted['kind']}, {last})"
    wanted["severity"] = f"coalesce(lower({wanted['severity']}), '{Severity.MAJOR}')"
    wanted["scope"] = f"coalesce({wanted['scope']}, {wanted['subject']})"
    wanted["title"] = f"coalesce({wanted['title']}, {wanted['kind']} || ': ' || {wanted['subject']})"
    attributes = given_columns["attributes"].sql if given else _attributes(given_columns)
    named = zip(fields, tokens, strict=True)
    unfit = f"when {given_columns[_UNFIT].sql} is not null then {given_columns[_UNFIT].sql}" if given else ""
    missing = " ".join(f"when {token} is null then {literal(f'missing_field: {name}')}" for name, token in named)
    severities = ", ".join(f"'{severity}'" for severity in Severity)
    columns = ", ".join(f"{expression} as {name}" for name, expression in wanted.items())
    return f"""
        select {fingerprint.sql_identity(tokens)} as identity, {literal(strategy)} as strategy,
            row_number() over () as row, {columns}, {attributes} as attributes,
            case {unfit} {missing} when {wanted["severity"]} not in ({severities})
                then 'bad_severity: ' || {wanted["severity"]} end as reason
        from {source}
    """


def _standard(name: str, columns: _Columns) -> str:
    if name not in columns:
        return "null::bigint" if name == "line" else "null::varchar"
    return f"try_cast({columns[name].sql} as {'bigint' if name == 'line' else 'varchar'})"


def _attributes(columns: _Columns) -> str:
    pairs = ", ".join(f"{literal(name)}, {_json(each)}" for name, each in columns.items() if name not in STANDARD)
    return f"cast(json_object({pairs}) as varchar)"


def _json(column: _Column) -> str:
    """Return SQL for a column as a value in JSON; one that holds NaN or infinity is taken by its text."""
    if not _MAY_BE_NO_JSON.search(column.type):
        return column.sql
    given = f"to_json({column.sql})"
    by_text = f"to_json(cast({column.sql} as varchar))"
    return f"case when regexp_matches(cast({given} as varchar), {literal(_NO_JSON)}) then {by_text} else {given} end"
