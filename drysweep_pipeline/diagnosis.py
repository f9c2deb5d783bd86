"""Why a campaign does not go quiet: one cause, in a sentence with its numbers, and the one lever that helps.

A pure function over values: no clock, no database. It speaks where a ceiling, a failing strategy or churn ended or
holds a campaign, and where one has run far longer than its forerunners; of one that converged it says nothing. Causes
are looked for in the order of ``Cause``, the first that its thresholds let through is told. How the facts are gathered
is ``reports.why``'s business.
"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise

from drysweep_pipeline.convergence import CEILINGS
from drysweep_pipeline.doubles import Finding, doubles
from drysweep_pipeline.values import Outcome, Rule

FORERUNNERS = 2
"""So many converged campaigns must have come before, or nobody can tell what is long."""
TIMES_LONGER = 2.0
ROUNDS_LONGER = 5
"""Far longer is more than twice the median and five rounds more: K rounds of every campaign are quiet ones, so that a
short campaign doubles when one finding comes late, and a long one that takes five more has not doubled."""
OFTEN = 2
"""Once is an accident, so a failing strategy, a finding that comes back and a kind of fresh finding need two."""
MOST = 0.5
"""A cause that more than half of the late fresh findings share is what keeps the search going."""
COMPARED = 500
"""So many late findings are looked at for doubles, the first ones."""
FALLING_ROUNDS = 3
FALLING_RATIO = 0.8
"""An estimate needs this many rounds, each with less than the one before, falling at least this fast."""
NAMED = 3
REASON_LENGTH = 160
"""How many findings are named, and how many characters of a reason are told."""
_WIDENED = ("rounds", "calls")
_REASONS = (*CEILINGS, "churn", "not_run")


class Cause(StrEnum):
    """Why a search does not go quiet, in the order in which causes are looked for."""

    FAILING = "failing"
    CHURN = "churn"
    REPHRASED = "rephrased"
    FALSE_POSITIVES = "false_positives"
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
class Round:
    """What a decided round brought."""

    round: int
    fresh: int
    reopened: int
    blocking: int
    complete: bool

    def spoilt(self, rule: Rule) -> bool:
        """Tell whether only a strategy that did not run kept the round from being quiet."""
        brought = self.blocking if rule is Rule.CLEAN else self.fresh + self.reopened
        return not self.complete and brought == 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A strategy that was not run in a round, and why."""

    round: int
    strategy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a diagnosis looks at; ``fields`` name the fingerprint's fields, in the order of ``Finding.values``.

    ``fresh`` are the campaign's own findings by round, ``known`` those from before it. ``reopened`` counts how often
    each finding that came back in the late rounds came back in the sweep, ``raised`` in how many rounds each unsettled
    blocking finding of the last round was raised. ``angles`` are those declared and ``unused`` those not used yet,
    ``turns`` the rounds that using them takes; None where nobody can tell.
    """

    name: str
    outcome: Outcome
    reason: str | None
    rule: Rule
    k: int
    quiet: int
    calls: int
    rounds: tuple[Round, ...]
    forerunners: tuple[int, ...] = ()
    failures: tuple[Failure, ...] = ()
    churn: tuple[tuple[int, str | None], ...] = ()
    reopened: tuple[tuple[str, int], ...] = ()
    fields: tuple[str, ...] = ()
    fresh: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    raised: tuple[tuple[str, int], ...] = ()
    angles: int | None = None
    unused: int | None = None
    turns: int = 0
    option: str = ""

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
    causes = (_failing, _churn, _rephrased, _false_positives, _blocking)
    found = next((told for cause in causes if (told := cause(facts)) is not None), None) or _unfinished(facts)
    return replace(found, sentence=found.sentence + _longer(facts))


def _longer(facts: Facts) -> str:
    if not far_longer(len(facts.rounds), facts.forerunners):
        return ""
    usual = statistics.median(facts.forerunners)
    return f" (round {len(facts.rounds)}, where {len(facts.forerunners)} campaigns before it took {usual:g})"


def _failing(facts: Facts) -> Diagnosis | None:
    """A strategy fails in most late rounds, or spoils two that were quiet otherwise, or ended the campaign."""
    late = {each.round: each for each in facts.late}
    # A ceiling that leaves a strategy out is not that strategy's failure.
    failures = [each for each in facts.failures if not each.reason.startswith("ceiling:")]
    often = Counter(each.strategy for each in failures if each.round in late)
    spoilt = Counter(each.strategy for each in failures if each.round in late and late[each.round].spoilt(facts.rule))
    bad = [
        name
        for name, times in often.items()
        if times >= OFTEN and (times >= len(late) / 2 or spoilt[name] >= OFTEN or facts.reason == "not_run")
    ]
    if not bad:
        return None
    worst = min(bad, key=lambda name: (-often[name], name))
    mine = [each for each in failures if each.strategy == worst]
    return Diagnosis(
        Cause.FAILING,
        f"{worst} was not run in {len(mine)} of {_count(len(facts.rounds), 'round')}, the last time because of: "
        f"{_short(mine[-1].reason)}; a round without it is never quiet",
        f"mend {worst} or take it out of the sweep, and start another campaign",
    )


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
            f"{what} turned up at the scope of an earlier fix in {_count(len(rounds), 'round')}, "
            f"the last time in round {rounds[-1]}: fixes bring findings",
            lever,
        )
    back = sorted((each for each in facts.reopened if each[1] >= OFTEN), key=lambda each: (-each[1], each[0]))
    if not back:
        return None
    first, times = back[0]
    return Diagnosis(
        Cause.CHURN,
        f"{_count(len(back), 'finding')} fixed before came back more than once, {first} {times} times",
        lever,
    )


def _rephrased(facts: Facts) -> Diagnosis | None:
    """Most of what is fresh late is what was known, in other words."""
    late = _late_fresh(facts)[:COMPARED]
    pairs = list(doubles(facts.rule, [*facts.known, *facts.fresh], late))
    if len(pairs) < OFTEN or len(pairs) <= MOST * len(late):
        return None
    varied = Counter(field for _, _, fields in pairs for field in fields)
    field = min(varied, key=lambda each: (-varied[each], each))
    new, old, _ = next(pair for pair in pairs if field in pair[2])
    return Diagnosis(
        Cause.REPHRASED,
        f"{len(pairs)} of {_count(len(late), 'finding')} fresh in {_span(facts.late)} are near doubles of earlier "
        f"ones that differ in {facts.fields[field]}, such as {new.label!r} after {old.label!r}",
        f"take {facts.fields[field]} out of the fingerprint, or have it written in one way",
    )


def _false_positives(facts: Facts) -> Diagnosis | None:
    """Most of what is fresh late is rejected; under the clean rule what is rejected holds nothing up."""
    late = _late_fresh(facts)
    rejected = [each for each in late if each.rejected]
    if facts.rule is Rule.CLEAN or len(rejected) < OFTEN or len(rejected) <= MOST * len(late):
        return None
    by = Counter(name for each in rejected for name in each.strategies)
    told = f"{len(rejected)} of {_count(len(late), 'finding')} fresh in {_span(facts.late)} were rejected"
    if not by:
        return Diagnosis(Cause.FALSE_POSITIVES, told, "tighten the strategies that report them")
    most = min(by, key=lambda name: (-by[name], name))
    return Diagnosis(
        Cause.FALSE_POSITIVES,
        f"{told}, {by[most]} of them reported by {most}",
        f"tighten {most}, so that it skips them",
    )


def _blocking(facts: Facts) -> Diagnosis | None:
    """Under the clean rule: what blocks is raised round after round and nobody settles it."""
    if facts.rule is not Rule.CLEAN or not facts.raised:
        return None
    raised = sorted(facts.raised, key=lambda each: (-each[1], each[0]))
    first, rounds = raised[0]
    return Diagnosis(
        Cause.BLOCKING,
        f"{_count(len(raised), 'unsettled blocking finding')} raised in round {facts.rounds[-1].round}: "
        f"{_named([label for label, _ in raised])}; {first} in {_count(rounds, 'round')} so far",
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
        told = [f"it was quiet for {facts.quiet} of the {_count(facts.k, 'round')} that it takes"]
    if facts.unused:
        told.append(f"{facts.unused} of {_count(facts.angles or 0, 'angle')} not used yet")
    return "the search is not finished: " + ", ".join(told)


def _go_on(facts: Facts) -> str:
    """Return how to go on: as many rounds as the numbers support, or wider without an estimate."""
    estimate = _estimate(facts)
    least = max(1, facts.k - facts.quiet, facts.turns)
    if estimate is not None:
        rounds = max(estimate, least)
        return f"{_widened(facts, rounds)}: about {_count(rounds, 'more round')} if it goes on as in the last ones"
    if facts.rule is Rule.CLEAN or facts.rounds[-1].fresh == 0:
        return f"{_widened(facts, least)}: it takes {_count(least, 'more round')} at least"
    few = len(facts.rounds) < FALLING_ROUNDS
    why = "there are too few rounds to tell" if few else "the numbers do not fall steadily, which leaves open"
    return f"{_widened(facts, max(least, len(facts.rounds)))}: {why} how many it takes"


def _widened(facts: Facts, rounds: int) -> str:
    """Return what lets so many more rounds run."""
    to_rounds = len(facts.rounds) + rounds
    calls = facts.calls + rounds * math.ceil(facts.calls / len(facts.rounds))
    if facts.outcome is Outcome.STOPPED:
        return f"`drysweep resume {facts.name}{facts.option}`"
    if facts.reason not in CEILINGS:
        return "let it run on"
    if facts.reason not in _WIDENED:
        return f"start another campaign with a wider ceiling on {facts.reason}"
    wider = f"rounds {to_rounds}" if facts.reason == "rounds" else f"calls {calls}"
    if facts.outcome in (Outcome.ACCEPTED, Outcome.RETURNED):
        return f"start another campaign with --{wider}"
    return f"`drysweep resume {facts.name} --{wider}{facts.option}`"


def _estimate(facts: Facts) -> int | None:
    """Return after how many more rounds the search would converge, or None where the numbers support no estimate.

    What was fresh must have fallen in each of the last rounds, all of them complete; it is taken to go on falling at
    the same ratio until less than half a finding is to be expected, and to stay quiet from there.
    """
    last = facts.rounds[-FALLING_ROUNDS:]
    fresh = [each.fresh for each in last]
    falls = all(one > other for one, other in pairwise(fresh))
    if facts.rule is not Rule.DRY or len(last) < FALLING_ROUNDS or not falls or fresh[-1] == 0:
        return None
    ratio = (fresh[-1] / fresh[0]) ** (1 / (len(fresh) - 1))
    if ratio > FALLING_RATIO or not all(each.complete for each in last):
        return None
    return math.ceil(math.log(0.5 / fresh[-1]) / math.log(ratio)) + facts.k - 1


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
    return line if len(line) <= REASON_LENGTH else line[: REASON_LENGTH - 1] + "…"


def _named(labels: Sequence[str]) -> str:
    """Return the first few names, and how many there are beside them."""
    distinct = list(dict.fromkeys(labels))
    more = f" and {len(distinct) - NAMED} more" if len(distinct) > NAMED else ""
    return ", ".join(distinct[:NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
