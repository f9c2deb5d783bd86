"""Whether two ledgers say the same, table by table.

In which order rows were written makes no difference, nor when their tables were made.
"""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.spelling import literal
from drysweep_pipeline.wording import first_line

_SHOWN = 3
_NTH = "row_number() over (partition by {of} order by {by}) as nth"
# Each table: what it says, and what a row of it is called. A number that only counts rows in the order of writing is
# compared as the order that it gives the rows of one finding, or of one campaign.
_SAID = {
    "campaigns": ("*", "campaign"),
    "rounds": ("*", "concat(campaign, ' round ', round)"),
    "strategy_runs": ("*", "concat(campaign, ' round ', round, ' ', strategy)"),
    "seen": ("*", "cast(fp as varchar)"),
    "sightings": ("*", "concat(campaign, ' round ', round, ' ', strategy, ' ', fp)"),
    "actions": ("*", "concat(campaign, ' action ', number)"),
    "verdicts": (f"* exclude (ord), {_NTH.format(of='fp', by='ord')}", "concat(campaign, ' round ', round, ' ', fp)"),
    "lives": (f"* exclude (ord), {_NTH.format(of='fp', by='ord')}", "concat(fp, ' ', state)"),
    "events": (f"* exclude (seq), {_NTH.format(of='campaign', by='seq')}", "concat(campaign, ' ', name)"),
}
# Two tables of one sum say the same, and a sum needs no memory for the rows that it is of.
_SUM = "select count(*), sum(cast(hash(said) as hugeint)) from (select {said} from {one}.{table}) as said"
_ONLY = """
    select count(*), coalesce(list_sort(list(distinct {called})[:{shown}]), [])
    from (select {said} from {one}.{table} except all select {said} from {other}.{table})
"""


@dataclass(frozen=True, slots=True)
class Difference:
    """How many rows of a table only the one ledger has, and only the other, and what some of them are called."""

    table: str
    only_first: int
    only_second: int
    named: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.only_first + self.only_second > len(self.named) else ""
        return f"{self.table}: {self.only_first} too many, {self.only_second} missing ({', '.join(self.named)}{more})"


def differences(first: Path, second: Path) -> list[Difference]:
    """Return the tables in which two ledgers, which nobody has open, differ.

    Raises ``IntegrityError`` where one of them cannot be read to its end.
    """
    try:
        with duckdb.connect() as connection:
            connection.execute("set TimeZone = 'UTC'")
            for name, path in (("first", first), ("second", second)):
                # A path cannot be bound in DuckDB 1.5.
                connection.execute(f"attach {literal(str(path))} as {name}_one (read_only)")
            found = [_difference(connection, table) for table in _SAID]
    except duckdb.Error as error:
        raise IntegrityError(f"the ledger cannot be read: {first_line(error)}", file=first) from None
    return [each for each in found if each.only_first or each.only_second]


def _difference(connection: duckdb.DuckDBPyConnection, table: str) -> Difference:
    said, called = _SAID[table]
    both = ("first_one", "second_one")
    sums = {connection.execute(_SUM.format(said=said, table=table, one=one)).fetchall()[0] for one in both}
    if len(sums) == 1:
        return Difference(table, 0, 0, ())
    counts, named = [], set()
    for one, other in (both, both[::-1]):
        sql = _ONLY.format(said=said, called=called, table=table, one=one, other=other, shown=_SHOWN)
        [(count, names)] = connection.execute(sql).fetchall()
        counts.append(count)
        named.update(names)
    return Difference(table, counts[0], counts[1], tuple(sorted(named)[:_SHOWN]))
