"""What a run leaves behind where it is interrupted: Dagster gives up the generator of a step without closing it.

It holds interruptions back while it stores what a step yielded, and raises them where the step knows nothing of them.
What the step had under way would go on until somebody collects the generator, and keep the process from ending.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TypeVar

T = TypeVar("T")
_RUNS: dict[str, ExitStack] = {}


@contextmanager
def leaving(run: str | None) -> Iterator[None]:
    """Close, when the block is left, what was to be closed with a run; nothing is where there is no run."""
    if run is None or run in _RUNS:
        yield
        return
    with ExitStack() as opened:
        _RUNS[run] = opened
        try:
            yield
        finally:
            del _RUNS[run]


def closed_with(run: str, generator: Generator[T, None, None]) -> Generator[T, None, None]:
    """Return a generator, which is closed when the run is left if nobody did so before."""
    if run in _RUNS:
        _RUNS[run].enter_context(closing(generator))
    return generator
