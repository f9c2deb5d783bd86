"""Deeds on findings: who is meant, what the material says to the evidence, and all of them recorded at once.

Which moves are allowed is decided in ``lifecycle``. A refusal names the deed, by file and line where it came from one,
and changes nothing: neither that deed nor the others beside it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from drysweep_pipeline.engine import actions, journal, standing
from drysweep_pipeline.engine.campaign import Campaign, load, ordinary
from drysweep_pipeline.engine.naming import Sighted, meant, short, sighted
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.engine.proof import Proof, proof_of
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.texts import check_texts
from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import Ledger, lives, open_ledger
from drysweep_pipeline.lifecycle import Act, Deed, moved
from drysweep_pipeline.redaction import Redactor
from drysweep_pipeline.values import State, Verdict, status

_TEXTS = ("by", "evidence", "revision", "scope", "reason")


@dataclass(frozen=True, slots=True)
class Asked:
    """A deed as somebody asks for it: the finding by fingerprint or label, and where it was written."""

    finding: str
    deed: Deed
    file: Path | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a finding stands: what was said of it, and its state."""

    verdict: Verdict
    state: State

    @property
    def status(self) -> str:
        """The word that people see."""
        return status(self.verdict, self.state)


@dataclass(frozen=True, slots=True)
class Done:
    """A deed as it was recorded, and where it took the finding; ``verified``: whether the material has its evidence.

    ``deed`` has what was filled in: the scope of a fix, and the revision where that is known.
    """

    finding: Sighted
    deed: Deed
    before: Position
    after: Position
    verified: bool | None
    landed: dict[str, object]


def act(campaign: Campaign, asked: Sequence[Asked], *, overruled_with_reason: bool = False) -> list[Done]:
    """Record deeds at the campaign's last decided round, all or none, and return what each did.

    ``overruled_with_reason``: a confirmation that overrules a rejection says why, as people have to (R8).
    Raises ``NotFound`` where no campaign of the sweep sighted a finding, ``Refused`` where a move is not allowed.
    """
    if not asked:
        raise Refused("no finding is named", help="name one by its fingerprint or its label")
    with open_ledger(campaign.home.ledger) as ledger:
        repair(ledger, campaign)
        proof, redactor = proof_of(campaign), redactor_of(campaign)
        done: list[Done] = []
        now: dict[UUID, Position] = {}
        with _kept_open(campaign.home.home), proof.kept_open():
            for each in asked:
                with _at_its_line(each, named=overruled_with_reason or len(asked) > 1):
                    check_texts(each.deed.act, {name: getattr(each.deed, name) for name in _TEXTS})
                    one = _allowed(ledger, campaign, _without_secrets(each, redactor), proof, now)
                    if overruled_with_reason:
                        _check_reason(one)
                done.append(one)
                now[one.finding.fp] = one.after
        rounds = journal.standing(campaign).rounds
        landed = [each.landed for each in done]
        actions.land(ledger, campaign, actions.done(landed, rounds, frozen=_frozen(campaign, rounds)))
        standing.publish(ledger, campaign)
    return done


def _without_secrets(asked: Asked, redactor: Redactor) -> Asked:
    texts: dict[str, Any] = {name: redactor.maybe(getattr(asked.deed, name)) for name in _TEXTS}
    return replace(asked, deed=replace(asked.deed, **texts))


def _frozen(campaign: Campaign, rounds: int) -> int:
    """Return the round whose snapshot was taken last: what is done while it is searched is not in it yet."""
    return rounds + 1 if read_plan(campaign, rounds + 1) is not None else rounds


def campaign_for(home: Home, asked: Iterable[Asked], sweep: str | None = None, campaign: str | None = None) -> Campaign:
    """Return the campaign that deeds are recorded in: the one that is named, else the newest of their sweep.

    Newest is by (as_of, seq), among those that have looked at their material where there is one, and not at stored
    snapshots again. Without a ``sweep`` it
    is the one that found what is meant. Raises ``NotFound``, or ``Refused`` where that is not one sweep.
    """
    owner = sweep if sweep is not None else _sweep_of(home, asked)
    if campaign is None:
        campaign = _newest(home, owner)
    if campaign is None:
        raise NotFound("sweep", short(owner), home.sweeps())
    return load(home, owner, campaign)


def _newest(home: Home, sweep: str) -> str | None:
    known = [load(home, sweep, record["campaign"]) for record in ordinary(home.sweep(sweep))]
    looked = [each for each in known if read_plan(each, 1) is not None]
    newest = max(looked, key=lambda each: (each.as_of, each.seq), default=known[-1] if known else None)
    return newest.id if newest is not None else None


def _sweep_of(home: Home, asked: Iterable[Asked]) -> str:
    known = home.sweeps()
    if len(known) == 1:
        return known[0]
    owners: dict[str, str] = {}
    for each in asked:
        with _at_its_line(each):
            owners.setdefault(meant(home, each.finding).sweep, each.finding)
            if len(owners) > 1:
                help = f"one sweep at a time: {', '.join(f'{short(name)} is of {of}' for of, name in owners.items())}"
                raise Refused("these are findings of several sweeps", help=help)
    if not owners:
        raise Refused("no finding is named", help="name one by its fingerprint or its label")
    return next(iter(owners))


def _allowed(ledger: Ledger, campaign: Campaign, asked: Asked, proof: Proof, now: dict[UUID, Position]) -> Done:
    """Return the deed as it will be done; ``now`` is where earlier deeds left the findings."""
    finding = sighted(ledger, campaign, asked.finding)
    before = now.get(finding.fp) or Position(*lives.standing_of(ledger, finding.fp))
    after = Position(*moved(before.verdict, before.state, finding.severity, asked.deed))
    deed, basis, verified = asked.deed, None, None
    if deed.act is Act.FIX:
        deed = replace(deed, scope=deed.scope or finding.scope, revision=deed.revision or proof.fixed_at())
    if deed.act is Act.ACCEPT_RISK:
        basis = proof.basis(finding)
    if deed.evidence is not None:
        verified = proof.holds(deed.evidence)
    landed = actions.deed_of(finding.fp, finding.severity, deed, basis=basis, verified=verified)
    return Done(finding, deed, before, after, verified, landed)


def _check_reason(done: Done) -> None:
    overrules = done.deed.act is Act.CONFIRM and done.before.verdict is Verdict.REJECTED
    if overrules and not (done.deed.reason or "").strip():
        raise Refused("confirm: a rejection is overruled with a reason", key="confirm.reason", help="say why")


@contextmanager
def _kept_open(home: Home) -> Iterator[None]:
    """Hold the history open, so that looking up many findings starts its engine once."""
    if not home.history.exists():
        yield
        return
    with history(home):
        yield


@contextmanager
def _at_its_line(asked: Asked, *, named: bool = False) -> Iterator[None]:
    """Have a refusal of a deed name the file and the line it stands on, and the finding where there are others."""
    try:
        yield
    except Refused as error:
        unsaid = (named or asked.file is not None) and short(asked.finding) not in error.what
        what = f"{error.what}: {short(asked.finding)}" if unsaid else error.what
        if asked.file is None and not unsaid:
            raise
        raise Refused(what, file=asked.file, line=asked.line, key=error.key, help=error.help) from error
