"""``drysweep go``, ``stop`` and ``decide``: what a person says to a campaign."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from drysweep_pipeline.cli.options import (
    ByOption,
    CampaignArgument,
    HomeOption,
    JsonOption,
    QuietOption,
    ReasonOption,
    find_campaign,
    home_of,
    person,
)
from drysweep_pipeline.errors import Refused

if TYPE_CHECKING:
    from drysweep_pipeline.engine.campaign import Campaign
    from drysweep_pipeline.home import Home
    from drysweep_pipeline.reports.waiting import Stand

Choice = Literal["accept", "continue", "redraft", "go", "stop"]
_DECISIONS: dict[str, Choice] = {"accept": "accept", "continue": "continue", "redraft": "redraft"}


def decide(
    campaign: CampaignArgument,
    choice: Annotated[str, typer.Argument(metavar="accept|continue|redraft", help="The answer.")],
    rounds: Annotated[int | None, typer.Argument(metavar="N", help="With continue: for how many rounds.")] = None,
    by: ByOption = None,
    reason: ReasonOption = None,
    quiet: QuietOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Answer a campaign that waits for a decision.

    Example: drysweep decide my_sweep/20260131T060000Z continue 3
    """
    if (kind := _DECISIONS.get(choice)) is None:
        raise Refused(f"decide: {choice!r} is no answer", key="decide", help="accept, continue N or redraft")
    if rounds is not None and choice != "continue":
        raise Refused(f"decide: {choice} takes no number", key="decide", help=f"`continue {rounds}`, or no number")
    return _answer(campaign, kind, rounds, by, reason, quiet, home, json)


def go(
    campaign: CampaignArgument,
    by: ByOption = None,
    reason: ReasonOption = None,
    quiet: QuietOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Give the go-ahead for the next round where turns are manual.

    Example: drysweep go my_sweep/20260131T060000Z
    """
    return _answer(campaign, "go", None, by, reason, quiet, home, json)


def stop(
    campaign: CampaignArgument,
    by: ByOption = None,
    reason: ReasonOption = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Stop a campaign; what it found so far is a lower bound.

    Example: drysweep stop my_sweep/20260131T060000Z --reason "wrong material"
    """
    return _answer(campaign, "stop", None, by, reason, False, home, json)


def _answer(
    campaign: str,
    kind: Choice,
    rounds: int | None,
    by: str | None,
    reason: str | None,
    quiet: bool,
    home: HomeOption,
    json: bool,
) -> int:
    """Record the answer, go on where the command line drives the campaign, and show where it stands."""
    from drysweep_pipeline.cli.driving import go_on, show
    from drysweep_pipeline.convergence import Answer
    from drysweep_pipeline.engine import people
    from drysweep_pipeline.engine.campaign import load

    place = home_of(home)
    loaded = load(place, *find_campaign(place, campaign))
    with saying_what_it_waits_for(place, loaded, kind):
        people.answer(loaded, Answer(kind, person(by), reason, rounds))
    go_on(place, loaded, quiet=quiet)
    show(place, loaded, as_json=json)
    return 0


@contextmanager
def saying_what_it_waits_for(home: "Home", campaign: "Campaign", asked: str) -> Iterator[None]:
    """Let a refusal that knows no help say what the campaign waits for instead, or how what was asked is said."""
    from drysweep_pipeline.reports.beside import home_option, stand_of

    try:
        yield
    except Refused as error:
        if error.help is None:
            error.help = _instead(stand_of(campaign), home_option(home), asked)
        raise


def _instead(stand: "Stand", option: str, asked: str) -> str:
    """Return what to say instead of an answer that was refused; where there is a choice, none is recommended."""
    from drysweep_pipeline.reports.waiting import QUEUE, resume_command, waits_for

    waiting = waits_for(stand, option)
    resume = resume_command(stand, option) if asked == "resume" else None
    if resume is not None:
        return f"`{resume}`: {stand.outlook.basis}"
    if waiting is None:
        return f"`drysweep status {stand.name}{option}` says where it stands"
    if waiting.what in (QUEUE, "turn"):
        return f"{waiting.sentence}: `{waiting.choices[0].command}`"
    if asked == "continue":
        return f"{waiting.sentence}: `drysweep decide {stand.name} continue 2{option}` for two more rounds, say"
    return f"{waiting.sentence}: `drysweep decide {stand.name} accept{option}`, `continue N` or `redraft`"
