"""Publishing a round of ten rows onto a long past, against the raw copy of the file that it ends with; and asking it.

What publishing does beside the copy is held against the same on a short past: it must not grow with what was there.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from benchmarks.figures import Figure, Spent, clocked, interleaved
from benchmarks.past import SWEEP, Past, as_of, begin, end
from drysweep_pipeline.history import history
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.values import Place

ROWS = 5
_SEQ = 100
_QUERIES = {
    "findings": "select count(*), max(label) from findings",
    "open_findings": "select count(*), max(age_days) from open_findings",
    "campaigns": "select sum(seen), sum(confirmed) from campaigns",
    "strategy_yield": "select sum(unique_found) from strategy_yield",
    "findings_as_of": "select count(*), max(label) from findings_as_of('2026-01-03')",
    "campaign_diff": "select change, count(*) from campaign_diff('c0', 'c1') group by change",
}


def measure(folder: Path, *, findings: int = 200_000, times: int = 9) -> list[Figure]:
    """Return the figures of a past of so many findings, each sighted five times."""
    long, short = Past(folder / "long", findings, findings * 5), Past(folder / "short", 500, 2_500)
    long.build()
    short.build()
    ours, copy = _rounds(long, times)
    few, few_copied = _rounds(short, times)
    size = f"{findings:,} findings, {findings * 5:,} sightings"
    own, own_of_few = _without(ours, copy), _without(few, few_copied)
    return [
        Figure(
            f"publishing 10 rows, {size}", ours.wall, copy.wall, 3.0, "copying the file", "s", False, ours.cpu, copy.cpu
        ),
        Figure(
            "the same without the copy",
            own.wall,
            own_of_few.wall,
            3.0,
            "the same on 500 findings",
            cpu_ours=own.cpu,
            cpu_baseline=own_of_few.cpu,
        ),
        _ending(long, size),
        *(_asking(long, name, sql, times) for name, sql in _QUERIES.items()),
    ]


def _rounds(past: Past, times: int) -> tuple[Spent, Spent]:
    """Return what publishing a round took, and what copying the file takes."""
    with past.ledger() as ledger:
        begin(ledger, "now", _SEQ)
        (done,) = ledger.connection.execute("select count(*) from rounds where campaign = 'now'").fetchall()[0]
        numbers = iter(range(done + 1, done + times + 2))
        return interleaved(lambda: _published(past, ledger, next(numbers)), lambda: clocked(lambda: _copy(past)), times)


def _published(past: Past, ledger: Ledger, round: int) -> Spent:
    firsts = [round * ROWS, round * ROWS + ROWS // 2]
    past.sweep_round(ledger, Place(as_of(_SEQ), _SEQ, round), "now", firsts, ROWS)
    return clocked(lambda: publish(past.home, SWEEP, ledger))


def _copy(past: Past) -> None:
    copy = past.root / "copy"
    shutil.copyfile(past.home.history, copy)
    handle = os.open(copy, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def _without(whole: Spent, part: Spent) -> Spent:
    return Spent(max(whole.wall - part.wall, 0.001), max(whole.cpu - part.cpu, 0.001))


def _ending(past: Past, size: str) -> Figure:
    """Publish that the campaign of the small rounds ended, which writes the Parquet of it and of the sweep."""
    with past.ledger() as ledger:
        (rounds,) = ledger.connection.execute("select count(*) from rounds where campaign = 'now'").fetchall()[0]
        end(ledger, "now", rounds)
        spent = clocked(lambda: publish(past.home, SWEEP, ledger))
        ledger.connection.execute("update campaigns set outcome = 'running' where campaign = 'now'")
    name = f"publishing the end of a campaign, Parquet of {size}"
    return Figure(name, spent.wall, None, 10.0, "by the clock", cpu_ours=spent.cpu)


def _asking(past: Past, name: str, sql: str, times: int) -> Figure:
    with history(past.home) as connection:
        spent = _middle(lambda: connection.execute(sql).fetchall(), times)
    return Figure(f"asking {name}", spent.wall, None, 5.0, "by the clock", cpu_ours=spent.cpu)


def _middle(work: Callable[[], object], times: int) -> Spent:
    """Return what something takes once it was done once."""
    return interleaved(lambda: clocked(work), lambda: Spent(0.0, 0.0), times)[0]
