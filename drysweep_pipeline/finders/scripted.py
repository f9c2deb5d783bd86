"""The scripted finder: reports what was written down for the round. For replays and worked examples."""

from drysweep_pipeline.candidates import prepare
from drysweep_pipeline.declaration.model import ScriptedStrategy
from drysweep_pipeline.errors import RowsRefused
from drysweep_pipeline.finders.request import Found, Request


def search(request: Request) -> Found:
    """Return the round's entry of the script. Raises ``RowsRefused`` where the script says ``not_run``."""
    strategy = request.strategy
    assert isinstance(strategy, ScriptedStrategy)
    entry = strategy.rounds[request.round - 1]
    if entry == "not_run":
        # A script says the same when asked again, so there is no retry to pay for.
        raise RowsRefused("scripted: not_run")
    assert entry is not None, "a strategy that is not asked is not searched"
    # As the rows of whoever may report anything: one that cannot be taken in does not take the others with it (R5).
    return Found(prepared=prepare(entry, request.fields))
