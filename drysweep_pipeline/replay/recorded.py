"""A recorded campaign's rounds under a policy: its own, another K or rule. No finder is called, nothing written.

What the record does not tell is said, and never made up: rounds that were not run, and material that was not read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from drysweep_pipeline.convergence import Policy, RoundResult, Standing, after_answer, after_round
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.errors import DeclarationError, Refused
from drysweep_pipeline.instants import zulu
from drysweep_pipeline.keeping.unsettled import blocking_by_round
from drysweep_pipeline.replay.told import told
from drysweep_pipeline.values import Event, Rule


def play_recorded(campaign: Campaign, k: int | None = None, rule: Rule | None = None) -> dict[str, Any]:
    """Return how the recorded rounds of a campaign end, with what people answered where it still fits.

    A campaign that still wants rounds when the record ends is ``running``, and ``unknown`` says so, as it says what
    else the record cannot tell under this policy. Raises ``DeclarationError`` for K < 2, ``IntegrityError`` where the
    other rule asks for landed files that are not what was landed, ``NotFound`` where the campaign was not published.
    """
    if k is not None and k < 2:
        raise DeclarationError(f"convergence.k must be 2 or more, got {k}", key="convergence.k")
    policy = replace(campaign.policy, k=k or campaign.policy.k, rule=rule or campaign.policy.rule)
    if k is not None or rule is not None:
        # Rounds beyond the recorded convergence tell what this policy would have missed, and are no part of it.
        policy = replace(policy, beyond=0)
    played = _Played(journal.standing_before(campaign, 1))
    answers = journal.answers_of(campaign)
    recorded = list(_recorded(campaign, policy))
    for result in recorded:
        if played.now.due != result.round:
            break
        played.decide(policy, result)
        for said in answers.get(result.round, []):
            played.answer(said)
    now, stood = played.now, journal.standing(campaign)
    return {
        "schema_version": 1,
        "sweep": campaign.home.name,
        "campaign": campaign.id,
        "as_of": zulu(campaign.as_of),
        "outcome": now.outcome.value,
        "reason": now.reason,
        "rule": policy.rule.value,
        "k": policy.k,
        "rounds": now.rounds,
        "recorded": len(recorded),
        # What it really came to, so that the outcome under another policy is never taken for it.
        "recorded_outcome": stood.outcome.value,
        "recorded_reason": stood.reason,
        "quiet": now.quiet,
        "new": played.fresh,
        "missed": sum(result.fresh for result in recorded[now.converged_at or now.rounds :]),
        "calls": now.spent.calls,
        **told(campaign, now.rounds, played.events),
        "unknown": [*_unknown(campaign, policy, now), *played.left_out],
    }


@dataclass(slots=True)
class _Played:
    """A campaign while its recorded rounds are decided again; ``left_out`` are answers that did not fit."""

    now: Standing
    events: list[Event] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def decide(self, policy: Policy, result: RoundResult) -> None:
        self.now, logged = after_round(self.now, policy, result)
        self.events += logged
        self.fresh.append(result.fresh)

    def answer(self, said: Any) -> None:
        try:
            self.now, logged = after_answer(self.now, said)
        except Refused:  # under another policy nobody may have been asked
            self.left_out.append(
                f"what {said.by} answered after round {self.now.rounds} ({said.kind}) was not asked here"
            )
        else:
            self.events += logged


def _recorded(campaign: Campaign, policy: Policy) -> Iterator[RoundResult]:
    """Yield what the recorded rounds brought, as the decision under a policy looks at it."""
    # Under the dry rule nobody counts what blocks.
    counted = policy.rule is Rule.CLEAN and campaign.policy.rule is Rule.DRY
    blocking = blocking_by_round(campaign) if counted else {}
    round = 1
    while (result := journal.read_result(campaign, round)) is not None:
        yield replace(result, blocking=blocking[round]) if counted else result
        round += 1


def _unknown(campaign: Campaign, policy: Policy, now: Standing) -> Iterator[str]:
    """Yield what the record cannot tell."""
    if now.due is not None:
        yield f"what round {now.due} would have brought: it was not run"
    if policy.rule is campaign.policy.rule:
        return
    snapshots = {
        plan.snapshot for round in range(1, now.rounds + 1) if (plan := read_plan(campaign, round)) is not None
    }
    if policy.rule is Rule.CLEAN and now.rounds > 1:
        yield "what changed between the rounds: all read one snapshot, and under the clean rule each reads its own"
    if policy.rule is Rule.DRY and len(snapshots) > 1:
        yield f"what one snapshot would have shown: the rounds read {len(snapshots)}, and under the dry rule one"
