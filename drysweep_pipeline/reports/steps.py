"""What to do next about a campaign, by its outcome: the steps that reports list and ``status`` shows, as pure values.

A command is offered only where it works: a ``resume`` carries the ceilings that it needs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from drysweep_pipeline.convergence import exceeded
from drysweep_pipeline.reports.waiting import Stand, resume_command
from drysweep_pipeline.values import Outcome, Rule


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do: what it is for, the command that does it, and what else there is to say."""

    text: str
    command: str | None = None
    after: str = ""


def next_steps(stand: Stand, sweep: str, option: str = "") -> tuple[Step, ...]:
    """Return what may be done next, the first choice first; none where a decision is waited for instead.

    ``sweep`` is what ``run`` takes for the sweep, ``option`` leads the commands to the home, a blank before it.
    """
    run = f"drysweep run {sweep}{option}"
    steps: tuple[Step, ...] = ()
    match stand.standing.outcome:
        case Outcome.CONVERGED:
            steps = (
                Step("When what was found is mended, look again", run, " starts a new campaign"),
                Step("If something turns up later that was missed, add a strategy that would have seen it"),
            )
        case Outcome.BUDGET_EXCEEDED:
            steps = tuple(_capped(stand, run, option))
        case Outcome.NEEDS_DECISION:
            pass  # what may be answered now is listed instead
        case Outcome.ACCEPTED:
            steps = (Step("When the material has changed, start a new campaign", run),)
        case Outcome.RETURNED:
            steps = (Step("Start a new campaign over the new draft", run),)
        case Outcome.STOPPED:
            steps = tuple(_on(stand, run, option, "Go on where it stood"))
        case Outcome.FAILED:
            steps = tuple(_failed(stand, run, option))
        case _:
            steps = (Step("Look again later", f"drysweep status {stand.name}{option}"),)
    return steps


def _on(stand: Stand, run: str, option: str, text: str) -> Iterator[Step]:
    """Yield how to go on with a campaign, or what else to do where nothing lets it."""
    if command := resume_command(stand, option):
        yield Step(text, command, f": {stand.outlook.basis}")
    elif (ceiling := exceeded(stand.standing)) and not stand.gone:
        yield Step(f"Widen the ceiling on {ceiling} in the sweep and start a new campaign, this one cannot go on", run)
    else:
        yield Step("Start a new campaign", run)


def _capped(stand: Stand, run: str, option: str) -> Iterator[Step]:
    """Yield what to do at a ceiling; more rounds of what keeps failing are nothing to pay for."""
    lately = stand.course.rounds[-stand.k :]
    if any(not each.complete for each in lately):
        yield _mend(stand, run)
        if not any(each.fresh for each in lately):
            return
    yield from _on(stand, run, option, "Go on under wider ceilings")
    if lately and lately[-1].fresh:
        yield Step(
            "Where every round still finds much, look at the fingerprint first: noise in it makes findings look new"
        )


def _failed(stand: Stand, run: str, option: str) -> Iterator[Step]:
    yield _mend(stand, run)
    if command := resume_command(stand, option):
        fault = "the machine" if stand.course.rule is Rule.DRY else "the material or the machine"
        yield Step(f"Only where {fault} was at fault, go on with this one", command)


def _mend(stand: Stand, run: str) -> Step:
    # Under the clean rule each round reads the material anew.
    keeps = "declaration and the material" if stand.course.rule is Rule.DRY else "declaration"
    after = f". This one keeps the {keeps} that it started with"
    return Step("Mend what the strategies named under Rounds failed at, then start a new campaign", run, after)
