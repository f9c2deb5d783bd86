"""Columns as the types that are declared for them: every value is one, exactly, and no two become the same one.

Anything else leaves the table unread: a search that takes two things for one ends too early.
"""

import duckdb

from drysweep_pipeline import exact
from drysweep_pipeline.spelling import identifier
from drysweep_pipeline.tabular.wanted import Unread

_WHOLE = ("BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT")
# What a snapshot keeps as it is; any other type is kept as text.
_KEPT = (*_WHOLE, "DOUBLE", "FLOAT", "BOOLEAN", "VARCHAR", "BLOB", "DATE", "TIMESTAMP WITH TIME ZONE")
# Without TIMESTAMP_NS, of which microseconds would be left.
_BARE_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")
# Of which something would be lost within a list or an object; there they are text, in JSON.
_CUT_WITHIN = ("_NS", "UNION(", "TIME WITH TIME ZONE")
_FULL_NAMES = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
_DAY, _CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?"
_WRITTEN = {
    # One way to write each, so that neither 007 nor a space makes another 7.
    "BIGINT": "0|-?[1-9][0-9]*",
    "DOUBLE": r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?",
    "BOOLEAN": "(?i)true|false",
    "DATE": _DAY,
    "TIMESTAMPTZ": f"{_DAY}([T ]{_CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?)?",
}
_ENTRIES = {
    "VARCHAR[]": "json_type(e) in ('VARCHAR', 'NULL')",
    "BIGINT[]": "json_type(e) = 'NULL' or try_cast(cast(e as varchar) as bigint) is not null and "
    "json_type(e) in ('BIGINT', 'UBIGINT')",
    "DOUBLE[]": "json_type(e) in ('DOUBLE', 'NULL') and not regexp_full_match(cast(e as varchar), '-?[0-9]+') or "
    "json_type(e) in ('BIGINT', 'UBIGINT') and abs(cast(cast(e as varchar) as hugeint)) <= 9007199254740992",
}
_WRITTEN_MANY_WAYS = ("DOUBLE", "BOOLEAN", "TIMESTAMPTZ", "DOUBLE[]")
_TOLD_BY_TEXT = ("HUGEINT", "UHUGEINT", "DECIMAL", "UUID", "ENUM(", "TIME")
_MANY = 10_000


def cast(column: str, given: str, wanted: str | None) -> str:
    """Return SQL for a column as the type that is wanted, or as one that a snapshot keeps."""
    if wanted is not None and _FULL_NAMES.get(wanted, wanted) != given:
        if wanted.endswith("[]") and given == "VARCHAR":
            return f"cast(cast({column} as json) as {wanted})"
        return f"cast({column} as {wanted})"
    if given in _BARE_TIMES:
        return f"cast({column} as timestamptz)"  # a time without a zone is UTC
    if given.startswith("UNION(") or (_is_nested(given) and any(each in given for each in _CUT_WITHIN)):
        return f"cast(to_json({column}) as varchar)"
    if given in _KEPT or given.startswith("DECIMAL") or _is_nested(given):
        return column
    return f"cast({column} as varchar)"


def check(connection: duckdb.DuckDBPyConnection, sql: str, name: str, given: str, wanted: str | None) -> None:
    """Raise ``Unread`` with the first value that a cast would change, or with two that it would make one."""
    column = identifier(name)
    as_wanted = cast(column, given, wanted)
    if as_wanted == column:
        return
    if wanted is not None and wanted != "VARCHAR":
        _check_each(connection, sql, name, wanted, _changes(column, given, wanted))
        if (given, wanted) == ("VARCHAR", "DOUBLE"):
            _check_digits(connection, sql, name)
    if _may_merge(given, wanted):
        _check_apart(connection, sql, name, as_wanted, wanted or "text")


def _may_merge(given: str, wanted: str | None) -> bool:
    """Tell whether two values that are each what is wanted can still become the same one."""
    if given == "VARCHAR":
        return wanted in _WRITTEN_MANY_WAYS
    told_apart = given in _KEPT or (given.startswith(_TOLD_BY_TEXT) and not given.endswith("[]"))
    return wanted in (None, "VARCHAR") and not told_apart


def _is_nested(kind: str) -> bool:
    return kind.endswith("[]") or kind.startswith(("STRUCT(", "MAP("))


def _changes(column: str, given: str, wanted: str) -> str:
    """Return SQL that holds for values that are none of a type."""
    if given != "VARCHAR":
        if "BOOLEAN" in (given, wanted):
            return "true"
        return f"try(cast({cast(column, given, wanted)} as {given})) is distinct from {column}"
    if wanted.endswith("[]"):
        entries = f"json_extract(try_cast({column} as json), '$[*]')"
        fits = f"len(list_filter({entries}, lambda e: not coalesce({_ENTRIES[wanted]}, false))) = 0"
        is_list = f"json_type(try_cast({column} as json)) = 'ARRAY'"
        return f"not coalesce({is_list} and {fits}, false)"
    value = f"try_cast({column} as {wanted})"
    fits = f"isfinite({value})" if wanted == "DOUBLE" else f"{value} is not null"
    return f"not (regexp_full_match({column}, '{_WRITTEN[wanted]}') and coalesce({fits}, false))"


def _check_each(connection: duckdb.DuckDBPyConnection, sql: str, name: str, wanted: str, changes: str) -> None:
    column = identifier(name)
    first = connection.execute(
        f"""
        select number, cast(value as varchar)
        from (select row_number() over () as number, {column} as value, {column} from {sql})
        where {column} is not null and {changes}
        order by number limit 1
        """
    ).fetchall()
    if first:
        [(row, value)] = first
        raise _is_none(row, value, name, wanted)


def _check_digits(connection: duckdb.DuckDBPyConnection, sql: str, name: str) -> None:
    column = identifier(name)
    asked = connection.execute(f"select row_number() over (), {column} from {sql}")
    while some := asked.fetchmany(_MANY):
        for number, value in some:
            try:
                exact.number(value or "0")
            except ValueError:
                raise _is_none(number, value, name, "DOUBLE") from None


def _check_apart(connection: duckdb.DuckDBPyConnection, sql: str, name: str, as_wanted: str, kind: str) -> None:
    column = identifier(name)
    merged = connection.execute(
        f"""
        select cast(min({column}) as varchar), cast(max({column}) as varchar)
        from {sql} where {column} is not null group by {as_wanted} having min({column}) <> max({column}) limit 1
        """
    ).fetchall()
    if merged:
        one, other = (exact.written(value) for value in merged[0])
        raise Unread(f"{name} holds ", one, " and ", other, f", which would be the same {kind}")


def _is_none(row: int, value: str, name: str, wanted: str) -> Unread:
    return Unread(f"row {row}: {name} is ", exact.written(value), f", which is no {wanted}")
