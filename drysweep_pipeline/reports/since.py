"""What changed since the sweep's previous campaign: what is fresh, still there, gone or back, and what that is worth.

Counted from the published history by its macro ``campaign_diff``; rejected findings do not count. What was not seen
again is gone only where it is recorded as fixed, else not observed, which is no state of a finding.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from drysweep_pipeline.declaration.model import Sweep
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.beside import declared
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.values import Outcome, Severity
from drysweep_pipeline.wording import count, cut

NAMED = 20
"""How many of what is fresh, reopened, open again or reported as worse is named; the others are counted."""
NONE_BEFORE = "no campaign before it"
CHANGES = ("fresh", "still_there", "gone", "reopened", "not_observed")
OPEN_AGAIN = {
    "expired": "expired risk",
    "accepted_risk": "withdrawn risk",
    "contested": "withdrawn contest",
    "declined": "withdrawn decline",
    "rejected": "overruled rejection",
    "fixed": "withdrawn fix",
}
"""What is still there and was settled, rejected or fixed before, by what ended since."""
_NEW = ("fresh", "reopened")
_ALWAYS_TOLD = ("fresh", "still_there")
_AT_A_GLANCE = 3
_LONGEST = 100
# Who is told, who owns it and when it runs have no part in what is found.
_BESIDE = ("name", "description", "owners", "schedule", "notify", "redaction", "strategies")
_GOES_ON = (Outcome.RUNNING, Outcome.NEEDS_DECISION)


def since(past: Past, home: Home, head: Row) -> dict[str, Any] | None:
    """Return the difference to the previous campaign as JSON has it; None where there is none before this one.

    ``head`` is the campaign's own row. ``days`` is how far apart the two ``as_of`` lie.
    """
    previous = past.previous()
    if previous is None:
        return None
    counted = past.changes(previous["campaign"])
    named = past.changed(previous["campaign"], _NEW, NAMED)
    counts, again = _by(counted, "change"), _by([row for row in counted if row["open_again"]], "open_again")
    news = sum(row["findings"] for row in counted if _is_news(row))
    told = {
        "campaign": previous["campaign"],
        "as_of": previous["as_of"],
        "days": _apart(previous["as_of"], head["as_of"]) / timedelta(days=1),
        **{name: previous[name] for name in ("outcome", "reason", "k", "rounds")},
        **{change: counts.get(change, 0) for change in CHANGES},
        "looked_for": sum(row["looked_for"] for row in _of(counted, "not_observed")),
        "open_again": again,
        "raised": _by([row for row in _of(counted, "still_there") if row["raised"]], "severity"),
        "by_severity": {change: _by(_of(counted, change), "severity") for change in CHANGES if counts.get(change)},
        "by_owner": {change: _by(_of(counted, change), "owner") for change in CHANGES if counts.get(change)},
        "named": named,
        "unnamed": news - len(named),
        "rejected_again": past.rejected_again(previous["campaign"]),
        "caveats": list(_caveats(past, home, previous, head, counts)),
    }
    return {**told, "sentence": sentence(told, head)}


def sentence(told: Mapping[str, Any], head: Row) -> str:
    """Return the difference in one line: the campaign before, how long ago, its outcome, and the counts."""
    reason = f" ({told['reason']})" if told["reason"] else ""
    apart = _said(_apart(told["as_of"], head["as_of"]))
    worth_telling = [change for change in CHANGES if told[change] or change in _ALWAYS_TOLD]
    parts = [f"{told[change]} {change.replace('_', ' ')}{_whose(told, change)}" for change in worth_telling]
    counted = ", ".join(parts) if head["rounds"] else "no round is decided yet"
    return safe_text(f"since {told['campaign']} ({apart}, {told['outcome']}{reason}): {counted}")


def lines(told: Mapping[str, Any] | None) -> list[str]:
    """Return the difference as a terminal shows it: a line, one that names the worst, and one of what limits it."""
    if told is None:
        return [f"since: {NONE_BEFORE}"]
    more = max(0, len(told["named"]) - _AT_A_GLANCE) + told["unnamed"]
    worst: dict[str, list[str]] = {}
    for row in told["named"][:_AT_A_GLANCE]:
        worst.setdefault(what_became(row), []).append(_named(row))
    parts = [f"{change}: {', '.join(names)}" for change, names in worst.items()]
    shown = "; ".join([*parts, *([f"and {more} more"] if more else [])])
    return [
        told["sentence"],
        *([f"  {shown}"] if shown else []),
        *([f"  {caveats}"] if (caveats := limits(told)) else []),
    ]


def limits(told: Mapping[str, Any]) -> str:
    """Return what keeps the difference from meaning more, as sentences; empty where nothing does."""
    # An id stays as it is written; every other caveat begins with a small letter.
    said = (text if text.startswith(told["campaign"]) else text[:1].upper() + text[1:] for text in told["caveats"])
    return " ".join(f"{text}." for text in said)


def name_of(row: Row) -> str:
    """Return how a finding that is new is named: what became of it, how bad it is, which, and whose."""
    return f"{what_became(row)}: {_named(row)}"


def what_became(row: Row) -> str:
    """Return what a finding that is named is: fresh, reopened, open again with what ended since, or only worse now."""
    said = [f"open again, {OPEN_AGAIN[row['open_again']]}"] if row["open_again"] else []
    said += [row["change"]] if row["change"] in _NEW else []
    said += [f"raised from {row['raised_from']}"] if row["raised_from"] else []
    return ", ".join(said)


def _is_news(row: Row) -> bool:
    return row["change"] in _NEW or bool(row["open_again"] or row["raised"])


def _named(row: Row) -> str:
    owner = f" ({cut(row['owner'], _LONGEST)})" if row["owner"] else ""
    return safe_text(f"{row['severity'] or 'of unknown severity'} {cut(row['label'], _LONGEST)}{owner}")


def _whose(told: Mapping[str, Any], change: str) -> str:
    """Return in parentheses how bad what is fresh or back is and whose, or how much was looked for or has changed."""
    severities = told["by_severity"].get(change)
    if change == "still_there" and (told["open_again"] or told["raised"]):
        again = ", ".join(count(number, OPEN_AGAIN[was]) for was, number in told["open_again"].items())
        raised = ", ".join(f"{number} to {severity}" for severity, number in told["raised"].items())
        parts = (("open again", again), ("raised", raised))
        return f" ({'; '.join(f'{name}: {said}' for name, said in parts if said)})"
    if change == "not_observed" and told["looked_for"]:
        return f" ({told['looked_for']} looked for)"
    if change not in ("fresh", "reopened") or not severities:
        return ""
    worst = next(iter(severities))
    first, *others = (f"{number} {severity}" for severity, number in severities.items())
    return f" ({', '.join([first + _owners(told['named'], change, worst, severities[worst]), *others])})"


def _owners(named: Sequence[Row], change: str, severity: str, number: int) -> str:
    """Return whose so many findings are, after a colon; empty where no owner is known."""
    rows = [row for row in named if (row["change"], row["severity"]) == (change, severity)]
    owners = list(dict.fromkeys(cut(row["owner"], _LONGEST) if row["owner"] else "no owner" for row in rows))
    if not owners or owners == ["no owner"]:
        return ""
    more = len(owners) > _AT_A_GLANCE or number > len(rows)
    return f": {', '.join(owners[:_AT_A_GLANCE])}{' and others' if more else ''}"


def _caveats(past: Past, home: Home, previous: Row, head: Row, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield what the difference is not worth, a clause each; ``counts`` are those of each change."""
    before, now = Outcome(previous["outcome"]), Outcome(head["outcome"])
    if before in _GOES_ON:
        yield f"{previous['campaign']} has not ended: it may yet find what is fresh here"
    elif before is not Outcome.CONVERGED:
        yield f"{previous['campaign']} was cut short ({before}): what is fresh here may have been there then"
    if now in _GOES_ON:
        yield "this campaign has not ended: counts are a lower bound, and what was not observed may still be"
    elif now is not Outcome.CONVERGED:
        yield f"this campaign was cut short ({now}): counts are a lower bound, and what was not observed proves nothing"
    if head["looked_again"]:
        yield f"only {', '.join(head['strategies'])} looked, at a stored snapshot"
    elif differs := _declared_otherwise(past, home, previous, head):
        yield f"the sweep is declared otherwise than then: {differs}"
    if rejected := past.rejected_fresh():
        were = "one was" if rejected == 1 else f"{rejected} were"
        yield f"what is rejected is left out, of which {were} fresh in a round"
    if head["snapshot"] and head["snapshot"] == previous["snapshot"]:
        missed = ", so what is fresh was missed then" if counts.get("fresh") else ""
        there = ", and what was seen then and not now is still there" if counts.get("not_observed") else ""
        yield f"the material is the same as then{missed}{there}"


def _declared_otherwise(past: Past, home: Home, previous: Row, head: Row) -> str:
    """Return in what the two declarations differ that bears on what is found, as far as anybody can tell."""
    if previous["declaration"] == head["declaration"]:
        return ""
    then, now = (declared(home, past.sweep, name) for name in (previous["campaign"], past.campaign))
    if then is None or now is None:
        return "the one of then is gone, and its digest is another"
    keys = [name for name in Sweep.model_fields if name not in _BESIDE and getattr(then, name) != getattr(now, name)]
    return "; ".join([*_strategies(then, now), *([", ".join(keys)] if keys else [])])


def _strategies(then: Sweep, now: Sweep) -> Iterator[str]:
    old, new = ({strategy.name: strategy for strategy in each.strategies} for each in (then, now))
    for what, names in (
        ("new strategies", [name for name in new if name not in old]),
        ("strategies left out", [name for name in old if name not in new]),
        ("strategies changed", [name for name in new if name in old and old[name] != new[name]]),
    ):
        if names:
            yield f"{what} ({', '.join(names)})"


def _of(counted: Iterable[Row], change: str) -> list[Row]:
    return [row for row in counted if row["change"] == change]


def _by(counted: Sequence[Row], name: str) -> dict[str, int]:
    """Return how many there are of each, the worst severity or the most first; what has none is under ``""``."""
    totals: dict[str, int] = {}
    for row in counted:
        totals[row[name] or ""] = totals.get(row[name] or "", 0) + row["findings"]
    ranks = {severity.value: severity.rank for severity in Severity} if name == "severity" else {}
    return dict(sorted(totals.items(), key=lambda each: (ranks.get(each[0], len(ranks)), -each[1], each[0])))


def _apart(then: str, now: str) -> timedelta:
    return datetime.fromisoformat(now) - datetime.fromisoformat(then)


def _said(apart: timedelta) -> str:
    """Return a span in the largest unit that it is at least one of."""
    for unit, length in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if apart >= length:
            return count(apart // length, unit)
    return "the same instant" if not apart else count(int(apart.total_seconds()), "second")
