"""One scenario file played to its answer: through the pure core, or through the round job that ``run`` uses."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay import answer, core, pipeline
from drysweep_pipeline.replay.scenario import Scenario, read_scenario, under
from drysweep_pipeline.temporary import temporary_folder
from drysweep_pipeline.values import Rule

if TYPE_CHECKING:
    from drysweep_pipeline.orchestration.inprocess import InProcess


def play(
    path: Path, *, through_pipeline: bool = False, k: int | None = None, rule: Rule | None = None
) -> dict[str, Any]:
    """Return the answer of a scenario file, or its refusal under ``error``.

    Under another K or rule than the file's own it is not held against what the file expects.
    """
    try:
        scenario = under(read_scenario(path), k, rule)
        answers = _through_job(scenario) if through_pipeline else core.replay(scenario)
    except DrysweepError as error:
        return answer.refused(path, error)
    if k is not None or rule is not None:
        answers = [{key: said for key, said in each.items() if key not in answer.COMPARED} for each in answers]
    return answer.of_file(scenario, answers)


def _through_job(scenario: Scenario) -> list[dict[str, Any]]:
    """Play a scenario on a ledger of its own; nothing of it is left behind."""
    with temporary_folder() as folder, ExitStack() as stack:
        home = Home(folder)
        return pipeline.replay(scenario, _Jobs(home, stack).drive, home)


class _Jobs:
    """The jobs of the campaign that is being played, made once a campaign."""

    def __init__(self, home: Home, stack: ExitStack) -> None:
        self._home, self._stack = home, stack
        self._made: dict[str, InProcess] = {}

    def drive(self, campaign: Campaign, round: int) -> None:
        """Run one round through the real job."""
        from drysweep_pipeline.orchestration.inprocess import in_process

        if campaign.id not in self._made:
            opened = in_process(campaign.declaration, self._home, ephemeral=True)
            self._made[campaign.id] = self._stack.enter_context(opened)
        self._made[campaign.id].round(campaign, round)
