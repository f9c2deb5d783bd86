"""``drysweep resume``: a campaign goes on, under wider ceilings if asked."""

from typing import TYPE_CHECKING, Annotated

import typer

from drysweep_pipeline.cli.options import (
    ByOption,
    CampaignArgument,
    FailOnOption,
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


def resume(
    campaign: CampaignArgument,
    rounds: Annotated[int | None, typer.Option(help="The new ceiling on rounds.")] = None,
    calls: Annotated[int | None, typer.Option(help="The new ceiling on calls.")] = None,
    fail_on: FailOnOption = None,
    by: ByOption = None,
    reason: ReasonOption = None,
    quiet: QuietOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Go on with a campaign that stopped or ran into a ceiling.

    Example: drysweep resume my_sweep/20260131T060000Z --rounds 30
    """
    from drysweep_pipeline.cli.decide import saying_what_it_waits_for
    from drysweep_pipeline.cli.driving import drive, show
    from drysweep_pipeline.convergence import Answer
    from drysweep_pipeline.engine import people
    from drysweep_pipeline.engine.campaign import load
    from drysweep_pipeline.engine.journal import standing
    from drysweep_pipeline.engine.repair import repair
    from drysweep_pipeline.engine.state import check_lease
    from drysweep_pipeline.ledger import open_ledger
    from drysweep_pipeline.reports.beside import home_option
    from drysweep_pipeline.reports.threshold import check_threshold
    from drysweep_pipeline.values import Outcome

    check_threshold(fail_on)
    _check_wider(rounds, calls)
    place = home_of(home)
    loaded = load(place, *find_campaign(place, campaign))
    check_lease(loaded.state_path)
    _say_what_is_frozen(loaded)
    with open_ledger(loaded.home.ledger) as ledger:
        repair(ledger, loaded)
    down = _down(loaded)
    widened = rounds is not None or calls is not None
    if widened or standing(loaded).outcome is not Outcome.RUNNING:
        with saying_what_it_waits_for(place, loaded, "resume"):
            people.answer(loaded, Answer("resume", person(by), reason, rounds, calls))
    if down:
        _say_who_keeps_failing(loaded, down, home_option(place))
    drive(place, loaded, quiet=quiet)
    return show(place, loaded, as_json=json, fail_on=fail_on)


def _check_wider(rounds: int | None, calls: int | None) -> None:
    """Raise ``Refused`` where a ceiling is asked for under which nothing could run."""
    for option, ceiling in (("--rounds", rounds), ("--calls", calls)):
        if ceiling is not None and ceiling < 1:
            raise Refused(f"resume: {ceiling} is no ceiling", key=option, help="1 or more, and more than was spent")


def _say_what_is_frozen(campaign: "Campaign") -> None:
    """Tell a person who has mended the sweep meanwhile that this campaign goes on with what it started with."""
    from drysweep_pipeline.cli.output import note
    from drysweep_pipeline.declaration import read_declaration
    from drysweep_pipeline.errors import DrysweepError

    try:
        changed = read_declaration(campaign.declaration.path).digest != campaign.declaration.digest
    except DrysweepError:
        changed = True
    if changed:
        sweep = campaign.declaration.sweep.name
        note(f"{sweep} has changed since; this campaign goes on as it started, `drysweep run` starts another")


def _down(campaign: "Campaign") -> list[str]:
    """Return the strategies that made a campaign fail; none of one that did not."""
    from drysweep_pipeline.convergence import NOT_RUN_LIMIT
    from drysweep_pipeline.engine.journal import standing
    from drysweep_pipeline.values import Outcome

    now = standing(campaign)
    failed = now.outcome is Outcome.FAILED
    return sorted(name for name, times in now.down.items() if failed and times >= NOT_RUN_LIMIT)


def _say_who_keeps_failing(campaign: "Campaign", down: list[str], option: str) -> None:
    """Tell, before a failed campaign spends more rounds, that what was mended meanwhile does not reach it."""
    from drysweep_pipeline.cli.output import note
    from drysweep_pipeline.reports.beside import sweep_argument

    sweep = sweep_argument(campaign.home.home, campaign.home.name, campaign.id)
    who = "they" if len(down) > 1 else "it"
    note(
        f"{', '.join(down)} did not run three times in a row, and SQL is frozen as the campaign started with it; "
        f"where that is at fault {who} will fail again: "
        f"`drysweep run {sweep}{option}` starts a campaign with what was mended"
    )
