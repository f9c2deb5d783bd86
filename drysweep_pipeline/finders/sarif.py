"""Findings as a SARIF 2.1.0 log: what each result says, and whether the log says that everything ran.

No address in a log is followed. A level is a severity here: ``error`` is major, ``warning`` minor, ``note`` and
``none`` nit; nothing in SARIF is a blocker.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.errors import FinderError, RowsRefused
from drysweep_pipeline.exact import shown
from drysweep_pipeline.finders.jsonl import Row, truncated, value
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.values import Severity

VERSION = "2.1.0"
MAX_BYTES = 64 << 20
SEVERITIES: Mapping[str, Severity] = {
    "error": Severity.MAJOR,
    "warning": Severity.MINOR,
    "note": Severity.NIT,
    "none": Severity.NIT,
}
# What a result says that is no finding: a rule that holds, one that does not apply, a finding that is gone.
_NO_FINDING = (("kind", "pass"), ("kind", "notApplicable"), ("baselineState", "absent"))
_PLACEHOLDER = re.compile(r"{(\d+)}|{{|}}")


def runs_of(printed: bytes) -> list[Mapping[str, Any]]:
    """Return the runs of a log. Raises ``FinderError`` where it is not a SARIF log of the version that is read."""
    try:
        log = value(printed.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FinderError(f"the SARIF log is not UTF-8: byte {error.start + 1}") from None
    except ValueError as error:
        what = f"the SARIF log is not JSON: {error}" if printed.strip() else "printed no SARIF log"
        raise FinderError(what) from None
    if not isinstance(log, dict):
        raise FinderError("the SARIF log is no JSON object")
    if log.get("version") != VERSION:
        raise RowsRefused(f"the SARIF log is of version {shown(log.get('version'))}", help=f"{VERSION} is read")
    runs = log.get("runs")
    if not isinstance(runs, list) or not all(isinstance(run, dict) for run in runs):
        raise FinderError("the SARIF log has no list of runs")
    return runs


def incomplete(runs: list[Mapping[str, Any]], allow_bare: bool) -> FinderError | None:
    """Return why a log does not say that everything ran; None where it does."""
    reasons = (_incomplete(run, allow_bare) for run in runs)
    what = next((reason for reason in reasons if reason), None)
    if not runs and not allow_bare:
        what = _BARE
    return FinderError(f"the SARIF log is not complete: {what}") if what else None


_BARE = "a run without invocations does not say whether it was successful; allow_bare: true takes it for complete"


def rows(runs: list[Mapping[str, Any]], max_rows: int, copy: str | None) -> Iterator[Row]:
    """Yield what the results of all runs report; raises ``FinderError`` where they are more than ``max_rows``."""
    count = 0
    for run in runs:
        results = run.get("results")
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and any(result.get(key) == said for key, said in _NO_FINDING):
                continue
            count += 1
            if count > max_rows:
                raise truncated(f"more than {max_rows} rows", "raise max_rows")
            try:
                yield _row(run, result, copy)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
                yield Unfit(f"result {count} cannot be read: {error}")


def _incomplete(run: Mapping[str, Any], allow_bare: bool) -> str | None:
    if run.get("externalPropertyFileReferences"):
        return "parts of it are in other files, which are not read"
    if not isinstance(run.get("results"), list):
        return "a run has no results: it did not scan anything"
    invocations = run.get("invocations") or []
    if not isinstance(invocations, list) or not all(isinstance(each, dict) for each in invocations):
        return "invocations are no list of objects"
    if not invocations and not allow_bare:
        return _BARE
    for invocation in invocations:
        if invocation.get("executionSuccessful") is not True:
            code = invocation.get("exitCodeDescription") or invocation.get("exitCode")
            return "an invocation was not successful" + (f": {shown(code)}" if code is not None else "")
        notified = _error(invocation)
        if notified is not None:
            return f"the tool reports an error: {notified}"
    return None


def _error(invocation: Mapping[str, Any]) -> str | None:
    """Return what the tool said of an error of its own, if there was one."""
    for kind in ("toolExecutionNotifications", "toolConfigurationNotifications"):
        notified = invocation.get(kind)
        for each in notified if isinstance(notified, list) else ():
            if isinstance(each, dict) and each.get("level") == "error":
                message = each.get("message")
                return hidden(str(message.get("text") if isinstance(message, dict) else message))[:500]
    return None


def _row(run: Mapping[str, Any], result: Mapping[str, Any], copy: str | None) -> Mapping[str, Any]:
    rule, name = _rule(run, result)
    path, line, evidence, logical = _place(run, result, copy)
    told = {
        "subject": path or logical,
        "kind": name,
        "severity": _severity(result, rule),
        "title": _message(run, result, rule),
        "path": path,
        "line": line,
        "evidence": evidence,
        "tool": run["tool"]["driver"]["name"] if "tool" in run else None,
        **_kept(result),
    }
    return {key: each for key, each in told.items() if each is not None}


def _kept(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept as attributes: suppressions, the state against a baseline, and each partial fingerprint."""
    partial = {
        f"{kind}/{name}": each
        for kind in ("partialFingerprints", "fingerprints")
        for name, each in (result.get(kind) or {}).items()
    }
    names = ("suppressions", "baselineState", "properties")
    return {**partial, **{name: result[name] for name in names if result.get(name)}}


def _rule(run: Mapping[str, Any], result: Mapping[str, Any]) -> tuple[Mapping[str, Any], str | None]:
    """Return the rule of a result as the run describes it, empty where it does not, and its id."""
    pointed = result.get("rule") or {}
    name = result.get("ruleId") or pointed.get("id")
    index = result.get("ruleIndex", pointed.get("index", -1))
    rules = _component(run, pointed.get("toolComponent") or {}).get("rules") or []
    rule: Mapping[str, Any] = {}
    if isinstance(index, int) and 0 <= index < len(rules):
        rule = rules[index]
    elif name is not None:
        rule = next((each for each in rules if each.get("id") == name), {})
    return rule, name if name is not None else rule.get("id")


def _component(run: Mapping[str, Any], pointed: Mapping[str, Any]) -> Mapping[str, Any]:
    tool = run.get("tool") or {}
    extensions, index = tool.get("extensions") or [], pointed.get("index", -1)
    found: Mapping[str, Any] = extensions[index] if 0 <= index < len(extensions) else tool.get("driver") or {}
    return found


def _severity(result: Mapping[str, Any], rule: Mapping[str, Any]) -> Severity:
    usual = (rule.get("defaultConfiguration") or {}).get("level", "warning")
    level = result.get("level") or (usual if result.get("kind", "fail") == "fail" else "none")
    if level not in SEVERITIES:
        raise ValueError(f"bad_severity: the level {shown(level)} is none of {', '.join(SEVERITIES)}")
    return SEVERITIES[level]


def _place(
    run: Mapping[str, Any], result: Mapping[str, Any], copy: str | None
) -> tuple[str | None, int | None, str | None, str | None]:
    """Return path, line, the text that is shown, and the name in the program, of a result's first location."""
    locations = result.get("locations") or []
    location = locations[0] if locations else {}
    physical = location.get("physicalLocation") or {}
    region = physical.get("region") or {}
    logical = (location.get("logicalLocations") or [{}])[0]
    return (
        _path(run, physical.get("artifactLocation") or {}, copy),
        region.get("startLine"),
        (region.get("snippet") or {}).get("text"),
        logical.get("fullyQualifiedName") or logical.get("name"),
    )


def _path(run: Mapping[str, Any], artifact: Mapping[str, Any], copy: str | None) -> str | None:
    """Return where a result is, as a path in the material where it is one; nothing is looked up."""
    uri, index = artifact.get("uri"), artifact.get("index", -1)
    artifacts = run.get("artifacts") or []
    if uri is None and 0 <= index < len(artifacts):
        artifact = artifacts[index].get("location") or {}
        uri = artifact.get("uri")
    if uri is None:
        return None
    parts = urlsplit(uri)
    if parts.scheme:
        path = unquote(parts.path) if parts.scheme == "file" and parts.netloc in ("", "localhost") else uri
        return _in_the_material(path, copy) or path
    # Where the tool was on this machine matters only if that is in the material.
    base = (run.get("originalUriBaseIds") or {}).get(artifact.get("uriBaseId")) or {}
    return _in_the_material(unquote(urlsplit(base.get("uri", "") + uri).path), copy) or unquote(uri)


def _in_the_material(path: str, copy: str | None) -> str | None:
    return path.removeprefix(copy + "/") if copy is not None and path.startswith(copy + "/") else None


def _message(run: Mapping[str, Any], result: Mapping[str, Any], rule: Mapping[str, Any]) -> str | None:
    message = result.get("message") or {}
    text = message.get("text")
    if text is None and message.get("id") is not None:
        strings = {**((run.get("tool") or {}).get("driver") or {}).get("globalMessageStrings", {})}
        strings.update(rule.get("messageStrings") or {})
        text = (strings.get(message["id"]) or {}).get("text")
    if text is None:
        text = message.get("markdown")
    arguments = message.get("arguments") or []
    return _PLACEHOLDER.sub(lambda match: _argument(match, arguments), text) if arguments and text else text


def _argument(match: re.Match[str], arguments: list[Any]) -> str:
    if match[1] is None:
        return match[0][0]
    index = int(match[1])
    return str(arguments[index]) if index < len(arguments) else match[0]
