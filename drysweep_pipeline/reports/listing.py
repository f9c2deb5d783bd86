"""The findings in the page, each with its life: the first ones as rows, of a long list the rest as data for the script.

Both say the same in the same order. Without a script the rows are there, and what is not is counted.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drysweep_pipeline.history.biography import held
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.meaning import UNSEARCHED
from drysweep_pipeline.reports.shown import Cut, called, cut, number
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.values import Verdict
from drysweep_pipeline.wording import count

ROWS_BYTES = 1_500_000
"""As much of the page may be rows: a browser opens that at once, and two thousand findings fit."""
LISTED = 50_000
"""So many findings are in the page at all, the worst first."""


@dataclass(frozen=True, slots=True)
class Found:
    """A finding as a row of the page: six texts, and its life as lines."""

    title: str
    severity: str
    status: str
    where: str
    strategies: str
    owner: str
    life: tuple[str, ...]

    @property
    def as_data(self) -> list[Any]:
        """Return it as the script reads it, with hidden characters shown as in a row."""
        texts = (self.title, self.severity, self.status, self.where, self.strategies, self.owner)
        return [*map(safe_text, texts), [safe_text(line) for line in self.life]]


@dataclass(frozen=True, slots=True)
class Listing:
    """What stands in the page: ``rows`` and ``island`` are markup; ``left_out`` findings are in neither."""

    sentence: str
    count: int
    first: int
    later: int
    left_out: int
    rows: Any
    island: Any


def listing(said: Contents, row: Callable[[Found], Any]) -> Listing:
    """Return a campaign's findings as the page lists them; ``row`` makes the markup of one, in which all is escaped."""
    from markupsafe import Markup

    shown = list(_found(said))
    rows, size = [], 0
    for each in shown:
        if size > ROWS_BYTES:
            break
        rows.append(row(each))
        size += len(rows[-1].encode("utf-8"))
    later = shown[len(rows) :]
    left_out = len(said.findings) - len(shown)
    body = Markup("").join(rows)
    return Listing(_sentence(said), len(said.findings), len(rows), len(later), left_out, body, _island(later))


def _island(later: Sequence[Found]) -> Any:
    """Return findings as a block of data that no browser runs, and that nothing in it can end."""
    from markupsafe import Markup

    if not later:
        return Markup("")
    data = json.dumps([each.as_data for each in later], ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        data = data.replace(character, f"\\u{ord(character):04x}")
    # Nothing in it can end the element or begin another: every < > and & is written as JSON escapes it.
    return Markup('<script type="application/json" id="later">') + Markup(data) + Markup("</script>")  # noqa: S704


def _sentence(said: Contents) -> str:
    if not said.told["rounds"]:
        return UNSEARCHED
    listed = f"{count(len(said.findings), 'finding')}, the worst first"
    if said.left_out:
        were, are = ("was", "is") if said.left_out == 1 else ("were", "are")
        return f"{listed}; {number(said.left_out)} more {were} rejected and {are} not listed here."
    rejected = sum(row["status"] == Verdict.REJECTED for row in said.findings)
    return f"{listed}; {number(rejected)} of them rejected." if rejected else f"{listed}."


def _found(said: Contents) -> Iterator[Found]:
    rulings = {row["fp"]: row for row in said.rulings}
    happened: dict[str, list[Row]] = defaultdict(list)
    for row in said.happened:
        happened[row["fp"]].append(row)
    for row in said.findings[:LISTED]:
        life = _life(row, rulings.get(row["fp"]), happened[row["fp"]], said.told["campaign"])
        yield Found(
            title=cut(called(row), Cut.TITLE),
            severity=row["severity"] or "unknown",
            status=row["status"],
            where=_where(row),
            strategies=", ".join(row["strategies"]),
            owner=cut(row["owner"] or "-", Cut.NAME),
            life=tuple(cut(line, Cut.LINE) for line in life),
        )


def _where(row: Row) -> str:
    if not row["path"]:
        return "-"
    line = f":{row['line']}" if row["line"] is not None else ""
    return cut(row["path"], Cut.TITLE) + line


def _life(row: Row, ruling: Row | None, happened: Sequence[Row], campaign: str) -> Iterator[str]:
    yield f"{row['label']}, fp {row['fp'][:8]}"
    if row["evidence"]:
        yield f"evidence: {row['evidence']}"
    seen = f"first seen in round {row['first_round']}{_of(row['first_campaign'], campaign)}"
    last = f"last in round {row['last_round']}{_of(row['last_campaign'], campaign)}"
    yield f"{seen}; {count(row['sightings'], 'sighting')}, {last}" if row["sightings"] > 1 else seen
    if ruling and not ruling["judge"].startswith("person:"):
        yield _judged(ruling, campaign)
    yield from (_event(event, campaign) for event in happened)


def _judged(ruling: Row, campaign: str) -> str:
    if ruling["verdict"] == "unjudged":
        return "nobody judged it"
    because = f": {ruling['reason']}" if ruling["reason"] else ""
    said = f"{ruling['verdict']} by the {ruling['judge']} judge in round {ruling['round']}"
    return f"{said}{_of(ruling['campaign'], campaign)}{because}"


def _event(event: Mapping[str, Any], campaign: str) -> str:
    who = f" by {event['actor']}" if event["actor"] else ""
    until = f" until {event['expires']}" if event["expires"] else ""
    place = f", after round {event['round']}{_of(event['campaign'], campaign)}" if event["round"] is not None else ""
    because = f": {event['reason']}" if event["reason"] else ""
    pointing = f"; evidence {event['evidence']} ({held(event['verified'])})" if event["evidence"] else ""
    name = event["name"].removeprefix("finding_").replace("_", " ")
    return f"{event['day']}: {name}{who}{until}{place}{because}{pointing}"


def _of(other: str, campaign: str) -> str:
    return "" if other == campaign else f" of {other}"
