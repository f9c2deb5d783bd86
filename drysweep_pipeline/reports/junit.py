"""The findings as JUnit XML, for CI that shows test cases: the search itself, its strategies, and the findings.

A search that did not converge is an error, a strategy that did not run another, an unsettled finding that is major or
worse a failure, so that nothing that is unknown is ever green. What is settled is skipped, with the reason.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.etree import ElementTree

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import campaign_of, is_cut_short, looked_again
from drysweep_pipeline.reports.settled import how_settled
from drysweep_pipeline.reports.text import at_angle, safe_lines, safe_text, shortened
from drysweep_pipeline.values import Severity

_FAILING = (Severity.BLOCKER, Severity.MAJOR)
_NAME, _TEXT = 300, 4000
_COUNTED = ("failure", "error", "skipped")
_PROPERTIES = ("outcome", "reason", "k", "rounds", "quiet", "as_of", "seen", "confirmed", "rejected", "not_searched")


def render(said: Contents) -> str:
    """Return three test suites: the search, its strategies and its findings, a test case a finding."""
    sweep = said.told["sweep"]
    suites = [
        _suite(f"{sweep}: the search", [_outcome(said)], said),
        _suite(f"{sweep}: strategies", list(_strategies(said)), said),
        _suite(f"{sweep}: findings", [_finding(said, row) for row in said.findings], said),
    ]
    # Nothing that readers with a schema refuse: no count of the skipped here, and no file or line of a test case below.
    whole = ElementTree.Element("testsuites", {"name": "drysweep", **_sums(suites)})
    whole.extend(suites)
    ElementTree.indent(whole)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(whole, encoding="unicode")}\n'


def _suite(name: str, cases: list[ElementTree.Element], said: Contents) -> ElementTree.Element:
    counts = {f"{kind}s" if kind != "skipped" else kind: _count(cases, kind) for kind in _COUNTED}
    times = {"timestamp": said.told["as_of"].removesuffix("Z"), "time": "0"}
    suite = ElementTree.Element("testsuite", {"name": name, "tests": str(len(cases)), **counts, **times})
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _told(said):
        ElementTree.SubElement(properties, "property", {"name": key, "value": safe_text(str(value))})
    suite.extend(cases)
    return suite


def _told(said: Contents) -> Iterator[tuple[str, Any]]:
    yield from ((name, said.told[name]) for name in _PROPERTIES if said.told[name] is not None)
    yield from ((name, value) for name, value in _flat(said) if value is not None)


def _flat(said: Contents) -> Iterator[tuple[str, Any]]:
    flat = campaign_of(said)
    yield "known_at", said.known_at
    yield "lower_bound", "true" if flat["lower_bound"] else "false"
    # What `quiet` was counted at, where the campaign looked beyond it.
    yield "converged_at", said.told["past"]["converged_at"] if said.told["past"] else None
    yield "missed_by_k", flat["missed_by_k"]
    yield "looked_again", flat["looked_again"]
    yield "looked_with", ", ".join(flat["looked_with"]) if flat["looked_with"] else None


def _count(cases: Iterable[ElementTree.Element], kind: str) -> str:
    return str(sum(case.find(kind) is not None for case in cases))


def _sums(suites: list[ElementTree.Element]) -> Mapping[str, str]:
    names = ("tests", "failures", "errors")
    return {name: str(sum(int(suite.attrib[name]) for suite in suites)) for name in names}


def _outcome(said: Contents) -> ElementTree.Element:
    again = looked_again(said.told)
    name = f"campaign {said.told['campaign']} converged" + (f", which {again}" if again else "")
    case = _case(f"{said.told['sweep']}.search", name)
    if is_cut_short(said):
        _add(case, "error", said.told["verdict"], said.told["outcome"])
    else:
        ElementTree.SubElement(case, "system-out").text = safe_text(said.told["verdict"])
    return case


def _strategies(said: Contents) -> Iterator[ElementTree.Element]:
    """Yield a test case for each strategy, and one more for each further round that it did not run in."""
    lost: dict[str, list[Row]] = {}
    for row in said.told["not_run"]:
        lost.setdefault(row["strategy"], []).append(row)
    names = {row["strategy"] for row in said.strategies}
    for name in sorted(names | set(lost)):
        if name not in lost:
            yield _case(f"{said.told['sweep']}.strategies", f"{name} ran in every round")
        for row in lost.get(name, []):
            case = _case(f"{said.told['sweep']}.strategies", f"{name} ran in round {row['round']}{at_angle(row)}")
            yield _add(case, "error", row["reason"] or "no reason was given", "not_run")


def _finding(said: Contents, row: Row) -> ElementTree.Element:
    case = _case(f"{said.told['sweep']}.{row['kind'] or 'finding'}", f"{row['label']} [{row['fp'][:8]}]")
    settled = how_settled(row)
    if settled is not None:
        return _add(case, "skipped", settled)
    if row["severity"] in _FAILING:
        return _add(case, "failure", row["title"] or row["label"], row["severity"], _details(said, row))
    ElementTree.SubElement(case, "system-out").text = _details(said, row)
    return case


def _details(said: Contents, row: Row) -> str:
    where = f"{row['path']}:{row['line']}" if row["path"] and row["line"] is not None else row["path"]
    told = {
        "finding": row["title"] or row["label"],
        "severity": row["severity"],
        "status": row["status"],
        "where": where,
        "owner": row["owner"],
        "seen by": ", ".join(row["strategies"]),
        "evidence": row["evidence"],
        "fingerprint": row["fp"],
        "outcome": said.told["verdict"],
    }
    return "\n".join(f"{name}: {_cut(str(value))}" for name, value in told.items() if value)


def _case(classname: str, name: str) -> ElementTree.Element:
    named = {"classname": _name(classname), "name": _name(name), "time": "0"}
    return ElementTree.Element("testcase", named)


def _add(
    case: ElementTree.Element, kind: str, message: str, type: str | None = None, text: str | None = None
) -> ElementTree.Element:
    part = ElementTree.SubElement(case, kind, {"message": _name(message), **({"type": type} if type else {})})
    part.text = text
    return case


def _name(text: str) -> str:
    return shortened(safe_text(text), _NAME)


def _cut(text: str) -> str:
    return shortened(safe_lines(text), _TEXT)
