"""The findings as workflow commands of GitHub Actions, which shows them as annotations beside the code.

GitHub shows ten of each level a step, and the others in the log only; so the outcome comes first, and the worst next.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import is_cut_short
from drysweep_pipeline.reports.settled import how_settled
from drysweep_pipeline.reports.text import safe_text, shortened
from drysweep_pipeline.reports.where import file_of, line_of
from drysweep_pipeline.values import Severity
from drysweep_pipeline.wording import count

SHOWN = 10
"""How many annotations of a level GitHub shows for a step."""
_LEVELS: Mapping[str | None, str] = {
    Severity.BLOCKER: "error",
    Severity.MAJOR: "error",
    Severity.MINOR: "warning",
    Severity.NIT: "notice",
}
_ORDER = ("error", "warning", "notice")
_TITLE, _TEXT = 200, 1000


def render(said: Contents) -> str:
    """Return a line for the outcome, one for each strategy that did not run, and one for each finding."""
    findings = sorted(((_level(row), row) for row in said.findings), key=lambda each: _ORDER.index(each[0]))
    lost = list(_not_run(said))
    counts = Counter(level for level, _ in findings)
    lines = [_outcome(said, counts), *lost, *(_finding(said, level, row) for level, row in findings)]
    return "".join(f"{line}\n" for line in lines)


def _level(row: Row) -> str:
    """Return at which level a finding is shown: one that is settled is a notice, whatever it was."""
    return "notice" if how_settled(row) else _LEVELS.get(row["severity"], "warning")


def _outcome(said: Contents, counts: Mapping[str, int]) -> str:
    beyond = any(number > SHOWN - 1 for number in counts.values())
    listed = ", ".join(f"{count(counts[level], level)}" for level in _ORDER if counts.get(level)) or "no finding"
    more = f" GitHub shows {SHOWN} annotations of a level; all are in the log." if beyond else ""
    level = "error" if is_cut_short(said) else "notice"
    return _command(level, f"{said.told['verdict']} Listed: {listed}.{more}", title=f"drysweep {said.told['sweep']}")


def _not_run(said: Contents) -> Iterator[str]:
    rounds: dict[str, list[Row]] = {}
    for row in said.told["not_run"]:
        rounds.setdefault(row["strategy"], []).append(row)
    level = "error" if is_cut_short(said) else "warning"
    for name, rows in sorted(rounds.items()):
        numbers = ", ".join(str(number) for number in sorted({row["round"] for row in rows}))
        of = "rounds" if "," in numbers else "round"
        text = f"{name} did not run in {of} {numbers}: {rows[-1]['reason']}"
        yield _command(level, text, title="not_run")


def _finding(said: Contents, level: str, row: Row) -> str:
    how = how_settled(row)
    told = (row["title"] or row["label"], f"{row['severity']}, {how or row['status']}", row["evidence"])
    file = file_of(said, row["path"])
    line = line_of(row["line"]) if file else None
    return _command(level, " - ".join(each for each in told if each), file=file, line=line, title=row["kind"])


def _command(level: str, text: str, **properties: object) -> str:
    """Return a workflow command of one line, in which nothing that others wrote can begin another."""
    given = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value is not None)
    return f"::{level}{f' {given}' if given else ''}::{_escaped(shortened(safe_text(text), _TEXT))}"


def _property(text: str) -> str:
    return _escaped(shortened(safe_text(text), _TITLE)).replace(":", "%3A").replace(",", "%2C")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
