"""The revert test: the material of a round with a fix reverted, searched once more as the round searched it (R11).

What is reverted is a copy. Only one strategy looks, at the angle and with the seed that it had in the round. Whatever
keeps the test from saying yes or no raises, and says why.
"""

import hashlib
from codecs import BOM_UTF8
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from drysweep_pipeline import landing
from drysweep_pipeline.budget import Budget, Meter
from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial, Strategy
from drysweep_pipeline.engine.asking import Asking, land
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.planning import read_plan, snapshot_of
from drysweep_pipeline.engine.repeats import repeatable
from drysweep_pipeline.errors import FinderError, IntegrityError, MaterialError, Refused
from drysweep_pipeline.landing import LandedFile
from drysweep_pipeline.material import Snapshot, git
from drysweep_pipeline.material.apart import apart
from drysweep_pipeline.material.git import Checkout, Fix
from drysweep_pipeline.material.paths import Location, locate
from drysweep_pipeline.material.snapshot import freeze_at
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import Usage
from drysweep_pipeline.variation import Look

_NOT_COMMITTED = """
    select path, sha256, text from read_parquet(?, hive_partitioning = false)
    where revision is null and text is not null
"""
_RAISED = "select distinct cast(fp as varchar) from read_parquet(?, hive_partitioning = false)"


@dataclass(frozen=True, slots=True)
class Reverted:
    """What a revert test landed: the digest of the reverted material, and the rows that were found in it."""

    snapshot: str
    file: LandedFile


class Bench:
    """What the revert tests of one round work on: its snapshot, and the checkout that it was taken from."""

    def __init__(self, campaign: Campaign, round: int) -> None:
        """Raise ``MaterialError`` where the round's material is not of a kind that a fix can be reverted in."""
        self.campaign, self.round = campaign, round
        self.material, self.where = _where(campaign)
        self.checkout, self.snapshot, self.revision = _found(campaign, round, self.where)
        self._without: dict[Fix, Snapshot | MaterialError] = {}

    def fix(self, revision: str | None) -> Fix:
        """Return the commits of a fix. Raises ``MaterialError`` where they are not known."""
        if revision is None:
            raise MaterialError("the fix names no revision")
        return git.fix_of(self.checkout, revision)

    def has(self, fix: Fix) -> bool:
        """Tell whether a fix is in the material that the round read."""
        return git.has(self.checkout, self.revision, fix)

    def check_clean(self) -> None:
        """Raise ``MaterialError`` where the material was not the commit and files beside it: a copy would not be it."""
        changed = self.snapshot.dirty - len(self._beside)
        if changed:
            raise MaterialError(f"{changed} files of the material were not as in {self.revision[:12]}")

    @cached_property
    def _beside(self) -> dict[str, bytes]:
        """The files of the material that the commit does not have, by path, as far as the snapshot has all of them."""
        return _beside(self.snapshot, set(git.tree(replace(self.checkout, revision=self.revision))))

    def search(self, budget: Budget, strategy: Strategy, look: Look, fix: Fix, path: Path) -> Reverted:
        """Have a strategy search the material without a fix, for one call, and land its rows at ``path``.

        Raises ``Refused`` at a ceiling, ``MaterialError`` where the fix cannot be reverted, ``FinderError`` where the
        strategy did not run to its end.
        """
        purpose = f"revert test {strategy.name}"
        reservation = budget.reserve(strategy.worst, purpose)
        if reservation is None:
            raise Refused(f"ceiling: {budget.tripped}")
        meter = Meter(budget, strategy.worst, purpose, reservation)
        usage: Usage | None = Usage()
        try:
            if not repeatable(strategy):
                raise FinderError(f"{strategy.name} is not declared deterministic, so what it misses says nothing")
            reverted = self._reverted(fix)
            usage = None
            with Asking(self.campaign, self.round, reverted) as asking, asking.children:
                found = asking.search(strategy, look, meter)
            usage = found.usage
            if found.failure is not None:
                raise found.failure
            taken = land(found, strategy, self.campaign.declaration.sweep.fingerprint.fields, path)
        finally:
            meter.settle(usage)
        if taken.refused:
            rows = "row" if taken.refused == 1 else "rows"
            raise FinderError(f"{taken.refused} {rows} refused, the first for {taken.first_refused[0].reason}")
        return Reverted(reverted.digest, landing.landed(path, taken.rows))

    def _reverted(self, fix: Fix) -> Snapshot:
        """Return a snapshot of the material without a fix. Raises ``MaterialError`` where less of it can be read."""
        if fix not in self._without:
            try:
                self._without[fix] = self._frozen(fix)
            except MaterialError as error:
                self._without[fix] = error
        reverted = self._without[fix]
        if isinstance(reverted, MaterialError):
            raise reverted
        # A finding that is not seen in what cannot be read need not be gone.
        hidden = sorted(set(reverted.unreadable()) - set(self.snapshot.unreadable()))
        if hidden:
            raise MaterialError(f"without the fix {hidden[0][0]} cannot be read: {hidden[0][1]}")
        return reverted

    def _frozen(self, fix: Fix) -> Snapshot:
        snapshots = self.campaign.home.snapshots
        with git.without(self.checkout, self.revision, fix, snapshots) as folder:
            _lay(folder, self._beside)
            own = apart(self.where.path, self.campaign.home.home.root)
            return freeze_at(self.material, Location(folder, self.where.date), snapshots, self.snapshot, own=own)


def raised(path: Path) -> frozenset[str]:
    """Return the fingerprints of the findings that landed rows raise."""
    with scratch() as connection:
        return frozenset(fp for (fp,) in connection.execute(_RAISED, [str(path)]).fetchall())


def _beside(snapshot: Snapshot, committed: set[str]) -> dict[str, bytes]:
    with scratch() as connection:
        found = connection.execute(_NOT_COMMITTED, [str(snapshot.folder / "files.parquet")]).fetchall()
    return {
        path: content
        for path, sha256, text in found
        # What lies in a submodule is not beside the commit: reverting may change which commit of it is meant.
        if committed.isdisjoint((path, *map(str, PurePosixPath(path).parents)))
        if (content := _content(text, sha256)) is not None
    }


def _content(text: str, sha256: str) -> bytes | None:
    """Return the bytes that were read as a text; None where they are not known."""
    encoded = text.encode()
    either = (encoded, BOM_UTF8 + encoded)
    return next((content for content in either if hashlib.sha256(content).hexdigest() == sha256), None)


def _lay(folder: Path, beside: dict[str, bytes]) -> None:
    """Write files into a copy. Raises ``MaterialError`` where reverting brought back something in their place."""
    top = folder.resolve()
    for path, content in beside.items():
        target = top / path
        try:
            # Before anything is made: a folder that came back as a link would lead out of the copy.
            if target.parent.resolve() != target.parent:
                raise MaterialError(f"without the fix there is a link where {path} lies")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as stream:
                stream.write(content)
        except OSError as error:
            raise MaterialError(f"without the fix {path} cannot lie where it does: {error.strerror}") from error


def _where(campaign: Campaign) -> tuple[RegistryMaterial | FilesMaterial, Location]:
    material = campaign.declaration.sweep.material
    if not isinstance(material, RegistryMaterial | FilesMaterial):
        raise MaterialError(f"a fix cannot be reverted in material of the kind {material.kind}")
    return material, locate(material.path, campaign.declaration.base, campaign.as_of)


def _found(campaign: Campaign, round: int, where: Location) -> tuple[Checkout, Snapshot, str]:
    planned = read_plan(campaign, round)
    try:
        snapshot = snapshot_of(campaign, planned.snapshot) if planned is not None else None
    except IntegrityError as error:
        raise MaterialError(f"the snapshot cannot be read: {error.what}") from error
    checkout = git.checkout(where.path)
    if snapshot is None or snapshot.revision is None or checkout is None:
        raise MaterialError("the material is no git checkout")
    return checkout, snapshot, snapshot.revision
