"""A recorded campaign's rounds under a policy: its own, or another K. No finder is called, nothing is written."""

import contextlib
from dataclasses import replace
from typing import Any

from drysweep_pipeline.convergence import after_answer, after_round
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.errors import DeclarationError, Refused
from drysweep_pipeline.values import Event


def play_recorded(campaign: Campaign, k: int | None = None) -> dict[str, Any]:
    """Return how the recorded rounds of a campaign end, with what people answered where it still fits.

    A campaign that still wants rounds when the record ends is ``running``. Raises ``DeclarationError`` for K < 2.
    """
    if k is not None and k < 2:
        raise DeclarationError(f"convergence.k must be 2 or more, got {k}", key="convergence.k")
    policy = replace(campaign.policy, k=k or campaign.policy.k)
    now = journal.standing_before(campaign, 1)
    events: list[Event] = []
    fresh: list[int] = []
    answers = journal.answers_of(campaign)
    while now.due is not None and (result := journal.read_result(campaign, now.due)) is not None:
        now, logged = after_round(now, policy, result)
        events += logged
        fresh.append(result.fresh)
        for said in answers.get(now.rounds, []):
            with contextlib.suppress(Refused):  # under another K nobody may have been asked
                now, logged = after_answer(now, said)
                events += logged
    return {
        "schema_version": 1,
        "sweep": campaign.home.name,
        "campaign": campaign.id,
        "as_of": campaign.as_of.isoformat(),
        "outcome": now.outcome.value,
        "reason": now.reason,
        "k": policy.k,
        "rounds": now.rounds,
        "quiet": now.quiet,
        "new": fresh,
        "calls": now.spent.calls,
        "events": [{"name": event.name, "round": event.round, "reason": event.reason} for event in events],
    }
