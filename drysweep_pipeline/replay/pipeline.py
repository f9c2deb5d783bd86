"""Replay through the engine: the same scripts over real ledgers, landed files and state files.

How a round is driven is handed in, so that the command line can run the real job; ``steps`` drives it without one.
What a script may say is ``scenario``'s business, what it means is the engine's.
"""

import re
from collections.abc import Callable
from typing import Any

from drysweep_pipeline.engine import deeds, people, rounds
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay import answer, scripted
from drysweep_pipeline.replay.scenario import Action, RevertResolves, Scenario, ScriptedCampaign
from drysweep_pipeline.reports.summary import summary

Drive = Callable[[Campaign, int], None]


def replay(scenario: Scenario, drive: Drive, home: Home) -> list[dict[str, Any]]:
    """Play every campaign of a scenario in order, against one ledger under ``home``, and return an answer for each.

    ``drive`` runs one round, from its plan to its decision.
    Raises ``Refused``, naming file and line, where the rules do not allow what somebody did.
    """
    resolves: set[tuple[str, str]] = set()
    return [
        _played(scenario, each, f"c{seq}", drive, home, resolves)
        for seq, each in enumerate(scenario.campaigns, start=1)
    ]


def steps(campaign: Campaign, round: int) -> None:
    """Run one round by the engine's steps, one after the other, in this process."""
    plan(campaign, round)
    for _ in wave(campaign, round):
        pass
    rounds.take_in(campaign, round)
    rounds.judge(campaign, round)
    rounds.decide(campaign, round)


def sweep_name(scenario: Scenario) -> str:
    """Return the name of the sweep that a scenario file is played as: its stem, as far as names of sweeps allow."""
    plain = re.sub(r"[^a-z0-9_]", "_", scenario.path.stem.lower())
    return (plain if plain[:1].isalpha() else f"s_{plain}")[:63]


def _played(
    scenario: Scenario, script: ScriptedCampaign, name: str, drive: Drive, home: Home, resolves: set[tuple[str, str]]
) -> dict[str, Any]:
    """Play one campaign; to ``resolves`` is added what it says of revert tests, for the campaigns after it."""
    declaration = scripted.declaration(scenario, script, sweep_name(scenario), resolves)
    campaign = start(home, declaration, as_of=script.as_of, driver="cli", campaign=name)
    while (due := standing(campaign).due) is not None and due <= len(script.rounds):
        drive(campaign, due)
        for action in script.rounds[due - 1].after:
            if isinstance(action, RevertResolves):
                resolves.add(scripted.resolved(action))
            with scripted.at_its_line(scenario, action):
                _after(campaign, action)
    told = {**summary(home, declaration.sweep.name, name), "sweep": scenario.path.stem}
    # What may be done about a campaign that is gone after the replay would mislead.
    told = {key: value for key, value in told.items() if key not in ("waits_for", "why")}
    return answer.compared(told, script.expect)


def _after(campaign: Campaign, action: Action) -> None:
    """Apply what somebody did. Raises ``Refused`` where the rules do not allow it."""
    said, done = scripted.said(action), scripted.done(action)
    if said is not None:
        people.answer(campaign, said)
    if done is not None:
        label, deed = done
        deeds.act(campaign, [deeds.Asked(label, deed)])
