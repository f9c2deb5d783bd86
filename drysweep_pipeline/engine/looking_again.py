"""Looking again: some strategies over the stored snapshots of earlier campaigns, never over the material as it is now.

Which snapshots there are, which are out of reach and why, and the campaign of each: its id follows from the campaign
that froze the snapshot and from how the strategies are declared, so that asking twice starts nothing twice. What such a
campaign moves, and what it leaves to others, is decided in ``engine.moves`` and ``engine.starting``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from drysweep_pipeline.declaration import Declaration, declared
from drysweep_pipeline.declaration.model import (
    Canaries,
    ScriptedMaterial,
    Strategy,
    Sweep,
)
from drysweep_pipeline.declaration.refusals import did_you_mean
from drysweep_pipeline.engine.campaign import (
    NO_OVERRIDES,
    Campaign,
    LookedAgain,
    Overrides,
    find,
    load,
    ordinary,
)
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.marks import DIGITS, mark
from drysweep_pipeline.engine.planning import Plan, read_plan
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.watch import plant
from drysweep_pipeline.errors import DeclarationError, IntegrityError, MaterialError, Refused
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.gone import gone
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.values import Rule

_WORD = "look"
_LONGEST = 63


@dataclass(frozen=True, slots=True)
class Stored:
    """The snapshot that an earlier campaign froze first, and under which id it is looked at again.

    ``until`` is the instant of the last campaign of those that read it in a row, one after another.
    """

    source: Campaign
    snapshot: str
    not_searched: int
    place: str
    campaign: str
    until: datetime

    @property
    def as_of(self) -> datetime:
        """The instant that the snapshot stands for."""
        return self.source.as_of


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An earlier campaign at whose snapshot nobody looks again, and why.

    ``lost``: it cannot be looked at. ``joined``: it read the same snapshot as the one that is looked at before it.
    """

    campaign: str
    as_of: datetime
    why: str
    lost: bool
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """What there is to look at again with some strategies, in the order of time."""

    declaration: Declaration
    strategies: tuple[str, ...]
    stored: tuple[Stored, ...]
    left_out: tuple[LeftOut, ...]

    def declared_for(self, stored: Stored) -> Declaration:
        """Return the declaration of a campaign over a stored snapshot.

        It asks the strategies looked with, over the material as it was declared then. The rule is dry, since nobody
        mends what is stored; every angle is used, since what was known is quiet too; no evidence closes anything.
        """
        sweep = self.declaration.sweep
        strategies = _named(sweep, self.strategies)
        changes = {
            "material": stored.source.declaration.sweep.material,
            "strategies": strategies,
            "canaries": _canaries(sweep.canaries, strategies),
            "convergence": sweep.convergence.model_copy(update={"rule": Rule.DRY, "cover": "all_angles"}),
            "fixed_by": "person",
            "schedule": None,
        }
        return declared(sweep.model_copy(update=changes), self.declaration.path)


def again(
    home: Home,
    declaration: Declaration,
    names: Sequence[str],
    first: datetime | None = None,
    last: datetime | None = None,
) -> Again:
    """Return what strategies can look at again between two instants, both included; nothing is recorded.

    Raises ``DeclarationError`` for strategies that are not declared, ``Refused`` where no earlier campaign is there or
    one tells findings apart by other fields.
    """
    sweep = declaration.sweep
    chosen = _chosen(declaration, names)
    within = _within(home, sweep.name, first, last)
    strategies = _named(sweep, chosen)
    digits = mark(declaration, strategies, _canaries(sweep.canaries, strategies), home.root)
    looking, row = Again(declaration, tuple(chosen), (), ()), ""
    for source in within:
        _check_identity(source, declaration)
        planned = read_plan(source, 1)
        # What was changed and changed back was there once, and once more: only those in a row are one.
        found = _stored(source, planned, looking, digits, joins=planned is not None and planned.snapshot == row)
        row = planned.snapshot if planned is not None else row
        looking = _with(looking, found)
    return looking


def recorded(home: Home, sweep: str, stored: Stored) -> Campaign | None:
    """Return the campaign that looks again at a stored snapshot, or None where none was recorded yet."""
    return find(home, sweep, stored.campaign)


def begin(home: Home, looking: Again, stored: Stored, overrides: Overrides = NO_OVERRIDES) -> Campaign:
    """Record the campaign that looks again at a stored snapshot, and return it; one that is recorded is as it was."""
    sweep = looking.declaration.sweep.name
    before = recorded(home, sweep, stored)
    if before is not None:
        # Ceilings may have been declared otherwise since; it goes on under those that it was recorded with.
        return start(home, before.declaration, as_of=before.as_of, driver="cli", campaign=before.id)
    return start(
        home,
        looking.declared_for(stored),
        as_of=stored.as_of,
        driver="cli",
        campaign=stored.campaign,
        overrides=overrides,
        looked_again=LookedAgain(
            stored.source.id, stored.source.seq, stored.snapshot, stored.not_searched, stored.place
        ),
    )


def _named(sweep: Sweep, names: Sequence[str]) -> tuple[Strategy, ...]:
    return tuple(each for each in sweep.strategies if each.name in names)


def _canaries(canaries: Canaries | None, strategies: Sequence[Strategy]) -> Canaries | None:
    """Return the canaries that some of these strategies are expected to report; None where there are none."""
    if canaries is None:
        return None
    looks = [(each.name, angle) for each in strategies for angle in each.angles or ({},)]
    kept = []
    for canary in canaries.expect:
        angles = tuple(
            wanted
            for wanted in canary.angles
            if any(canary.model_copy(update={"angles": (wanted,)}).expected(*look) for look in looks)
        )
        if any(canary.expected(*look) for look in looks):
            names = tuple(each.name for each in strategies if each.name in canary.strategies)
            kept.append(canary.model_copy(update={"strategies": names, "angles": angles}))
    return canaries.model_copy(update={"expect": tuple(kept)}) if kept else None


def _within(home: Home, sweep: str, first: datetime | None, last: datetime | None) -> list[Campaign]:
    """Return a sweep's campaigns between two instants that looked at the material, in the order of looking."""
    sources = [load(home, sweep, record["campaign"]) for record in ordinary(home.sweep(sweep))]
    within = [
        each
        for each in sorted(sources, key=lambda each: (each.as_of, each.seq))
        if (first is None or first <= each.as_of) and (last is None or each.as_of <= last)
    ]
    if not within:
        if not sources:
            help = "run one first; without --strategies, dated material is swept"
            raise Refused(f"{sweep} has no campaign whose snapshot could be looked at again", help=help)
        dates = ", ".join(sorted({f"{each.as_of:%Y-%m-%d}" for each in sources}))
        raise Refused(f"{sweep} has no campaign in that time", help=f"there are some as of {dates}")
    return within


def _chosen(declaration: Declaration, names: Sequence[str]) -> list[str]:
    sweep = declaration.sweep
    if isinstance(sweep.material, ScriptedMaterial):
        raise DeclarationError(
            "a script freezes no snapshots that could be looked at again", file=declaration.path, key="material.kind"
        )
    known = [strategy.name for strategy in sweep.strategies]
    for name in names:
        if name not in known:
            help = did_you_mean(name, known) or f"there is {', '.join(known)}"
            raise DeclarationError(
                f"no strategy {name!r} is declared", file=declaration.path, key="--strategies", help=help
            )
    if not names:
        raise DeclarationError("a strategy is needed", key="--strategies", help=f"there is {', '.join(known)}")
    return [name for name in known if name in names]


def _stored(source: Campaign, planned: Plan | None, looking: Again, mark: str, *, joins: bool) -> Stored | LeftOut:
    """Return what a campaign froze for its first round, or why it is not looked at.

    It ``joins`` the snapshot before it where it read the same one.
    """
    if planned is None:
        return LeftOut(source.id, source.as_of, "it froze nothing: it never came to its first round", lost=False)
    then, now = source.declaration.sweep.material.kind, looking.declaration.sweep.material.kind
    if then != now:
        why = f"its material was of the kind {then}, and is of the kind {now} now"
        return LeftOut(source.id, source.as_of, why, lost=True)
    if joins and looking.stored and looking.stored[-1].snapshot == planned.snapshot:
        why = f"it read the same snapshot as {looking.stored[-1].source.id}"
        return LeftOut(source.id, source.as_of, why, lost=False, joined=True)
    campaign = _id(source.id, mark)
    stored = Stored(source, planned.snapshot, planned.not_searched, planned.place, campaign, source.as_of)
    out_of_reach = _out_of_reach(looking, stored)
    return LeftOut(source.id, source.as_of, out_of_reach, lost=True) if out_of_reach else stored


def _out_of_reach(looking: Again, stored: Stored) -> str | None:
    """Return why nobody can look at a stored snapshot, or None."""
    try:
        snapshot = Snapshot.open(stored.source.home.snapshots / stored.snapshot)
    except IntegrityError as error:
        pruned = gone(stored.source.home).get(stored.snapshot)
        if pruned is not None:
            return f"its snapshot {stored.snapshot[:12]} was pruned on {pruned[:10]}"
        return f"its snapshot {stored.snapshot[:12]} is gone or broken: {error.what}"
    before = recorded(stored.source.home.home, looking.declaration.sweep.name, stored)
    if before is not None and standing(before).due is None:
        return None
    # Before anything is recorded: one that could never search would hold the others up.
    mine = before or replace(stored.source, declaration=looking.declared_for(stored))
    try:
        plant(mine, snapshot)
    except MaterialError as error:
        return f"the canaries cannot be planted in its snapshot {stored.snapshot[:12]}: {error.what}"
    return None


def _with(looking: Again, found: Stored | LeftOut) -> Again:
    """Return what there is to look at with one campaign more, which ends the row of those that read one snapshot."""
    if isinstance(found, Stored):
        return replace(looking, stored=(*looking.stored, found))
    left_out = (*looking.left_out, found)
    if not found.joined:
        return replace(looking, left_out=left_out)
    last = replace(looking.stored[-1], until=found.as_of)
    return replace(looking, stored=(*looking.stored[:-1], last), left_out=left_out)


def _check_identity(source: Campaign, declaration: Declaration) -> None:
    """Raise ``Refused`` where an earlier campaign told findings apart by other fields: its findings are others."""
    then, now = source.declaration.sweep.fingerprint, declaration.sweep.fingerprint
    if then != now:
        raise Refused(
            f"campaign {source.id} tells findings apart by {then.said}, not by {now.said}",
            file=declaration.path,
            key="fingerprint.fields" if then.fields != now.fields else "fingerprint.normalise",
            help="give the sweep another name, or use another home",
        )


def _id(source: str, mark: str) -> str:
    """Return the id of the campaign that looks again at another one's snapshot: ``<source>.look.<six digits>``."""
    suffix = f".{_WORD}.{mark}"
    if len(source) + len(suffix) <= _LONGEST:
        return source + suffix
    own = hashlib.sha256(source.encode()).hexdigest()[:DIGITS]
    return f"{source[: _LONGEST - len(suffix) - len(own) - 1]}.{own}{suffix}"
