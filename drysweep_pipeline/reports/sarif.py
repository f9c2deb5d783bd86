"""The findings as a SARIF 2.1.0 log, for what shows findings beside the code: one run a campaign, a rule a kind.

A log says that its invocation was successful only where the campaign converged. What the previous campaign saw and this
one did not is counted and not listed as absent: services that do not know ``baselineState`` would show it as found.
"""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports.contents import Before, Contents
from drysweep_pipeline.reports.flat import head_of, is_cut_short, looked_again
from drysweep_pipeline.reports.settled import how_settled
from drysweep_pipeline.reports.text import at_angle, json_text, safe_lines, safe_text, shortened
from drysweep_pipeline.reports.where import file_of, line_of
from drysweep_pipeline.values import Severity
from drysweep_pipeline.wording import count

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MOST_RESULTS = 25_000
MOST_BYTES = 10 << 20
"""What GitHub takes of a run, and of a file after gzip."""
FINGERPRINT = "drysweep/fp1"
_NAMESPACE = UUID("6f2d5a1e-6d0c-5d53-9d51-1f3d1b8f0a37")
_CHECKOUT, _MATERIAL = "%SRCROOT%", "MATERIAL"
_BASES: Mapping[str, str] = {
    _CHECKOUT: "The top of the git checkout that the material lies in.",
    _MATERIAL: "The folder that the sweep declares as its material.",
}
_LEVELS: Mapping[str | None, str] = {
    Severity.BLOCKER: "error",
    Severity.MAJOR: "error",
    Severity.MINOR: "warning",
    Severity.NIT: "note",
}
_RANKS = ("note", "warning", "error")
_NOTIFIED: Mapping[str, str] = {
    "not_converged": "The search ended, or stands, before it went quiet: what was found is a lower bound.",
    "not_run": "A strategy did not run to its end in a round, so its silence there says nothing.",
    "not_searched": "A file of the material could not be read.",
}
_HELP = "`drysweep findings explain FP` tells the life of a finding; its fingerprint is drysweep/fp1."
_END = "[]}]}"
_TEXT, _NAME, _UNREAD = 2000, 200, 100
_TOLD = ("label", "status", "state", "verdict", "severity", "subject", "scope", "owner", "strategies", "sightings")


def render(said: Contents) -> str:
    """Return the log, the worst findings first; what had to be left out for its size is counted in ``left_out``."""
    most, evidence = MOST_RESULTS, True
    while len((text := _log(said, most, evidence)).encode()) > MOST_BYTES and _packed(text) > MOST_BYTES:
        # First what is beside the findings, then the least of them.
        most, evidence = (most, False) if evidence else (most // 2, False)
    return text


def _packed(text: str) -> int:
    return len(gzip.compress(text.encode(), compresslevel=6))


def _log(said: Contents, most: int, evidence: bool) -> str:
    """Return the log of the ``most`` worst findings, a result a line, so that two logs can be held side by side."""
    run = _run(said, said.findings[:most], evidence)
    results = ",\n".join(map(json_text, run.pop("results")))
    log = json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [{**run, "results": []}]})
    return f"{log.removesuffix(_END)}[\n{results}\n{_END[1:]}\n"


def _run(said: Contents, findings: Sequence[Row], evidence: bool) -> dict[str, Any]:
    rules = _rules(findings)
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    base = _CHECKOUT if said.origin else _MATERIAL
    sweep, campaign = said.told["sweep"], said.told["campaign"]
    run = {
        "tool": {"driver": _driver(rules)},
        "automationDetails": {"id": f"drysweep/{sweep}/{campaign}", "guid": _guid(sweep, campaign)},
        "invocations": [_invocation(said, base)],
        "originalUriBaseIds": {base: {"description": {"text": _BASES[base]}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(said, row, index, base, evidence) for row in findings],
        "properties": _properties(said, len(findings), evidence),
    }
    if said.before:
        run["baselineGuid"] = _guid(sweep, said.before.campaign)
    if provenance := _provenance(said):
        run["versionControlProvenance"] = [provenance]
    return run


def _guid(sweep: str, campaign: str) -> str:
    return str(uuid5(_NAMESPACE, f"{sweep}/{campaign}"))


def _driver(rules: list[dict[str, Any]]) -> dict[str, Any]:
    notified = [{"id": name, "shortDescription": {"text": text}} for name, text in _NOTIFIED.items()]
    return {"name": "drysweep", "version": version("drysweep-pipeline"), "rules": rules, "notifications": notified}


def _rules(findings: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a rule a kind in the order of ids, as severe by default as the worst finding of it."""
    levels: dict[str, str] = {}
    for row in findings:
        level = _LEVELS.get(row["severity"], "warning")
        levels[_rule(row)] = max(level, levels.get(_rule(row), level), key=_RANKS.index)
    return [
        {
            "id": name,
            # GitHub asks for all three.
            "shortDescription": {"text": _unlinked(name.replace("_", " "))},
            "fullDescription": {
                "text": _unlinked(f"Findings of the kind {name}, as strategies of the sweep reported them.")
            },
            "help": {"text": _HELP},
            "defaultConfiguration": {"level": levels[name]},
        }
        for name in sorted(levels)
    ]


def _rule(row: Row) -> str:
    return shortened(safe_text(row["kind"]), _NAME) if row["kind"] else "finding"


def _result(said: Contents, row: Row, index: Mapping[str, int], base: str, evidence: bool) -> dict[str, Any]:
    properties = {name: row[name] for name in _TOLD if row[name] is not None}
    if evidence and row["evidence"]:
        properties["evidence"] = shortened(row["evidence"], _TEXT)
    result = {
        "ruleId": _rule(row),
        "ruleIndex": index[_rule(row)],
        "level": _LEVELS.get(row["severity"], "warning"),
        "message": {"text": _message(row)},
        "locations": [_location(said, row, base)],
        "partialFingerprints": {FINGERPRINT: row["fp"]},
        "suppressions": _suppressions(row),
        "properties": {name: _cut(value) for name, value in properties.items()},
    }
    if said.before:
        result["baselineState"] = _since(said.before, row["fp"])
    return result


def _since(before: Before, fp: str) -> str:
    if fp in before.new:
        return "new"
    return "updated" if fp in before.raised else "unchanged"


def _cut(value: Any) -> Any:
    return shortened(value, _TEXT) if isinstance(value, str) else value


def _message(row: Row) -> str:
    return _unlinked(shortened(safe_lines(row["title"] or row["label"]), _TEXT))


def _unlinked(text: str) -> str:
    """Return text of a message in which no bracket begins a link: one could lead anywhere."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]") if "](" in text else text


def _location(said: Contents, row: Row, base: str) -> dict[str, Any]:
    named = shortened(safe_text(row["subject"] or row["label"]), _TEXT)
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": named}]}
    if (file := file_of(said, row["path"])) is not None:
        physical: dict[str, Any] = {"artifactLocation": {"uri": quote(file), "uriBaseId": base}}
        if (line := line_of(row["line"])) is not None:
            physical["region"] = {"startLine": line}
        location["physicalLocation"] = physical
    return location


def _suppressions(row: Row) -> list[dict[str, Any]]:
    how = how_settled(row)
    if how is None:
        return []
    return [{"kind": "external", "status": "accepted", "justification": shortened(safe_text(how), _TEXT)}]


def _invocation(said: Contents, base: str) -> dict[str, Any]:
    started, ended = said.head["started_at"], said.head["ended_at"]
    reason = f" ({said.told['reason']})" if said.told["reason"] else ""
    again = looked_again(said.told)
    return {
        "executionSuccessful": not is_cut_short(said),
        "exitCodeDescription": f"{said.told['outcome']}{reason}" + (f", {again}" if again else ""),
        "toolExecutionNotifications": list(_notifications(said, base)),
        **({"startTimeUtc": started} if started else {}),
        **({"endTimeUtc": ended} if ended else {}),
    }


def _notifications(said: Contents, base: str) -> Iterator[dict[str, Any]]:
    # In a campaign that converged nonetheless, complete rounds made up for it.
    level = "error" if is_cut_short(said) else "warning"
    if is_cut_short(said):
        yield _notified("not_converged", level, said.told["verdict"])
    elif looked_again(said.told):
        yield _notified("looked_again", level, said.told["verdict"])
    for row in said.told["not_run"]:
        text = f"{row['strategy']}{at_angle(row)} did not run in round {row['round']}: {row['reason']}"
        yield _notified("not_run", level, text, {"strategy": row["strategy"], "round": row["round"]})
    for file, reason in said.unread[:_UNREAD]:
        yield {**_notified("not_searched", "warning", f"{file}: {reason}"), **_at(said, file, base)}
    beyond = said.told["not_searched"] - min(len(said.unread), _UNREAD)
    if beyond > 0:
        yield _notified("not_searched", "warning", f"{count(beyond, 'file')} more could not be read")


def _notified(kind: str, level: str, text: str, properties: dict[str, Any] | None = None) -> dict[str, Any]:
    told: dict[str, Any] = {"descriptor": {"id": kind}, "level": level}
    told["message"] = {"text": _unlinked(shortened(safe_text(text), _TEXT))}
    return {**told, **({"properties": properties} if properties else {})}


def _at(said: Contents, file: str, base: str) -> dict[str, Any]:
    found = file_of(said, file)
    if found is None:
        return {}
    return {"locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(found), "uriBaseId": base}}}]}


def _provenance(said: Contents) -> dict[str, Any] | None:
    """Return from which revision of which repository the material is, where both are known."""
    origin = said.origin
    if origin is None or origin.address is None or origin.revision is None:
        return None
    return {
        "repositoryUri": origin.address,
        "revisionId": origin.revision,
        "mappedTo": {"uriBaseId": _CHECKOUT},
        "properties": {"files_not_as_committed": origin.dirty},
    }


def _properties(said: Contents, listed: int, evidence: bool) -> dict[str, Any]:
    left_out = {"findings": len(said.findings) - listed, "evidence": not evidence}
    revision = {"revision": said.origin.revision} if said.origin else {}
    since = said.told.get("since")
    placeless = sum(file_of(said, row["path"]) is None for row in said.findings)
    counted = {"findings_without_file": placeless, "left_out": left_out}
    return {**head_of(said), **revision, **({"since": since} if since else {}), **counted}
