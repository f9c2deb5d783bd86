"""The report for a person: why the search stopped first, then what it found, and what to do next."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import looked_again
from drysweep_pipeline.reports.meaning import MEANS, UNSEARCHED, unread_files
from drysweep_pipeline.reports.shown import called
from drysweep_pipeline.reports.since import NONE_BEFORE, limits, name_of
from drysweep_pipeline.reports.steps import Step
from drysweep_pipeline.reports.text import at_angle, cell, code, prose
from drysweep_pipeline.reports.waiting import Waiting
from drysweep_pipeline.values import Outcome
from drysweep_pipeline.wording import count

SHOWN = 50
UNREAD = 10


def render(said: Contents) -> str:
    """Return the report of a campaign as Markdown; rejected findings are counted, and listed only where asked for."""
    told = said.told
    parts = (
        _top(said),
        _warned(said.merging),
        _denied(said.denied),
        _of_nothing(said.looked_at_nothing),
        _rounds(said.rounds, told["not_run"]),
        _found(said),
        _strategies(said.strategies),
        _unsearched(told, said.unread),
        _meaning(told, said.steps, said.waiting),
    )
    return "\n".join(line for part in parts for line in part)


def _top(said: Contents) -> Iterator[str]:
    told = said.told
    yield f"# {cell(told['sweep'])}: {cell(told['campaign'])}"
    yield from ("", f"**{cell(told['verdict'], limit=2000)}**", "")
    yield from _since(told["since"])
    if told["waits_for"]:
        yield from (f"**What it waits for:** {cell(told['waits_for']['sentence'], limit=2000)}.", "")
    for notice in told["notifications"]:
        if notice["status"] == "failed":
            yield from (f"**Not told:** {cell(notice['to'])}: {cell(notice['why'], limit=500)}.", "")
    if told["why"]:
        why = told["why"]
        yield from (f"**Why it does not go quiet:** {cell(why['sentence'], limit=2000)}.", "")
        yield from (f"**What helps:** {prose(why['lever'], said.resume)}.", "")
    facts = (*_facts(told), *((("redaction", said.redaction),) if said.redaction else ()))
    facts = (*facts, ("verdicts and states as known at", said.known_at))
    yield from _table(("outcome", ""), ((name, cell(value)) for name, value in facts))


def _since(told: Mapping[str, Any] | None) -> Iterator[str]:
    if told is None:
        yield from (f"**Since last time:** {NONE_BEFORE}.", "")
        return
    yield from (f"**{cell(told['sentence'][:1].upper() + told['sentence'][1:], limit=2000)}.**", "")
    if told["caveats"]:
        yield from (cell(limits(told), limit=2000), "")
    yield from (f"- {cell(name_of(row), limit=500)}" for row in told["named"])
    if told["unnamed"]:
        yield f"- and {told['unnamed']} more that are fresh, back or worse"
    if told["named"]:
        yield ""


def _warned(merging: str | None) -> Iterator[str]:
    if merging:
        yield from (
            "",
            f"**Findings are merged:** {cell(merging, limit=2000)}. What was counted is fewer than what is there.",
        )


def _denied(said: str | None) -> Iterator[str]:
    if said:
        yield from (
            "",
            f"**May not have searched:** {cell(said, limit=2000)}. Being confined may be why, and what was not read "
            "was not searched: `reads` declares what else a strategy needs.",
        )


def _of_nothing(noted: str | None) -> Iterator[str]:
    if noted:
        yield from ("", f"**Looked at nothing,** as `allow_empty` declares: {cell(noted, limit=2000)}.")


def _facts(told: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    reason = f" ({told['reason']})" if told["reason"] else ""
    yield "outcome", f"{told['outcome']}{reason}"
    yield "as of", told["as_of"]
    if again := looked_again(told):
        yield "looked again", again.removeprefix("looked again ")
    yield "rule", f"{told['rule']}, K = {told['k']}"
    yield "rounds", told["rounds"]
    if past := told["past"]:
        yield "converged at round", past["converged_at"]
        yield f"missed by K = {told['k']}", f"{past['missed']} in {count(past['rounds'], 'round')} beyond it"
    yield "quiet when it converged" if told["past"] else "quiet at the end", told["quiet"]
    yield "of those, repeats of earlier angles", told["repeats"]
    for name in ("seen", "confirmed", "rejected", "undecided", "unjudged"):
        yield name, told[name]
    yield "seen by all campaigns together", told["ledger_seen"]
    yield "calls", told["calls"]


def _rounds(rounds: Sequence[Row], not_run: Sequence[Row]) -> Iterator[str]:
    yield from ("", "## Rounds", "")
    lost = {number: list(rows) for number, rows in groupby(not_run, key=lambda row: row["round"])}
    names = ("round", "fresh", "reopened", "quiet", "repeat", "every strategy ran", "not run")
    yield from _table(names, (_round(row, lost.get(row["round"], [])) for row in rounds))


def _round(row: Row, lost: Iterable[Row]) -> tuple[str, ...]:
    flags = ("yes" if row[name] else "no" for name in ("quiet", "repeat", "complete"))
    names = "; ".join(f"{one['strategy']}{at_angle(one)}: {one['reason']}" for one in lost)
    return (str(row["round"]), str(row["fresh"]), str(row["reopened"]), *flags, cell(names))


def _found(said: Contents) -> Iterator[str]:
    yield from ("", "## What was found", "")
    told, asked = said.told, said.asked
    if not said.findings:
        nothing = "Nothing." if asked.rejected else "Nothing that was not rejected."
        yield nothing if told["rounds"] else UNSEARCHED
    for severity, rows in groupby(said.findings, key=lambda row: row["severity"]):
        view = "all_findings" if asked.rejected else "findings"
        yield from _severity(severity, list(rows), told, said.option, view)
    if said.left_out:
        yield from ("", f"{count(said.left_out, 'rejected finding')} not listed here.")


def _severity(
    severity: str | None, rows: Sequence[Row], told: Mapping[str, Any], option: str, view: str
) -> Iterator[str]:
    yield from (f"### {severity or 'of unknown severity'}: {len(rows)}", "")
    names = ("finding", "status", "where", "strategies", "fp")
    yield from _table(names, (_finding(row) for row in rows[:SHOWN]))
    if len(rows) > SHOWN:
        of_it = f"severity = '{severity}'" if severity else "severity is null"
        sql = f"from {view} where sweep = '{told['sweep']}' and {of_it}"
        yield from ("", f'and {len(rows) - SHOWN} more: `drysweep sql{option} "{sql}"`')
    yield ""


def _finding(row: Row) -> tuple[str, ...]:
    where = f"{row['path']}:{row['line']}" if row["path"] and row["line"] is not None else row["path"]
    return (cell(called(row)), cell(row["status"]), cell(where), cell(", ".join(row["strategies"])), row["fp"][:8])


def _strategies(strategies: Sequence[Row]) -> Iterator[str]:
    yield from ("", "## What each strategy yielded", "")
    names = ("strategy", "found", "found by it alone", "rejected", "calls", "cost (USD)")
    columns = ("found", "unique_found", "rejected", "calls")
    watched = any(row["canaries_expected"] is not None for row in strategies)
    yield from _table(
        (*names, *(["canaries seen"] if watched else []), "isolation"),
        (
            (
                cell(row["strategy"]),
                *(str(row[name]) for name in columns),
                f"{row['cost_usd']:.2f}",
                *([_recall(row)] if watched else []),
                cell(row["isolation"] or "not recorded"),
            )
            for row in strategies
        ),
    )
    yield from _not_isolated(row["strategy"] for row in strategies if "none" in (row["isolation"] or "").split(", "))


def _not_isolated(names: Iterable[str]) -> Iterator[str]:
    if told := ", ".join(map(cell, names)):
        yield ""
        yield f"Not isolated: {told}. Nothing but its author kept such a strategy from what the others found."


def _recall(row: Row) -> str:
    """Return how many planted problems a strategy reported of those it was to; summed over its rounds."""
    return (
        "none expected" if row["canaries_expected"] is None else f"{row['canaries_seen']} of {row['canaries_expected']}"
    )


def _unsearched(told: Mapping[str, Any], unread: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield from ("", "## What was not searched", "")
    yield unread_files(told["not_searched"], told["rounds"])
    if unread:
        yield ""
        yield from (f"- {cell(file, limit=2000)}: {cell(reason, limit=2000)}" for file, reason in unread[:UNREAD])
        if len(unread) > UNREAD:
            yield f"- and {len(unread) - UNREAD} more"
    if told["not_run"]:
        yield ""
        who = cell(", ".join(sorted({row["strategy"] for row in told["not_run"]})), limit=300)
        yield f"Not run to its end: {who}, {count(len(told['not_run']), 'time')}, see Rounds."


def _meaning(told: Mapping[str, Any], steps: Sequence[Step], waiting: Waiting | None) -> Iterator[str]:
    outcome = Outcome(told["outcome"])
    yield from ("", "## What this means", "", MEANS[outcome], "", "## What to do next", "")
    for choice in waiting.choices if waiting else ():
        yield f"- {code(choice.command)} {choice.does}."
    yield from (f"- {_step(step)}." for step in steps)
    yield ""


def _step(step: Step) -> str:
    return f"{step.text}: {code(step.command)}{step.after}" if step.command else step.text


def _table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|" + " --- |" * len(names)
    yield from (f"| {' | '.join(row)} |" for row in rows)
