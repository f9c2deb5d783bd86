"""Taking into the ledger what was landed of a campaign when a process died before its commit.

Landing is the truth; nothing is landed here.
"""

from drysweep_pipeline.engine import actions, behind, closings, rounds, standing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.history.publish import is_behind
from drysweep_pipeline.ledger import Ledger, open_ledger


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


def catch_up(campaign: Campaign) -> None:
    """Repair a campaign whose state file lags behind its journal; it may have asked for a round that is not due.

    The ledger is opened for that alone. Raises as ``repair`` does, and ``Busy`` where the ledger is held for too long.
    """
    if not standing.is_published(campaign):
        with open_ledger(campaign.home.ledger) as ledger:
            repair(ledger, campaign)
