"""Why a campaign does not go quiet: one cause, in a sentence with its numbers, and the one lever that helps.

A pure function over values: no clock, no database. It speaks where a ceiling, a failing strategy or churn ended or
holds a campaign, and where one has run far longer than its forerunners; of one that converged it says nothing. Causes
are looked for in the order of ``Cause``, the first that its thresholds let through is told. How the facts are gathered
is ``reports.why``'s business.
"""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.convergence import CEILINGS
from drysweep_pipeline.doubles import Finding, doubles
from drysweep_pipeline.outlook import FALLING_ROUNDS, Outlook, Round
from drysweep_pipeline.values import Outcome, Rule
from drysweep_pipeline.wording import count, cut

FORERUNNERS = 2
"""So many converged campaigns must have come before, or nobody can tell what is long."""
TIMES_LONGER = 2.0
ROUNDS_LONGER = 5
"""Far longer is more than twice the median and five rounds more: K rounds of every campaign are quiet ones, so that a
short campaign doubles when one finding comes late, and a long one that takes five more has not doubled."""
OFTEN = 2
"""Once is an accident, so a failing strategy, a finding that comes back and a kind of fresh finding need two."""
BEYOND_K = 2
"""A strategy is looked at over the last K rounds and two more: one that fails at one of its two angles fails in every
other round, never K times in a row, and keeps every run of K rounds from being quiet all the same."""
MOST = 0.5
"""A cause that more than half of the late fresh findings share is what keeps the search going."""
COMPARED = 500
"""So many late findings are looked at for doubles, the first ones."""
NAMED = 3
REASON_LENGTH = 160
"""How many findings are named, and how many characters of a reason are told."""
_CEILING = "ceiling: "
NO_CEILINGS = Ceilings(0, 0)
_REASONS = (*CEILINGS, "churn", "not_run")


class Cause(StrEnum):
    """Why a search does not go quiet, in the order in which causes are looked for."""

    FAILING = "failing"
    CHURN = "churn"
    REPHRASED = "rephrased"
    FALSE_POSITIVES = "false_positives"
    JUDGE_SILENT = "judge_silent"
    BLOCKING = "blocking"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One cause, told with its numbers, and what helps."""

    cause: Cause
    sentence: str
    lever: str

    @property
    def as_json(self) -> dict[str, str]:
        """Return it as the JSON that commands and reports print."""
        return {"cause": self.cause.value, "sentence": self.sentence, "lever": self.lever}

    @property
    def text(self) -> str:
        """Return it as one line."""
        return f"{self.sentence}; {self.lever}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A strategy that was not run in a round, why, and at which angle; None where it has only one."""

    round: int
    strategy: str
    reason: str
    angle: str | None = None

    @property
    def own(self) -> bool:
        """Tell whether it failed by itself: a ceiling that leaves a strategy out is not that strategy's failure."""
        return not self.reason.startswith(_CEILING) or bool(self._before_it)

    @property
    def why(self) -> str:
        """Why it failed, without the ceiling that kept it from being tried once more."""
        return self._before_it or self.reason

    @property
    def _before_it(self) -> str:
        return self.reason.partition(", after ")[2] if self.reason.startswith(_CEILING) else ""


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a diagnosis looks at; ``fields`` name the fingerprint's fields, in the order of ``Finding.values``.

    ``fresh`` are the campaign's own findings by round, ``known`` those from before it. ``reopened`` counts how often
    each finding that came back in the late rounds came back in the sweep, ``raised`` in how many rounds each unsettled
    blocking finding of the last round was raised. A label is None where it is not to be told: a rejected finding is
    counted, and named to nobody who did not ask. ``angles`` are those declared and ``unused`` those not used yet; None
    where nobody can tell. ``used`` are the angles used by strategy, ``silent`` the findings that the judge gave no
    answer on in the last round, of the ``seen`` ones. ``resume`` is the command that goes on, None where none does, and
    ``ceilings`` are those that the campaign had.
    """

    name: str
    outcome: Outcome
    reason: str | None
    rule: Rule
    k: int
    quiet: int
    outlook: Outlook
    rounds: tuple[Round, ...]
    forerunners: tuple[int, ...] = ()
    failures: tuple[Failure, ...] = ()
    churn: tuple[tuple[int, str | None], ...] = ()
    reopened: tuple[tuple[str | None, int], ...] = ()
    fields: tuple[str, ...] = ()
    fresh: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    raised: tuple[tuple[str, int], ...] = ()
    angles: int | None = None
    unused: int | None = None
    used: tuple[tuple[str, str], ...] = ()
    seen: int = 0
    silent: int = 0
    resume: str | None = None
    ceilings: Ceilings = NO_CEILINGS

    @property
    def late(self) -> tuple[Round, ...]:
        """The second half of the rounds: what keeps a search going shows there."""
        return self.rounds[late_from(len(self.rounds)) - 1 :]


def late_from(rounds: int) -> int:
    """Return the first of the late rounds: those of the second half, the middle one included."""
    return rounds // 2 + 1


def speaks(outcome: Outcome, reason: str | None, rounds: int, forerunners: Sequence[int]) -> bool:
    """Tell whether there is anything to explain: a search that something ended or holds, or one that takes long."""
    if outcome is Outcome.CONVERGED or rounds == 0:
        return False
    return reason in _REASONS or far_longer(rounds, forerunners)


def far_longer(rounds: int, forerunners: Sequence[int]) -> bool:
    """Tell whether a campaign has run far longer than the converged ones before it."""
    if len(forerunners) < FORERUNNERS:
        return False
    usual = statistics.median(forerunners)
    return rounds > TIMES_LONGER * usual and rounds >= usual + ROUNDS_LONGER


def diagnose(facts: Facts) -> Diagnosis | None:
    """Return why a campaign does not go quiet, or None where there is nothing to explain."""
    if not speaks(facts.outcome, facts.reason, len(facts.rounds), facts.forerunners):
        return None
    causes = (_failing, _churn, _rephrased, _uncovered, _false_positives, _judge_silent, _blocking)
    found = next((told for cause in causes if (told := cause(facts)) is not None), None) or _unfinished(facts)
    return replace(found, sentence=found.sentence + _longer(facts))


def _longer(facts: Facts) -> str:
    if not far_longer(len(facts.rounds), facts.forerunners):
        return ""
    usual = statistics.median(facts.forerunners)
    return f" (round {len(facts.rounds)}, where {len(facts.forerunners)} campaigns before it took {usual:g})"


def _failing(facts: Facts) -> Diagnosis | None:
    """A strategy did not run to its end, for a reason of its own, in two of the last K rounds and two more."""
    failures = [each for each in facts.failures if each.own]
    recent = {each.round for each in facts.rounds[-facts.k - BEYOND_K :]}
    often = Counter(
        strategy for strategy, _ in {(each.strategy, each.round) for each in failures if each.round in recent}
    )
    bad = [name for name, times in often.items() if times >= OFTEN]
    if not bad:
        return None
    worst = min(bad, key=lambda name: (-often[name], name))
    mine = [each for each in failures if each.strategy == worst]
    rounds = len({each.round for each in mine})
    return Diagnosis(
        Cause.FAILING,
        f"{worst} was not run in {rounds} of {count(len(facts.rounds), 'round')}{_at(facts, mine)}, "
        f"the last time because of: {_short(mine[-1].why)}; a round without it is never quiet",
        f"mend {worst} or take it out of the sweep, and start another campaign",
    )


def _at(facts: Facts, mine: Sequence[Failure]) -> str:
    """Return the angles at which a strategy fails, where it has others at which it does not."""
    angles = {each.angle for each in mine if each.angle is not None}
    others = {angle for strategy, angle in facts.used if strategy == mine[0].strategy} - angles
    if not angles or not others:
        return ""
    return f", each time at its angle{'s' if len(angles) > 1 else ''} {_named(sorted(angles))}"


def _churn(facts: Facts) -> Diagnosis | None:
    """Fixes bring new findings, or the same findings are fixed and come back."""
    late = {each.round for each in facts.late}
    churned = [(round, label) for round, label in facts.churn if round in late]
    lever = "decide what is wanted there instead of fixing it again"
    if churned or facts.reason == "churn":
        names = _named([label for _, label in churned if label])
        rounds = sorted({round for round, _ in churned} or {facts.rounds[-1].round})
        what = f"something new ({names})" if names else "something new"
        return Diagnosis(
            Cause.CHURN,
            f"{what} turned up at the scope of an earlier fix in {count(len(rounds), 'round')}, "
            f"the last time in round {rounds[-1]}: fixes bring findings",
            lever,
        )
    back = [(times, label) for label, times in facts.reopened if times >= OFTEN]
    if not back:
        return None
    named = [(-times, label) for times, label in back if label is not None]
    example = f", {min(named)[1]} {-min(named)[0]} times" if named else ""
    return Diagnosis(
        Cause.CHURN, f"{count(len(back), 'finding')} fixed before came back more than once{example}", lever
    )


def _rephrased(facts: Facts) -> Diagnosis | None:
    """Most of what is fresh late is what was known, in other words."""
    late = _late_fresh(facts)[:COMPARED]
    pairs = list(doubles(facts.rule, [*facts.known, *facts.fresh], late))
    if len(pairs) < OFTEN or len(pairs) <= MOST * len(late):
        return None
    varied = Counter(field for _, _, fields in pairs for field in fields)
    field = min(varied, key=lambda each: (-varied[each], each))
    shown = ((new, old) for new, old, fields in pairs if field in fields and not (new.rejected or old.rejected))
    example = next((f", such as {new.label!r} after {old.label!r}" for new, old in shown), "")
    return Diagnosis(
        Cause.REPHRASED,
        f"{len(pairs)} of {count(len(late), 'finding')} fresh in {_span(facts.late)} are near doubles of earlier "
        f"ones that differ in {facts.fields[field]}{example}",
        f"take {facts.fields[field]} out of the fingerprint, or have it written in one way",
    )


def _uncovered(facts: Facts) -> Diagnosis | None:
    """A ceiling came before every angle was used: whatever those so far brought, nobody looked from the others."""
    if facts.rule is Rule.CLEAN or facts.reason not in CEILINGS or not facts.unused:
        return None
    return _unfinished(facts)


def _false_positives(facts: Facts) -> Diagnosis | None:
    """Most of what is fresh late is rejected; under the clean rule what is rejected holds nothing up."""
    rejected = _late_rejected(facts)
    if not rejected:
        return None
    by = Counter(name for each in rejected for name in each.strategies)
    told = f"{len(rejected)} of {count(len(_late_fresh(facts)), 'finding')} fresh in {_span(facts.late)} were rejected"
    listed = f"drysweep findings list {facts.name} --rejected names them"
    if not by:
        return Diagnosis(Cause.FALSE_POSITIVES, told, f"tighten the strategies that report them; {listed}")
    most = min(by, key=lambda name: (-by[name], name))
    return Diagnosis(
        Cause.FALSE_POSITIVES,
        f"{told}, {by[most]} of them reported by {most}",
        f"tighten {most}, so that it skips them; {listed}",
    )


def _late_rejected(facts: Facts) -> list[Finding]:
    """Return what was fresh late and rejected, where that is most of it; nothing where it holds nothing up."""
    late = _late_fresh(facts)
    rejected = [each for each in late if each.rejected]
    enough = len(rejected) >= OFTEN and len(rejected) > MOST * len(late)
    return rejected if enough and facts.rule is not Rule.CLEAN else []


def _judge_silent(facts: Facts) -> Diagnosis | None:
    """Most of what was seen is undecided because the judge gave no answer on it."""
    if facts.silent < OFTEN or facts.silent <= MOST * facts.seen:
        return None
    return Diagnosis(
        Cause.JUDGE_SILENT,
        f"the judge gave no answer on {facts.silent} of the {count(facts.seen, 'finding')} seen, which leaves them "
        "undecided",
        "mend the judge, and start another campaign",
    )


def _blocking(facts: Facts) -> Diagnosis | None:
    """Under the clean rule: what blocks is raised round after round and nobody settles it."""
    if facts.rule is not Rule.CLEAN or not facts.raised:
        return None
    raised = sorted(facts.raised, key=lambda each: (-each[1], each[0]))
    first, rounds = raised[0]
    return Diagnosis(
        Cause.BLOCKING,
        f"{count(len(raised), 'unsettled blocking finding')} raised in round {facts.rounds[-1].round}: "
        f"{_named([label for label, _ in raised])}; {first} in {count(rounds, 'round')} so far",
        "fix what is right, and contest with evidence or accept as a risk what is not to be fixed",
    )


def _unfinished(facts: Facts) -> Diagnosis:
    """Nothing is wrong with the search: it is not done."""
    return Diagnosis(Cause.UNFINISHED, _not_done(facts), _go_on(facts))


def _not_done(facts: Facts) -> str:
    last = facts.rounds[-1]
    if facts.rule is Rule.DRY and last.fresh + last.reopened:
        told = [f"{last.fresh} fresh and {last.reopened} reopened in round {last.round}"]
        before = facts.rounds[-FALLING_ROUNDS:-1]
        earlier = ", ".join(str(each.fresh) for each in before)
        told += [f"after {earlier} fresh in the {'rounds' if len(before) > 1 else 'round'} before"] if before else []
    else:
        # More than it takes where angles are left, which is told next.
        few = f"{facts.quiet} of the {count(facts.k, 'round')} that it takes"
        told = [f"it was quiet for {few if facts.quiet < facts.k else count(facts.quiet, 'round')}"]
    if facts.unused:
        told.append(f"{facts.unused} of {count(facts.angles or 0, 'angle')} not used yet")
    told += _brought(facts)
    if facts.unused and (rejected := _late_rejected(facts)):
        told.append(f"{len(rejected)} of those fresh in {_span(facts.late)} rejected")
    return "the search is not finished: " + ", ".join(told)


def _brought(facts: Facts) -> list[str]:
    """Return who brings most of what is fresh late: as few strategies as bring more than half; not the only one."""
    late = _late_fresh(facts)
    by = Counter(name for each in late for name in each.strategies)
    if len(late) < OFTEN or not by or len({strategy for strategy, _ in facts.used}) == 1:
        return []
    names: list[str] = []
    brought: set[int] = set()
    for name in sorted(by, key=lambda name: (-by[name], name)):
        names.append(name)
        brought |= {index for index, each in enumerate(late) if name in each.strategies}
        if len(brought) > MOST * len(late):
            break
    who = _named(names) if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return [f"{len(brought)} of {count(len(late), 'finding')} fresh in {_span(facts.late)} brought by {who}"]


def _go_on(facts: Facts) -> str:
    """Return how to go on: the one way that is told everywhere, and why so many rounds."""
    ahead = facts.outlook
    if facts.resume is not None:
        return f"`{facts.resume}`: {ahead.basis}"
    if facts.outcome in (Outcome.RUNNING, Outcome.NEEDS_DECISION) and facts.reason not in CEILINGS:
        return f"let it run on: {ahead.basis}"
    if facts.reason in ("rounds", "calls"):
        return f"start another campaign{_wider(facts)}: {ahead.basis}"
    wider = f" with a wider ceiling on {facts.reason}" if facts.reason in CEILINGS else ""
    return f"start another campaign{wider}: {ahead.basis}"


def _wider(facts: Facts) -> str:
    """Return the ceilings that another campaign needs to be wider than this one's were; none that would be narrower."""
    wanted = (("rounds", facts.outlook.to_rounds), ("calls", facts.outlook.to_calls))
    had = {name: getattr(facts.ceilings, name) for name, _ in wanted}
    wider = [f" --{name} {most}" for name, most in wanted if had[name] is not None and most > had[name]]
    return f" with{''.join(wider)}" if wider else ""


def _late_fresh(facts: Facts) -> list[Finding]:
    """Return what was fresh in the late rounds and kept them from being quiet."""
    late = {each.round for each in facts.late}
    return [each for each in facts.fresh if each.round in late and (facts.rule is Rule.DRY or each.blocks)]


def _span(rounds: Sequence[Round]) -> str:
    first, last = rounds[0].round, rounds[-1].round
    return f"round {last}" if first == last else f"rounds {first} to {last}"


def _short(text: str) -> str:
    """Return the first line of a reason, cut where it would drown the sentence."""
    line = (text.strip().splitlines() or ["no reason given"])[0].rstrip(". ")
    return cut(line, REASON_LENGTH)


def _named(labels: Sequence[str]) -> str:
    """Return the first few names, and how many there are beside them."""
    distinct = list(dict.fromkeys(labels))
    more = f" and {len(distinct) - NAMED} more" if len(distinct) > NAMED else ""
    return ", ".join(distinct[:NAMED]) + more
