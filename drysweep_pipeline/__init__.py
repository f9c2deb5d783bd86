"""drysweep: search until the search goes quiet, and say honestly why it stopped.

The core imports no Dagster; ``Sweep``, the Dagster component, is loaded on first use.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drysweep_pipeline.orchestration.component import Sweep as Sweep

__all__ = ["Sweep"]


def __getattr__(name: str) -> Any:
    if name == "Sweep":
        from drysweep_pipeline.orchestration.component import Sweep

        return Sweep
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    # Dagster's registry finds components by dir().
    return sorted({*globals(), *__all__})
