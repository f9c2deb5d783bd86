"""``drysweep sql``: a read-only query over the published history, of one's own or by name."""

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, home_of, project_root
from drysweep_pipeline.errors import Refused

if TYPE_CHECKING:
    import pyarrow as pa

    from drysweep_pipeline.home import Home
    from drysweep_pipeline.queries import NamedQuery

_WHAT_THERE_IS = """
    select view_name as name, 'view' as kind, comment as "what it holds"
    from duckdb_views()
    where not internal and schema_name = 'main'
    union all
    select function_name, 'macro', comment from duckdb_functions() where not internal and schema_name = 'main'
    order by kind desc, name
"""
# A word alone is a name; these two are SQL.
_WORD = re.compile(r"\s*(?!(?:show|describe)\s*$)[A-Za-z_][A-Za-z0-9_]*\s*", re.IGNORECASE)


def sql(
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="One SELECT, or a named query; - reads it from stdin.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="NAME=VALUE", help="A value for $NAME; may be repeated."),
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Print the SQL of a named query instead of asking it.")] = False,
    format: Annotated[str | None, typer.Option(help="table, csv, json, jsonl or parquet.")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write to a file; its ending says the format.")
    ] = None,
    raw: Annotated[bool, typer.Option("--raw", help="CSV cells as they are, formulas too: for programs only.")] = False,
    seconds: Annotated[float, typer.Option(min=0.1, help="Give up after so many seconds.")] = 30,
    max_rows: Annotated[int, typer.Option(min=1, help="Refuse results longer than this.")] = 10_000,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Query the history, in SQL or by the name of a query.

    Without a query, list its views and the named queries.

    Example: drysweep sql late_tail -p after=1 --output late.csv
    """
    from drysweep_pipeline.cli.memory import bounded
    from drysweep_pipeline.cli.output import put_document
    from drysweep_pipeline.cli.results import keep_result, print_list, put_result, result

    wanted = _format(format, output, json)
    if show:
        put_document(_named((query or "").strip(), home_of(home)).text.rstrip())
        return 0
    if query is None and wanted == "table":
        print_list(_what_there_is(home_of(home)).to_pylist())
        return 0
    with bounded():
        table, about = _ask(home_of(home), query, _given(parameter or []), seconds, max_rows)
        found = result(table, about)
        if output is None:
            put_result(found, wanted, raw=raw)
            return 0
        keep_result(found, wanted, output, raw=raw)
    _say_where(output, wanted, len(found.rows), json)
    return 0


def _ask(
    home: "Home", query: str | None, given: dict[str, str], seconds: float, max_rows: int
) -> tuple["pa.Table", dict[str, Any]]:
    """Return the rows of a query, and what JSON is to tell beside them."""
    if query is None:
        return _what_there_is(home), {}
    text = _given_on_stdin() if query == "-" else query
    if not _WORD.fullmatch(text):
        return _rows(home, text, given, seconds, max_rows), {}
    named = _named(text.strip(), home)
    bound = _bound(home, named, given)
    table = _rows(home, named.text, bound, seconds, max_rows)
    _say_what_was_asked(named, bound)
    return table, {"query": named.name, "parameters": bound, "caution": named.caution}


def _given_on_stdin() -> str:
    """Return the query on stdin. Raises ``Refused`` where that is no text."""
    try:
        text = sys.stdin.read()
        # Python may keep bytes that are no UTF-8 as halves of characters.
        text.encode()
    except UnicodeError:
        raise Refused("the query on stdin is no UTF-8", help="give it as UTF-8 text") from None
    return text


def _rows(home: "Home", text: str, bound: dict[str, Any], seconds: float, max_rows: int) -> "pa.Table":
    from drysweep_pipeline.cli.refusing import going_on
    from drysweep_pipeline.history import reading

    with going_on("a query changes nothing, so there is nothing to go on with"):
        return reading.query(home, text, bound, seconds=seconds, max_rows=max_rows)


def _bound(home: "Home", named: "NamedQuery", given: dict[str, str]) -> dict[str, Any]:
    from drysweep_pipeline.history.reading import history
    from drysweep_pipeline.queries.values import values

    with history(home) as connection:
        return values(connection, named, given)


def _named(name: str, home: "Home | None" = None) -> "NamedQuery":
    """Return a named query. Raises ``NotFound``, which also says how to read a view of that name."""
    from drysweep_pipeline.errors import NotFound
    from drysweep_pipeline.queries import find

    try:
        return find(name, _catalogue())
    except NotFound as error:
        if home is not None and name in _views(home):
            raise Refused(f"{name} is a view, not a query", help=f"drysweep sql 'from {name}'") from None
        raise error


def _catalogue() -> "dict[str, NamedQuery]":
    """Return the named queries, those of the project in ``queries`` beside its pyproject.toml included."""
    from drysweep_pipeline.queries import catalogue

    own = project_root() / "queries"
    return catalogue(own) if (project_root() / "pyproject.toml").exists() and own.is_dir() else catalogue()


def _views(home: "Home") -> list[str]:
    return [str(name) for name in _what_there_is(home).column("name").to_pylist()] if home.history.exists() else []


def _what_there_is(home: "Home") -> "pa.Table":
    import pyarrow as pa

    from drysweep_pipeline.history.reading import history, rows

    with history(home) as connection:
        found = rows(connection, _WHAT_THERE_IS, [])
    found += [{"name": each.name, "kind": "query", "what it holds": each.question} for each in _catalogue().values()]
    return pa.Table.from_pylist(found, pa.schema([(name, pa.string()) for name in ("name", "kind", "what it holds")]))


def _given(parameters: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in parameters]
    for name, equals, _ in pairs:
        if not equals:
            raise Refused(f"{name!r} gives nothing a value", key="param", help="write -p campaign=ID")
    return {name.strip(): value for name, _, value in pairs}


def _format(format: str | None, output: Path | None, json: bool) -> str:
    """Return how rows are to be written. Raises ``Refused`` where that is unknown, or stdout would be two things."""
    from drysweep_pipeline.cli.results import FORMATS, WRITERS

    if output is not None and format is None:
        ending = output.suffix.removeprefix(".").lower()
        if ending not in WRITERS:
            help = f"say --format {', '.join(WRITERS)}, or end its name with one of them"
            raise Refused("nothing says in which format the file is to be", file=output, key="format", help=help)
        return ending
    wanted = format or ("json" if json else "table")
    if wanted not in FORMATS:
        raise Refused(f"no format {wanted!r}", key="format", help=f"there is {', '.join(FORMATS)}")
    if output is not None and wanted == "table":
        raise Refused("a table is for people to look at", key="format", help=f"there is {', '.join(WRITERS)}")
    if output is None and json and wanted != "json":
        raise Refused(f"stdout cannot be JSON and {wanted}", key="format", help="give --output FILE, or one of the two")
    return wanted


def _say_where(output: Path, format: str, rows: int, json: bool) -> None:
    from drysweep_pipeline.cli.output import note, put_json
    from drysweep_pipeline.wording import count

    if json:
        put_json({"schema_version": 1, "output": str(output), "format": format, "rows": rows})
    else:
        note(f"wrote {count(rows, 'row')} to {output}")


def _say_what_was_asked(named: "NamedQuery", bound: dict[str, Any]) -> None:
    """Say on stderr what a named query was asked about, and what its answer does not say."""
    from drysweep_pipeline.cli.output import note

    said = ", ".join(f"{name} {value}" for name, value in bound.items() if value is not None)
    note(f"{named.title}: {said}" if said else named.title)
    note(named.caution)
