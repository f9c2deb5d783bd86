"""Taking into the ledger what was landed of a campaign when a process died before its commit.

Landing is the truth; nothing is landed here.
"""

from drysweep_pipeline.engine import actions, behind, closings, rounds, standing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.history.publish import is_behind
from drysweep_pipeline.ledger import Ledger


def repair(ledger: Ledger, campaign: Campaign) -> None:
    """Take in the decision of a campaign's last round, and what people did last, where that was landed only.

    What was taken in and not made visible is published. Raises ``IntegrityError`` where the ledger lacks more than
    that.
    """
    behind.check_all_campaigns(ledger, campaign.home)
    rounds.recommit(ledger, campaign)
    # A process may have died between an end that was committed and what it is evidence of.
    closings.close(ledger, campaign)
    taken = actions.take_in_landed(ledger, campaign)
    if taken or not standing.is_published(campaign) or is_behind(campaign.home.home, campaign.home.name, ledger):
        standing.publish(ledger, campaign)
