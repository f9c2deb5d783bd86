"""What the material says to what people say: whether evidence is there, and what a risk is accepted for.

The material is the snapshot of the campaign's last round, so that a claim is held against what was searched.
"""

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drysweep_pipeline import sandbox
from drysweep_pipeline.declaration.model import CommandMaterial, ScriptedMaterial
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.naming import Sighted
from drysweep_pipeline.engine.planning import read_plan, snapshot_of
from drysweep_pipeline.errors import IntegrityError, MaterialError
from drysweep_pipeline.material import Snapshot, git, resolve_path

_TEST = re.compile(r"(?P<file>\S+?)::(?P<test>\S+)")
_LINE = re.compile(r"(?P<file>\S+):(?P<line>[0-9]+)")
_DIGEST = re.compile(r"(?:sha256:)?(?P<digest>[0-9a-f]{7,64})")
_URL = re.compile(r"https?://\S+")
_HAS_LINE = """
    select count(*) from files
    where path = $file and try_cast($line as hugeint) between 1 and len(string_split(rtrim(text, chr(10)), chr(10)))
"""
_HAS_TEST = "select count(*) from files where path = $file and contains(text, $test)"
_HAS_DIGEST = "select count(*) from files where starts_with(sha256, $digest) or starts_with(revision, $digest)"
_SHA256 = "select sha256 from files where path = $path"


@dataclass(frozen=True, slots=True)
class Proof:
    """A round's snapshot as a witness; material that has no snapshot knows nothing.

    ``folder`` is where the material lies that it was taken from.
    """

    snapshot: Snapshot | None
    folder: Path | None = None

    def holds(self, evidence: str) -> bool | None:
        """Tell whether the snapshot has what evidence points at; None where it could not be looked up (a URL)."""
        pointer = evidence.strip()
        if _URL.fullmatch(pointer) or self.snapshot is None:
            return None
        for pattern, query in ((_TEST, _HAS_TEST), (_LINE, _HAS_LINE), (_DIGEST, _HAS_DIGEST)):
            match = pattern.fullmatch(pointer)
            if match is not None:
                return self._has(query, match.groupdict())
        return None

    def basis(self, finding: Sighted) -> str | None:
        """Return the configuration that a finding is about, as ``path`` and SHA-256; None where none is known."""
        if finding.path is None:
            return None
        found = self._rows(_SHA256, {"path": finding.path})
        return f"{finding.path} {found[0][0]}" if found and found[0][0] else None

    def fixed_at(self) -> str | None:
        """Return the revision that a fix is in where nobody said so: the commit that is checked out now.

        None where that is still the commit that was searched, because a fix that is not committed has no revision.
        """
        if self.snapshot is None or self.snapshot.revision is None or self.folder is None:
            return None
        now = git.checkout(self.folder)
        return now.revision if now is not None and now.revision != self.snapshot.revision else None

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Hold the snapshot open, so that asking it about many findings starts its engine once."""
        with ExitStack() as stack:
            if self.snapshot is not None:
                stack.enter_context(sandbox.locked(self.snapshot.database))
            yield

    def _has(self, query: str, named: dict[str, Any]) -> bool:
        if "test" in named:
            # A parametrised test, or one in a class, is written by its last name.
            named["test"] = named["test"].partition("[")[0].rpartition("::")[2]
        if "digest" in named and self.snapshot is not None and self.snapshot.digest.startswith(named["digest"]):
            return True
        return bool(self._rows(query, named)[0][0])

    def _rows(self, query: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        if self.snapshot is None:
            return []
        with sandbox.locked(self.snapshot.database) as connection:
            found: list[tuple[Any, ...]] = connection.execute(query, parameters).fetchall()
        return found


def proof_of(campaign: Campaign) -> Proof:
    """Return what the snapshot of a campaign's last decided round can say; one that is gone says nothing."""
    planned = read_plan(campaign, journal.standing(campaign).rounds)
    if planned is None:
        return Proof(None)
    try:
        return Proof(snapshot_of(campaign, planned.snapshot), _folder(campaign))
    except IntegrityError:
        return Proof(None)


def _folder(campaign: Campaign) -> Path | None:
    material = campaign.declaration.sweep.material
    if isinstance(material, ScriptedMaterial | CommandMaterial):
        return None
    try:
        return resolve_path(material.path, campaign.declaration.base, campaign.as_of)
    except MaterialError:
        return None
