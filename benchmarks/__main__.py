"""``python -m benchmarks``: run the benchmarks and print one table, or JSON."""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import asking, daemon, intake, publishing, redacting, reporting, rounds, start_up
from benchmarks.figures import Figure, as_json, table

_ALWAYS = ("help", "round", "intake", "redaction", "history", "sql", "reports")


def main() -> int:
    """Run what was asked for; the exit code does not depend on the figures."""
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="drysweep-bench-", ignore_cleanup_errors=True) as temporary:
        figures = [figure for name in given.what or _ALWAYS for figure in _of(name, Path(temporary), given.small)]
    print(as_json(figures, _machine()) if given.json else table(figures))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure drysweep, as ratios.")
    parser.add_argument("what", nargs="*", choices=[*_ALWAYS, "daemon", []], help="all but the daemon")
    parser.add_argument("--small", action="store_true", help="a hundredth of the data, to see that it runs")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def _of(name: str, temporary: Path, small: bool) -> list[Figure]:
    times = 1 if small else 9
    kept = Path(os.environ["DRYSWEEP_BENCH_DIR"]) if "DRYSWEEP_BENCH_DIR" in os.environ else temporary / "intake"
    runs: dict[str, Callable[[], list[Figure]]] = {
        "help": lambda: start_up.measure(times=times),
        "round": lambda: rounds.measure(temporary / "round", times=times),
        "intake": lambda: intake.measure(kept, scale=100 if small else 1, times=1 if small else 5),
        "redaction": lambda: redacting.measure(
            temporary / "redaction", rows=10_000 if small else 1_000_000, times=1 if small else 5
        ),
        "history": lambda: publishing.measure(temporary / "history", findings=1_000 if small else 200_000, times=times),
        "sql": lambda: asking.measure(
            temporary / "sql", findings=1_000 if small else 200_000, times=times, named=not small
        ),
        "reports": lambda: reporting.measure(
            temporary / "reports", findings=40 if small else 2_000, times=1 if small else 3
        ),
        "daemon": lambda: daemon.measure(temporary / "daemon", rounds=3 if small else 8),
    }
    return runs[name]()


def _machine() -> dict[str, object]:
    return {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}


if __name__ == "__main__":
    sys.exit(main())
