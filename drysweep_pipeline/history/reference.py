"""What there is in the history, told from the views themselves: what the page that describes them is made from."""

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb

from drysweep_pipeline.history.comments import MACROS, VIEWS, call
from drysweep_pipeline.history.edition import CONFIG, fill
from drysweep_pipeline.history.parquet import OF_A_CAMPAIGN, OF_A_SWEEP

# Ids and instants are both given as texts; without a type, what is only passed on would have none either.
_NOTHING = "cast(null as varchar)"


@dataclass(frozen=True, slots=True)
class Column:
    """A column, its type as DuckDB writes it, and what it means."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Described:
    """A view or a macro: ``called`` is how a query names it, ``grain`` says first what a row is."""

    name: str
    called: str
    grain: str
    columns: tuple[Column, ...]
    in_parquet: bool = False


def reference() -> list[Described]:
    """Return every view, then every macro of the history, each with its grain and its columns in order."""
    with duckdb.connect(config=CONFIG) as connection:
        fill(connection)
        views = [
            Described(
                name, name, grain, _columns(connection, name, meaning), name in OF_A_CAMPAIGN or name in OF_A_SWEEP
            )
            for name, (grain, meaning) in VIEWS.items()
        ]
        macros = [
            # What its parameters hold does not matter to what a macro's columns are.
            Described(
                name, call(name, named), grain, _columns(connection, call(name, (_NOTHING,) * len(named)), meaning)
            )
            for name, (named, grain, meaning) in MACROS.items()
        ]
    return views + macros


def _columns(connection: duckdb.DuckDBPyConnection, source: str, meaning: Mapping[str, str]) -> tuple[Column, ...]:
    rows = connection.execute(f"describe select * from {source}").fetchall()
    return tuple(Column(name, type, meaning[name]) for name, type, *_ in rows)
