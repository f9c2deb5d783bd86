"""Landing what a SQL strategy found with its secrets masked, against landing it as it is."""

from pathlib import Path
from random import Random

import pyarrow as pa

from benchmarks.figures import Figure, Spent, clocked, interleaved
from drysweep_pipeline import candidates
from drysweep_pipeline.redaction import Redactor

FIELDS = ("service", "failure_mode")
_KEEP = frozenset((*candidates.STANDARD, *FIELDS))
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"


def measure(folder: Path, *, rows: int = 1_000_000, times: int = 3) -> list[Figure]:
    """Return the figures of redaction over so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _figure("redaction, no row holds a secret", _found(rows, 0), folder, times, target=1.5),
        _figure("redaction, one row in a hundred does", _found(rows, 100), folder, times, target=1.7),
    ]


def _found(rows: int, every: int) -> pa.Table:
    """Return findings of four texts and a number each; one in so many quotes a key in its evidence."""
    random = Random(1)
    names = [f"service-{number}" for number in range(rows)]
    return pa.table(
        {
            "service": names,
            "failure_mode": ["no_owner"] * rows,
            "path": [f"services/{name}.yaml" for name in names],
            "evidence": [_evidence(number, every, random) for number in range(rows)],
            "line": [number % 97 for number in range(rows)],
        }
    )


def _evidence(number: int, every: int, random: Random) -> str:
    key = "AKIA" + "".join(random.choices(_LETTERS, k=16)) if every and number % every == 0 else "nobody"
    return f"the owner in line {number % 97} of services/service-{number}.yaml is {key}"


def _figure(name: str, table: pa.Table, folder: Path, times: int, target: float) -> Figure:
    redactor = Redactor(["a known secret"], lambda: b"k" * 32)

    def land(found: pa.Table) -> None:
        candidates.land_table(found, "s", FIELDS, folder / "s.a1.parquet")

    def ours() -> Spent:
        return clocked(lambda: land(redactor.table(table, _KEEP)))

    masked, plain = interleaved(ours, lambda: clocked(lambda: land(table)), times)
    return Figure(name, masked.wall, plain.wall, target, "landing alone", cpu_ours=masked.cpu, cpu_baseline=plain.cpu)
