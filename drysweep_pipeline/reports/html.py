"""The report for a browser: one file that asks nothing of any other machine, and runs nothing but its own script.

What is shown is put together here and laid out in ``page/``. Text that others wrote never becomes markup: the
environment shows its hidden characters and escapes it, and only what this package made is passed on as markup.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drysweep_pipeline.instants import zulu
from drysweep_pipeline.reports.beyond import missed_by_k
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import looked_again
from drysweep_pipeline.reports.listing import Listing, listing
from drysweep_pipeline.reports.meaning import MEANS
from drysweep_pipeline.reports.shown import Cut, Figure, cut, number, share
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.values import Outcome, Rule
from drysweep_pipeline.wording import count

if TYPE_CHECKING:
    from jinja2 import Environment

PAGE = Path(__file__).parent / "page"
ROUNDS = 120
"""So many rounds are shown in a table, the latest ones; how many are left out is said."""
UNREAD = 200
SETS = 60
_LINES = 1500
_SECTIONS = (
    ("verdict", "Verdict"),
    ("since", "Since last time"),
    ("next", "Next"),
    ("curve", "Curve"),
    ("tail", "Fewer passes"),
    ("silence", "Silence"),
    ("strategies", "Strategies"),
    ("rounds", "Rounds"),
    ("findings", "Findings"),
    ("unsearched", "Not searched"),
    ("provenance", "Provenance"),
)
_TONES: Mapping[Outcome, tuple[str, str]] = {
    Outcome.CONVERGED: ("Converged", "good"),
    Outcome.BUDGET_EXCEEDED: ("Not converged: budget exceeded", "caution"),
    Outcome.NEEDS_DECISION: ("Not converged: a person has to decide", "ask"),
    Outcome.FAILED: ("Not converged: failed", "bad"),
    Outcome.STOPPED: ("Not converged: stopped", "calm"),
    Outcome.ACCEPTED: ("Not converged: accepted as it stands", "calm"),
    Outcome.RETURNED: ("Not converged: returned", "caution"),
    Outcome.RUNNING: ("Not converged: still running", "calm"),
}


def render(said: Contents) -> str:
    """Return the report of a campaign as one HTML file; rejected findings are counted, and listed where asked for."""
    page = _environment().get_template("report.html.jinja")
    return page.render(_said(said)) + "\n"


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    """Return what lays the page out: everything is escaped, and a name that is not there is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_visible,
    )
    environment.filters.update(number=number, linked=_linked)
    environment.tests["figure"] = lambda value: isinstance(value, Figure)
    return environment


def _visible(value: Any) -> Any:
    """Return what is to be escaped and shown: a text without anything that hides or reorders its neighbours."""
    from markupsafe import Markup

    if isinstance(value, Markup) or not isinstance(value, str):
        return "-" if value is None else value
    return safe_text(value)


def _linked(line: str) -> Any:
    """Return a line whose http and https addresses, and no others, are links."""
    from markupsafe import Markup, escape

    from drysweep_pipeline.reports.shown import ADDRESS

    parts = ADDRESS.split(safe_text(line))
    link = Markup('<a href="{0}" rel="noopener noreferrer nofollow">{0}</a>')
    return Markup("").join(link.format(part) if odd % 2 else escape(part) for odd, part in enumerate(parts))


def _said(said: Contents) -> dict[str, Any]:
    """Return every name that the page uses."""
    told, outcome = said.told, Outcome(said.told["outcome"])
    word, tone, shape = _toned(told, outcome)
    shown = {
        **_parts(said),
        "told": told,
        "provenance": said.provenance,
        "verdict": {"word": word, "tone": tone, "shape": shape, "bound": _bound(told, outcome)},
        "means": MEANS[outcome],
        "stamp": _stamp(told, outcome),
        "lever": _pieces(told["why"]["lever"], said.resume) if told["why"] else (),
        "warnings": tuple(_warnings(said)),
        "tiles": tuple(_tiles(told, outcome)),
        "steps": tuple(_steps(said)),
        "facts": tuple(_facts(said)),
        "declared": tuple(_lines(said.provenance.declared)),
        "known_at": said.known_at,
        "made_at": zulu(datetime.now(UTC).replace(microsecond=0)),
    }
    empty = {"since": not shown["since"], "tail": not shown["passes"]}
    return {**shown, "sections": [each for each in _SECTIONS if not empty.get(each[0])], **_own()}


@lru_cache(maxsize=1)
def _own() -> dict[str, Any]:
    """Return the page's style and script, and the policy by which nothing else is styled, run or fetched."""
    from markupsafe import Markup

    style, script = ((PAGE / f"report.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # All three are files of this package, or made of their digests; nothing that others wrote is in them.
    return {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}  # noqa: S704


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def _toned(told: Mapping[str, Any], outcome: Outcome) -> tuple[str, str, str]:
    """Return how the page calls the outcome, its tone and its shape; some strategies gone quiet are no quiet sweep."""
    if told["looked_again"] and outcome is Outcome.CONVERGED:
        return "Converged for some strategies only", "calm", "partial"
    return *_TONES[outcome], outcome.value


def _bound(told: Mapping[str, Any], outcome: Outcome) -> str:
    if outcome in (Outcome.RUNNING, Outcome.NEEDS_DECISION):
        return "counts so far"
    # Who looked beyond convergence and found more knows that K misses some.
    return "" if outcome is Outcome.CONVERGED and not missed_by_k(told) else "counts are a lower bound"


def _stamp(told: Mapping[str, Any], outcome: Outcome) -> str:
    """Return the outcome in a few words, to stand beside whatever could be taken for a total."""
    again = looked_again(told)
    return _stamped(told, outcome) + (f"; {again}" if again else "")


def _stamped(told: Mapping[str, Any], outcome: Outcome) -> str:
    reason = f" ({told['reason']})" if told["reason"] else ""
    rounds = count(told["past"]["converged_at"] if told["past"] else told["rounds"], "round")
    if outcome is Outcome.CONVERGED:
        missed = missed_by_k(told)
        return f"converged after {rounds}, K = {told['k']}" + (
            f", which missed {missed}; a lower bound" if missed else ""
        )
    return f"{outcome}{reason} after {rounds}, K = {told['k']}; {_bound(told, outcome).removeprefix('counts are ')}"


def _pieces(text: str, command: str | None) -> tuple[tuple[str, bool], ...]:
    """Return a sentence in pieces, each with whether it is the command that the sentence quotes in backticks."""
    before, quoted, after = text.partition(f"`{command}`") if command else (text, "", "")
    pieces = ((before, False), (command or "", True), (after, False)) if quoted else ((text, False),)
    return tuple(piece for piece in pieces if piece[0])


def _warnings(said: Contents) -> Iterator[tuple[str, str]]:
    if said.merging:
        yield "Findings are merged", cut(f"{said.merging}. What was counted is fewer than what is there.", Cut.PROSE)
    if said.denied:
        more = "Being confined may be why, and what was not read was not searched: reads declares what else is needed."
        yield "May not have searched", cut(f"{said.denied}. {more}", Cut.PROSE)
    if said.looked_at_nothing:
        yield "Looked at nothing, as allow_empty declares", cut(f"{said.looked_at_nothing}.", Cut.PROSE)
    for notice in said.told["notifications"]:
        if notice["status"] == "failed":
            yield "Not told", cut(f"{notice['to']}: {notice['why']}.", Cut.LINE)
    if lost := said.told["not_run"]:
        who = ", ".join(sorted({row["strategy"] for row in lost}))
        yield "Did not run", cut(f"{who}, {count(len(lost), 'time')}; see Round by round.", Cut.LINE)


def _tiles(told: Mapping[str, Any], outcome: Outcome) -> Iterator[tuple[str, str, str]]:
    bound, past = _bound(told, outcome), told["past"]
    least = "at least" if "lower" in bound else "so far" if bound else ""
    yield "seen", number(told["seen"]), least
    for name in ("confirmed", "rejected", "undecided", "unjudged"):
        if told[name] or name in ("confirmed", "rejected"):
            yield name, number(told[name]), ""
    yield "rounds", number(told["rounds"]), f"{number(past['rounds'])} beyond K" if past else ""
    yield "quiet", number(told["quiet"]), f"of K = {told['k']}" + (f", at round {past['converged_at']}" if past else "")
    if past:
        yield f"missed by K = {told['k']}", number(past["missed"]), ""
    yield "calls", number(told["calls"]), ""


def _steps(said: Contents) -> Iterator[tuple[str, str | None, str]]:
    for choice in said.waiting.choices if said.waiting else ():
        yield "", choice.command, f" {choice.does}"
    for step in said.steps:
        yield step.text, step.command, step.after


def _facts(said: Contents) -> Iterator[tuple[str, str]]:
    told, source = said.told, said.provenance
    yield "sweep", told["sweep"]
    yield "campaign", told["campaign"]
    yield "as of", source.as_of
    if again := looked_again(told):
        yield "looked again", again.removeprefix("looked again ")
    yield "started", source.started_at or "not recorded"
    yield "ended", source.ended_at or "not ended"
    yield "rule", f"{told['rule']}, K = {told['k']}"
    yield "snapshot", _snapshots(said)
    yield "declaration", source.declaration
    yield "isolation", ", ".join(sorted({row["isolation"] or "not recorded" for row in said.strategies})) or "-"
    yield "redaction", said.redaction or "not recorded"
    yield "seen by all campaigns together", f"{number(told['ledger_seen'])} findings of this sweep"
    yield "verdicts and states as known at", said.known_at or "not recorded"
    yield "made with", ", ".join(f"{name} {version}" for name, version in source.versions.items())


def _snapshots(said: Contents) -> str:
    many = len({row["snapshot"] for row in said.rounds})
    last = said.provenance.snapshot or "none"
    return last if many < 2 else f"{last} in the last round; {many} in all, one a round under the {Rule.CLEAN} rule"


def _lines(declared: str | None) -> Iterator[str]:
    lines = (declared or "").splitlines()
    yield from (cut(line, Cut.PROSE) for line in lines[:_LINES])
    if len(lines) > _LINES:
        yield f"# and {len(lines) - _LINES} more lines"


def _parts(said: Contents) -> dict[str, Any]:
    """Return the parts of the page that have a module of their own, and those that are tables."""
    from drysweep_pipeline.reports import tables

    found: Listing = listing(said, _row())
    return {
        **tables.curve(said, ROUNDS),
        **tables.strategies(said, SETS),
        "since": tables.since(said),
        "passes": tables.passes(said),
        "silence": _silence(said),
        "rounds": tables.rounds(said, ROUNDS),
        "looks": tables.looks(said, ROUNDS),
        "found": found,
        "unsearched": tables.unsearched(said, UNREAD),
    }


def _row() -> Any:
    # Jinja makes the macros of a template its module's attributes.
    return _environment().get_template("parts.html.jinja").module.row  # type: ignore[attr-defined]


def _silence(said: Contents) -> str:
    quiet = said.figures.silence
    if not quiet.rounds:
        return "No round was quiet: nothing was spent on silence, and nothing is known of it."
    repeated = sum(point.quiet and point.repeat for point in said.figures.curve)
    dollars = f" and ${quiet.cost_usd:,.2f} of ${quiet.of_cost_usd:,.2f}" if quiet.of_cost_usd else ""
    # Under the clean rule a quiet round may bring much that is new and does not block.
    what = "nothing unsettled that blocks" if said.told["rule"] == Rule.CLEAN else "nothing new"
    return (
        f"{count(quiet.rounds, 'quiet round')} took {share(quiet.calls, quiet.of_calls, 'calls')}, "
        f"{quiet.seconds:,.1f} of {quiet.of_seconds:,.1f} seconds{dollars}. That is what it cost to look where {what} "
        f"turned up{_repeats(repeated, quiet.rounds)}."
    )


def _repeats(repeated: int, quiet: int) -> str:
    if not repeated:
        return ""
    return f"; {'it' if quiet == 1 else f'{repeated} of them'} only repeated earlier angles, which proves little"
