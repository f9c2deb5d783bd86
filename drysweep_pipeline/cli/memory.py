"""A bound on this process's memory while it answers a query: the engine minds its own, and not all that it returns."""

from collections.abc import Iterator
from contextlib import contextmanager

MORE_BYTES = 4 << 30


@contextmanager
def bounded(more: int = MORE_BYTES) -> Iterator[None]:
    """Let the block allocate so many bytes on top of what this process has, where the system can say no to more.

    Raises ``Refused`` where the block itself runs out of them.
    """
    from drysweep_pipeline.errors import Refused

    before = _lowered(more)
    try:
        yield
    except MemoryError:
        help = "ask for less: fewer rows, shorter texts"
        raise Refused("the query needs more memory than it may have", help=help) from None
    finally:
        if before is not None:
            import resource

            resource.setrlimit(resource.RLIMIT_DATA, before)


def _lowered(more: int) -> tuple[int, int] | None:
    """Lower what this process may allocate and return the bound before; None where the system knows no such bound."""
    import sys

    if not sys.platform.startswith("linux"):
        return None
    import resource

    import psutil

    # Data and not address space, of which an engine with many threads reserves more than it uses.
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = psutil.Process().memory_info().data + more
    if soft != resource.RLIM_INFINITY and soft <= wanted:
        return None
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    return soft, hard
