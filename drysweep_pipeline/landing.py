"""The landed files of a round: which there are, whether they are what was written, and in which order they appear.

Landing is the truth: a round's candidates are Parquet files, and ``manifest.json``, written last, lists them with
their SHA-256. A file that no manifest lists did not land. Readers take the list from the manifest, never a glob, and
check the hash before they read a row. What is in a candidate file is ``candidates``' business.
"""

import contextlib
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from drysweep_pipeline.canaries import Recall
from drysweep_pipeline.candidates import Refusal
from drysweep_pipeline.durable import read_json, sha256_of, write_json
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.values import Usage

SCHEMA_VERSION = 1
MANIFEST = "manifest.json"
ORPHANS = "orphans"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a strategy; ``seconds`` by the monotonic clock."""

    attempt: int
    status: str
    reason: str | None
    seconds: float
    usage: Usage


@dataclass(frozen=True, slots=True)
class LandedFile:
    """A Parquet file as it was written: name inside the round's folder, hash, bytes and rows."""

    name: str
    sha256: str
    bytes: int
    rows: int


@dataclass(frozen=True, slots=True)
class StrategyRun:
    """What one strategy did in a round, all attempts; ``file`` is what it validly reported, if anything."""

    strategy: str
    kind: str
    status: Literal["ok", "not_run"]
    reason: str | None
    angle: dict[str, Any]
    angle_index: int
    seed: int
    attempts: tuple[Attempt, ...] = ()
    file: LandedFile | None = None
    refused: int = 0
    first_refused: tuple[Refusal, ...] = ()
    canaries: Recall | None = None
    """What became of the planted problems that it was to report; None where it was to report none, or did not run."""
    isolation: str | None = None
    """What kept it from all but what it was handed, as ``Isolation`` has it; None where it was not asked."""
    complaint: str | None = None
    """The last lines that it wrote on stderr though it ended well; None where it wrote none."""

    @property
    def usage(self) -> Usage:
        """What all attempts used together."""
        return sum((attempt.usage for attempt in self.attempts), Usage())

    @property
    def seconds(self) -> float:
        """How long all attempts took together."""
        return sum(attempt.seconds for attempt in self.attempts)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole wave: every strategy with its status, and the snapshot that all of them read."""

    campaign: str
    round: int
    snapshot: str
    not_searched: int
    seconds: float
    runs: tuple[StrategyRun, ...]
    tripped: str | None = None
    schema_version: int = field(default=SCHEMA_VERSION)

    @property
    def asked(self) -> frozenset[str]:
        """The strategies that took part."""
        return frozenset(run.strategy for run in self.runs)

    @property
    def not_run(self) -> frozenset[str]:
        """The strategies that did not run to their end."""
        return frozenset(run.strategy for run in self.runs if run.status == "not_run")


def landed(path: Path, rows: int) -> LandedFile:
    """Return the manifest's entry for a file that was just written."""
    return LandedFile(path.name, sha256_of(path), path.stat().st_size, rows)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Declare a wave landed; whatever the folder holds beyond the manifest's list is set aside as orphans."""
    _set_aside(folder, keep={run.file.name for run in manifest.runs if run.file})
    write_json(folder / MANIFEST, asdict(manifest))


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a round, or None where the wave did not land."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    data = read_json(path)
    return Manifest(**{**data, "runs": tuple(_run(run) for run in data["runs"])})


def verify(folder: Path, file: LandedFile) -> Path:
    """Return the path of a landed file. Raises ``IntegrityError`` where it is not the file that was written."""
    path = folder / file.name
    if not path.is_file():
        raise IntegrityError("corrupt_artifact: the landed file is gone", file=path)
    if path.stat().st_size != file.bytes or sha256_of(path) != file.sha256:
        raise IntegrityError(
            "corrupt_artifact: the file is not the one that was landed; it is not read",
            file=path,
            help="restore it from a copy; its SHA-256 is in the manifest",
        )
    return path


def readable(folder: Path) -> list[Path]:
    """Return a round's landed files that hold rows and are what was written.

    A file that is not was taken for ``not_run`` at intake: none of its rows were sighted.
    """
    manifest = read_manifest(folder)
    files = []
    for run in manifest.runs if manifest else ():
        with contextlib.suppress(IntegrityError):
            files += [verify(folder, run.file)] if run.file and run.file.rows else []
    return files


def spoiled(run: StrategyRun, reason: str) -> StrategyRun:
    """Return a run whose landed file cannot be read any more: it counts as not run."""
    return replace(run, status="not_run", reason=reason, file=None)


def with_runs(manifest: Manifest, runs: list[StrategyRun]) -> Manifest:
    """Return the manifest with these runs in place of its own."""
    return replace(manifest, runs=tuple(runs))


def _run(data: dict[str, Any]) -> StrategyRun:
    return StrategyRun(
        **{
            **data,
            "attempts": tuple(Attempt(**{**a, "usage": Usage(**a["usage"])}) for a in data["attempts"]),
            "file": LandedFile(**data["file"]) if data["file"] else None,
            "first_refused": tuple(Refusal(**refusal) for refusal in data["first_refused"]),
            "canaries": _recall(data.get("canaries")),
        }
    )


def _recall(data: dict[str, Any] | None) -> Recall | None:
    return Recall(**{**data, "missed": tuple(data["missed"])}) if data is not None else None


def _set_aside(folder: Path, keep: set[str]) -> None:
    """Move candidate files of an earlier, unfinished wave out of the way: they did not land."""
    for path in sorted(folder.glob("*.a*.parquet")):
        if path.name not in keep:
            (folder / ORPHANS).mkdir(exist_ok=True)
            path.replace(folder / ORPHANS / path.name)
