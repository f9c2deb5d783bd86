"""What each outcome means, in words that every report uses; none says that nothing is left."""

from collections.abc import Mapping

from drysweep_pipeline.values import Outcome
from drysweep_pipeline.wording import count

UNSEARCHED = "Nothing was searched yet: no round is decided."
"""What every report says of a campaign without a decided round, of which nothing else would be true."""
MEANS: Mapping[Outcome, str] = {
    Outcome.CONVERGED: (
        "The strategies ran over the material until enough rounds in a row brought nothing that counts. It does not "
        "mean that the material is free of problems: what none of these strategies can see stays unseen."
    ),
    Outcome.BUDGET_EXCEEDED: (
        "A ceiling ended the search before it went quiet. How much is still there is unknown; what was found is "
        "a lower bound."
    ),
    Outcome.NEEDS_DECISION: "The search stands still until a person answers. It has not gone quiet.",
    Outcome.ACCEPTED: "A person ended the search before it went quiet. What was found is a lower bound.",
    Outcome.RETURNED: (
        "A person sent the material back to be redrafted before the search went quiet. What was found is a lower bound."
    ),
    Outcome.STOPPED: "The search was stopped before it went quiet. What was found is a lower bound.",
    Outcome.FAILED: (
        "A strategy did not run three times in a row. Its silence is not silence: what it would have found is unknown, "
        "and widening the budget would not help."
    ),
    Outcome.RUNNING: "The search has not ended. What follows is where it stands now.",
}


def unread_files(number: int, rounds: int) -> str:
    """Return how many files could not be read, as a sentence; ``rounds`` are those that were decided."""
    if not rounds:
        return UNSEARCHED
    return f"{count(number, 'file')} could not be read." if number else "Every file of the material could be read."
