"""What a notice says: the difference to last time first, then the verdict, why, what is new and bad, and what to do.

``lines`` are for people, the rest for programs. They go by a name that no chat takes for a message of its own: what
others wrote in them would call people there. It is cut to a length, and rejected findings are not told.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.notifications.record import Notice
from drysweep_pipeline.reports.failures import failures
from drysweep_pipeline.reports.since import lines
from drysweep_pipeline.reports.steps import Step, why_beside
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.wording import cut

SCHEMA_VERSION = 1
NAMED = 20
"""How many new blockers a notice names; the others are counted."""
FAILED = 3
"""How many ways of failing a notice tells; ``status`` has all of them."""
_LONGEST = 300
_COPIED = ("sweep", "campaign", "as_of", "outcome", "reason", "rule", "k", "rounds", "quiet", "verdict")
_COUNTED = ("seen", "confirmed", "rejected", "undecided", "unjudged", "new", "since", "waits_for", "why", "report")


def message(
    notice: Notice, told: Mapping[str, Any], blockers: Sequence[Row], steps: Sequence[Step] = ()
) -> dict[str, Any]:
    """Return a notice of a campaign as JSON has it.

    ``told`` is its summary, ``blockers`` are the new ones, all, and ``steps`` what may be done where no answer is due.
    """
    failed = failures(told)
    named = [_short(row) for row in blockers[:NAMED]]
    body = {
        "schema_version": SCHEMA_VERSION,
        "id": notice.id,
        "events": list(notice.events),
        **{name: told[name] for name in (*_COPIED, *_COUNTED)},
        "new_blockers": named,
        "unnamed_blockers": len(blockers) - len(named),
        "failures": [cut(each, _LONGEST) for each in failed[:FAILED]],
        "untold_failures": max(0, len(failed) - FAILED),
        "next": [{"text": f"{step.text}{step.after}", "command": step.command} for step in steps],
    }
    return {**body, "lines": list(_lines(body))}


def blocker(row: Mapping[str, Any]) -> str:
    """Return how a new blocker is named in a line: which, where, and whose."""
    where = f"{row['path']}:{row['line']}" if row["path"] and row["line"] is not None else row["path"]
    owner = row["owner"] or "no owner"
    return safe_text(f"{row['label']} ({owner})" + (f" at {where}" if where else ""))


def reasons(body: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a campaign stands where it stands: what did not run, and what keeps it from going quiet."""
    yield from (safe_text(each) for each in body["failures"])
    if body["untold_failures"]:
        yield f"and {body['untold_failures']} more that did not run"
    if why := body["why"]:
        yield safe_text(f"why it does not go quiet: {why_beside(why, _commands(body))}")


def _commands(body: Mapping[str, Any]) -> list[str]:
    """Return the commands that stand below: the answers that are waited for, and what may be done next."""
    answers = body["waits_for"]["commands"] if body["waits_for"] else []
    return [*answers, *(step["command"] for step in body["next"] if step["command"])]


def _lines(body: Mapping[str, Any]) -> Iterator[str]:
    yield from (line.strip() for line in lines(body["since"]))
    yield f"{body['sweep']}/{body['campaign']}: {body['verdict']}"
    yield from reasons(body)
    if body["new_blockers"]:
        yield f"new blockers: {len(body['new_blockers']) + body['unnamed_blockers']}"
        yield from (f"- {blocker(row)}" for row in body["new_blockers"])
    if body["unnamed_blockers"]:
        yield f"- and {body['unnamed_blockers']} more"
    if waiting := body["waits_for"]:
        yield safe_text(f"{waiting['sentence']}:")
        yield from (f"  {safe_text(command)}" for command in waiting["commands"])
    for step in body["next"]:
        yield safe_text(f"{step['text']}{':' if step['command'] else '.'}")
        if step["command"]:
            yield f"  {safe_text(step['command'])}"
    if body["report"]:
        yield safe_text(f"report: {body['report']}")


def _short(row: Row) -> Row:
    return {name: cut(value, _LONGEST) if isinstance(value, str) else value for name, value in row.items()}
