"""``drysweep replay``: scripted or recorded rounds under a policy; no finder of a sweep is called."""

from pathlib import Path
from typing import Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, find_campaign, home_of
from drysweep_pipeline.values import Rule


def replay(
    files: Annotated[list[str], typer.Argument(metavar="FILE...|CAMPAIGN", help="Scenario files, or a campaign.")],
    pipeline: Annotated[bool, typer.Option(help="Through the real job and ledger, not the pure core.")] = False,
    k: Annotated[int | None, typer.Option("--k", help="Another K than the recorded one.")] = None,
    rule: Annotated[Rule | None, typer.Option(help="The rule that a round is quiet by, instead of its own.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Play scripted or recorded rounds again and say how they end.

    Example: drysweep replay my_sweep/20260131T060000Z --k 3
    """
    from drysweep_pipeline.cli.output import put_json

    refused = False
    for name in files:
        answer = _scenario(Path(name), pipeline, k, rule) if _is_file(name) else _recorded(home, name, k, rule)
        put_json(answer)
        refused = refused or "error" in answer
    return 2 if refused else 0


def _is_file(name: str) -> bool:
    return name.endswith((".yaml", ".yml")) or Path(name).exists()


def _scenario(path: Path, pipeline: bool, k: int | None, rule: Rule | None) -> dict[str, Any]:
    from drysweep_pipeline.cli.playing import play

    return play(path, through_pipeline=pipeline, k=k, rule=rule)


def _recorded(home: Path | None, name: str, k: int | None, rule: Rule | None) -> dict[str, Any]:
    """Return how the recorded rounds of a campaign end under its own policy, another K or the other rule."""
    from drysweep_pipeline.engine.campaign import load
    from drysweep_pipeline.replay.recorded import play_recorded

    place = home_of(home)
    return play_recorded(load(place, *find_campaign(place, name)), k, rule)
