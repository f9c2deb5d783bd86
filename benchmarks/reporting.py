"""Rendering reports of a campaign that saw much: ten times the findings must take about ten times as long."""

from pathlib import Path

from benchmarks.figures import Figure, Spent, clocked, middle
from benchmarks.past import SWEEP, Past
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.contents import contents

_TEN = 10


def measure(folder: Path, *, findings: int = 2_000, times: int = 3) -> list[Figure]:
    """Return the figures of ten times so many findings in one campaign, against ten times what so many take."""
    few, many = (Past(folder / str(n), n, n * 5, campaigns=1) for n in (findings, findings * _TEN))
    few.build()
    many.build()
    return [
        _figure("gathering", _gathered(few, times), _gathered(many, times), findings),
        *(_figure(name, _rendered(few, name, times), _rendered(many, name, times), findings) for name in FORMATS),
    ]


def _figure(name: str, few: Spent, many: Spent, findings: int) -> Figure:
    return Figure(
        f"a report of {findings * _TEN:,} findings, {name}",
        many.wall,
        few.wall * _TEN,
        3.0,
        f"ten times what {findings:,} take",
        cpu_ours=many.cpu,
        cpu_baseline=few.cpu * _TEN,
    )


def _gathered(past: Past, times: int) -> Spent:
    return _middle([clocked(lambda: contents(past.home, SWEEP, "c0")) for _ in range(times + 1)])


def _rendered(past: Past, name: str, times: int) -> Spent:
    told = contents(past.home, SWEEP, "c0")
    return _middle([clocked(lambda: FORMATS[name].render(told)) for _ in range(times + 1)])


def _middle(runs: list[Spent]) -> Spent:
    """Return the middle of all runs but the first, in which what is needed is loaded."""
    return middle(runs[1:])
