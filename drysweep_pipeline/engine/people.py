"""What people answer a campaign that waits: accept, continue, redraft, go, stop, resume.

Which answers are allowed is decided in ``convergence``; a refusal changes nothing.
"""

from dataclasses import replace

from drysweep_pipeline.convergence import Answer, Standing, after_answer
from drysweep_pipeline.engine import actions, closings, journal, rounds, standing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.texts import check_texts
from drysweep_pipeline.ledger import open_ledger


def answer(campaign: Campaign, said: Answer) -> Standing:
    """Record a person's answer and return where the campaign stands then.

    Raises ``Refused`` where none was asked, ``Busy`` where a process is in the middle of a round.
    """
    check_texts(said.kind, {"by": said.by, "reason": said.reason})
    with open_ledger(campaign.home.ledger) as ledger:
        repair(ledger, campaign)
    rounds.finish(campaign)
    with open_ledger(campaign.home.ledger) as ledger:
        before = journal.standing(campaign)
        after_answer(before, said)
        redactor = redactor_of(campaign)
        said = replace(said, by=redactor.text(said.by), reason=redactor.maybe(said.reason))
        actions.land(ledger, campaign, actions.answered(said, before.rounds))
        closings.close(ledger, campaign)
        return standing.publish(ledger, campaign)
