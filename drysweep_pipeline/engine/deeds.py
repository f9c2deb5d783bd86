"""Deeds on findings: who is meant, what the material says to the evidence, and all of them recorded at once.

Which moves are allowed is decided in ``lifecycle``. A refusal names the deed, by file and line where it came from one,
and changes nothing: neither that deed nor the others beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from drysweep_pipeline.engine import actions, journal, standing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.naming import Sighted, sighted
from drysweep_pipeline.engine.proof import Proof, proof_of
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.ledger import Ledger, lives, open_ledger
from drysweep_pipeline.lifecycle import Act, Deed, moved
from drysweep_pipeline.values import State, Verdict


@dataclass(frozen=True, slots=True)
class Asked:
    """A deed as somebody asks for it: the finding by fingerprint or label, and where it was written."""

    finding: str
    deed: Deed
    file: Path | None = None
    line: int | None = None


def act(campaign: Campaign, asked: Sequence[Asked]) -> list[Sighted]:
    """Record deeds at the campaign's last decided round, all or none, and return the findings they were done to.

    Raises ``NotFound`` where no campaign of the sweep sighted a finding, ``Refused`` where a move is not allowed.
    """
    with open_ledger(campaign.home.ledger) as ledger:
        repair(ledger, campaign)
        proof = proof_of(campaign)
        now: dict[UUID, tuple[Verdict, State]] = {}
        done, found = [], []
        for each in asked:
            try:
                finding, landed = _allowed(ledger, campaign, each, proof, now)
            except Refused as error:
                raise _at_its_line(error, each) from error
            done.append(landed)
            found.append(finding)
        actions.land(ledger, campaign, actions.done(done, journal.standing(campaign).rounds))
        standing.publish(ledger, campaign)
    return found


def _allowed(
    ledger: Ledger, campaign: Campaign, asked: Asked, proof: Proof, now: dict[UUID, tuple[Verdict, State]]
) -> tuple[Sighted, dict[str, object]]:
    """Return the finding that is meant and the deed as it lands; ``now`` is where earlier deeds left the findings."""
    finding = sighted(ledger, campaign, asked.finding)
    before = now.get(finding.fp) or lives.standing_of(ledger, finding.fp)
    now[finding.fp] = moved(*before, finding.severity, asked.deed)
    deed, basis, verified = asked.deed, None, None
    if deed.act is Act.FIX:
        deed = replace(deed, scope=deed.scope or finding.scope, revision=deed.revision or proof.fixed_at())
    if deed.act is Act.ACCEPT_RISK:
        basis = proof.basis(finding)
    if deed.evidence is not None:
        verified = proof.holds(deed.evidence)
    return finding, actions.deed_of(finding.fp, finding.severity, deed, basis=basis, verified=verified)


def _at_its_line(error: Refused, asked: Asked) -> Refused:
    if asked.file is None:
        return error
    return Refused(error.what, file=asked.file, line=asked.line, key=error.key, help=error.help)
