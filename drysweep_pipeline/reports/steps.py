"""What to do next about a campaign, by its outcome: the steps that reports list and ``status`` shows, as pure values.

A command is offered only where it works: a ``resume`` carries the ceilings that it needs.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from drysweep_pipeline.convergence import exceeded
from drysweep_pipeline.diagnosis import Cause
from drysweep_pipeline.reports.waiting import Stand, resume_command
from drysweep_pipeline.values import Outcome, Rule

# What is mended in the declaration, which a campaign keeps as it was, and what is mended beside it.
_MENDED_ELSEWHERE = (Cause.REPHRASED, Cause.FALSE_POSITIVES, Cause.JUDGE_SILENT)
_MENDED_HERE = (Cause.CHURN, Cause.BLOCKING)


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do: what it is for, the command that does it, and what else there is to say."""

    text: str
    command: str | None = None
    after: str = ""


def next_steps(stand: Stand, sweep: str, option: str = "", why: Mapping[str, str] | None = None) -> tuple[Step, ...]:
    """Return what may be done next, the first choice first; none where a decision is waited for instead.

    ``sweep`` is what ``run`` takes for the sweep, ``option`` leads the commands to the home, a blank before it.
    ``why`` is what keeps the campaign from going quiet, as its summary tells it: what helps there comes first here too.
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
            steps = tuple(_capped(stand, run, option, why))
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


def why_beside(why: Mapping[str, str], below: Iterable[str]) -> str:
    """Return why it does not go quiet and what helps, which is left out where it is a command that stands below."""
    command = why["lever"].partition("`")[2].partition("`")[0]
    below_already = command and any(line.strip().startswith(command) for line in below)
    return why["sentence"] if below_already else f"{why['sentence']}; {why['lever']}"


def _on(stand: Stand, run: str, option: str, text: str) -> Iterator[Step]:
    """Yield how to go on with a campaign, or what else to do where nothing lets it."""
    if command := resume_command(stand, option):
        yield Step(text, command, f": {stand.outlook.basis}")
    elif (ceiling := exceeded(stand.standing)) and not stand.gone:
        yield Step(f"Widen the ceiling on {ceiling} in the sweep and start a new campaign, this one cannot go on", run)
    else:
        yield Step("Start a new campaign", run)


def _capped(stand: Stand, run: str, option: str, why: Mapping[str, str] | None) -> Iterator[Step]:
    """Yield what to do at a ceiling; more rounds of what keeps failing are nothing to pay for."""
    lately = stand.course.rounds[-stand.k :]
    if any(not each.complete for each in lately):
        yield _mend(stand, run)
        if not any(each.fresh for each in lately):
            return
    cause = why["cause"] if why else None
    if why and cause in _MENDED_ELSEWHERE:
        # What else the lever says is where to look, and how to begin anew, which is this step's own command.
        what = why["lever"].partition("; ")[0].partition(", and start")[0]
        yield Step(f"First {what}, then start a new campaign", run, _keeps(stand))
        yield from _on(stand, run, option, "Only to see what this one finds as it is, go on under wider ceilings")
        return
    if why and cause in _MENDED_HERE:
        yield from _on(stand, run, option, f"First {why['lever']}; then go on under wider ceilings")
        return
    yield from _on(stand, run, option, "Go on under wider ceilings")
    # Angles that nobody looked from yet bring something new whatever the fingerprint is.
    if lately and lately[-1].fresh and not stand.course.turns:
        yield Step(
            "Where every round still finds much, look at the fingerprint first: noise in it makes findings look new"
        )


def _failed(stand: Stand, run: str, option: str) -> Iterator[Step]:
    yield _mend(stand, run)
    if command := resume_command(stand, option):
        fault = "the machine" if stand.course.rule is Rule.DRY else "the material or the machine"
        yield Step(f"Only where {fault} was at fault, go on with this one", command)


def _mend(stand: Stand, run: str) -> Step:
    return Step("Mend what the strategies that did not run failed at, then start a new campaign", run, _keeps(stand))


def _keeps(stand: Stand) -> str:
    # Under the clean rule each round reads the material anew.
    keeps = "declaration and the material" if stand.course.rule is Rule.DRY else "declaration"
    return f". This one keeps the {keeps} that it started with"
