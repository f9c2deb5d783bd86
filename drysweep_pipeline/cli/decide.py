"""``drysweep go``, ``stop`` and ``decide``: what a person says to a campaign."""

from typing import Annotated, Literal

import typer

from drysweep_pipeline.cli.options import (
    ByOption,
    CampaignArgument,
    HomeOption,
    JsonOption,
    ReasonOption,
    find_campaign,
    home_of,
    person,
)
from drysweep_pipeline.errors import Refused

Choice = Literal["accept", "continue", "redraft", "go", "stop"]


def decide(
    campaign: CampaignArgument,
    choice: Annotated[str, typer.Argument(metavar="accept|continue|redraft", help="The answer.")],
    rounds: Annotated[int | None, typer.Argument(metavar="[N]", help="With continue: for how many rounds.")] = None,
    by: ByOption = None,
    reason: ReasonOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Answer a campaign that waits for a decision."""
    if choice not in ("accept", "continue", "redraft"):
        raise Refused(f"decide: {choice!r} is no answer", key="decide", help="accept, continue N or redraft")
    return _answer(campaign, "continue" if choice == "continue" else _plain(choice), rounds, by, reason, home, json)


def go(
    campaign: CampaignArgument,
    by: ByOption = None,
    reason: ReasonOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Give the go-ahead for the next round where turns are manual."""
    return _answer(campaign, "go", None, by, reason, home, json)


def stop(
    campaign: CampaignArgument,
    by: ByOption = None,
    reason: ReasonOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Stop a campaign; what it found so far is a lower bound."""
    return _answer(campaign, "stop", None, by, reason, home, json)


def _plain(choice: str) -> Choice:
    return "accept" if choice == "accept" else "redraft"


def _answer(
    campaign: str,
    kind: Choice,
    rounds: int | None,
    by: str | None,
    reason: str | None,
    home: HomeOption,
    json: bool,
) -> int:
    """Record the answer, go on where the command line drives the campaign, and show where it stands."""
    from drysweep_pipeline.cli.driving import drive, show
    from drysweep_pipeline.convergence import Answer
    from drysweep_pipeline.engine import people
    from drysweep_pipeline.engine.campaign import load
    from drysweep_pipeline.engine.state import read_state

    place = home_of(home)
    loaded = load(place, *find_campaign(place, campaign))
    standing = people.answer(loaded, Answer(kind, person(by), reason, rounds))
    state = read_state(loaded.state_path)
    if standing.due is not None and state is not None and state.driver == "cli":
        drive(place, loaded)
    show(place, loaded, as_json=json)
    return 0
