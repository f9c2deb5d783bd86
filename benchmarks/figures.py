"""One measured figure and the table of them. Ratios to a baseline of the same run: walls alone say what else ran."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured: ours and the baseline in ``unit``, and the bound that the ratio (or ours) must keep."""

    name: str
    ours: float
    baseline: float | None
    target: float
    against: str
    unit: str = "s"
    at_least: bool = False
    cpu_ours: float | None = None
    cpu_baseline: float | None = None

    @property
    def ratio(self) -> float | None:
        """Ours to the baseline; the other way round where faster is asked for by a factor."""
        if not self.baseline or not self.ours:
            return None
        return self.baseline / self.ours if self.at_least else self.ours / self.baseline

    @property
    def met(self) -> bool:
        """Tell whether the figure keeps its bound."""
        value = self.ours if self.ratio is None else self.ratio
        return value >= self.target if self.at_least else value <= self.target

    def as_json(self) -> dict[str, object]:
        """Return the figure as a JSON object."""
        return {**asdict(self), "ratio": self.ratio, "met": self.met}


@dataclass(frozen=True, slots=True)
class Spent:
    """What one run of something took: seconds of the clock, and of all threads of this process."""

    wall: float
    cpu: float


def clocked(work: Callable[[], object]) -> Spent:
    """Run something once and return what it took."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - cpu)


def interleaved(ours: Callable[[], Spent], baseline: Callable[[], Spent], times: int) -> tuple[Spent, Spent]:
    """Return the medians of both, run in turn so that a busy machine slows both; the first of each is not counted."""
    pairs = [(ours(), baseline()) for _ in range(times + 1)][1:]
    return middle([pair[0] for pair in pairs]), middle([pair[1] for pair in pairs])


def middle(runs: Sequence[Spent]) -> Spent:
    """Return the medians of several runs."""
    return Spent(median(run.wall for run in runs), median(run.cpu for run in runs))


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a table of text, aligned."""
    head = ("what", "ours", "baseline", "CPU ours", "CPU base", "ratio", "target", "met", "against")
    rows = [head, *(_row(figure) for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_json(figures: Sequence[Figure], machine: dict[str, object]) -> str:
    """Return the figures as one JSON object."""
    return json.dumps({"schema_version": 1, "machine": machine, "figures": [f.as_json() for f in figures]}, indent=1)


def _row(figure: Figure) -> tuple[str, ...]:
    numbers = (figure.ours, figure.baseline, figure.cpu_ours, figure.cpu_baseline)
    sign = ">=" if figure.at_least else "<="
    bound = f"{sign} {figure.target:g}" + ("x" if figure.ratio is not None else f" {figure.unit}")
    ratio = f"{figure.ratio:.2f}x" if figure.ratio is not None else "-"
    cells = [f"{number:.3g} {figure.unit}" if number is not None else "-" for number in numbers]
    return (figure.name, *cells, ratio, bound, "yes" if figure.met else "NO", figure.against)
