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
# What a result says that is no finding: a rule that holds, or one that does not apply.
_NO_FINDING = ("pass", "notApplicable")
# What an invocation has that did not end by itself, or did not even begin.
_BROKE_OFF = ("exitSignalName", "exitSignalNumber", "processStartFailureMessage")
_NOTIFICATIONS = ("toolExecutionNotifications", "toolConfigurationNotifications")
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
    beside = log.get("inlineExternalProperties") or []
    if not isinstance(beside, list) or any(_says_more(each) for each in beside):
        raise FinderError("the SARIF log is not complete: parts of it stand beside its runs, which are not read")
    return runs


def _says_more(properties: Any) -> bool:
    """Tell whether what stands beside the runs may hold findings, or failures."""
    return not isinstance(properties, dict) or bool(properties.get("results") or properties.get("invocations"))


def incomplete(runs: list[Mapping[str, Any]], allow_bare: bool) -> FinderError | None:
    """Return why a log does not say that everything ran; None where it does."""
    reasons = (_incomplete(run, allow_bare) for run in runs)
    try:
        what = next((reason for reason in reasons if reason), None)
    except (TypeError, AttributeError) as error:
        what = f"what it says of its invocations cannot be read: {error}"
    if not runs:
        what = "it has no run at all: it does not say that anything was scanned"
    return FinderError(f"the SARIF log is not complete: {what}") if what else None


_BARE = "a run without invocations does not say whether it was successful; allow_bare: true takes it for complete"


def rows(runs: list[Mapping[str, Any]], max_rows: int, copy: str | None) -> Iterator[Row]:
    """Yield what the results of all runs report; raises ``FinderError`` where they are more than ``max_rows``."""
    count = 0
    for run in runs:
        results = run.get("results")
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and _is_none(result):
                continue
            count += 1
            if count > max_rows:
                raise truncated(f"more than {max_rows} rows", "raise max_rows")
            try:
                yield _row(run, result, copy)
            except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
                yield Unfit(f"result {count} cannot be read: {error}")


def _is_none(result: Mapping[str, Any]) -> bool:
    """Tell whether a result says of itself that it is no finding, and nothing else that it is one."""
    if result.get("baselineState") == "absent":
        return True
    return result.get("kind") in _NO_FINDING and result.get("level", "none") == "none"


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
    # Whoever made the log of something else is one who may have failed as well.
    converted = (run.get("conversion") or {}).get("invocation")
    failed = (_failed(run, each) for each in (*invocations, *([converted] if converted else ())))
    return next((what for what in failed if what), None)


def _failed(run: Mapping[str, Any], invocation: Mapping[str, Any]) -> str | None:
    """Return why an invocation did not run to its end, whatever else it says; None where it did."""
    if invocation.get("executionSuccessful") is not True:
        code = invocation.get("exitCodeDescription") or invocation.get("exitCode")
        return "an invocation was not successful" + (f": {shown(code)}" if code is not None else "")
    for name in _BROKE_OFF:
        if invocation.get(name) not in (None, ""):
            return f"an invocation broke off, though it is called successful: {name} is {shown(invocation[name])}"
    for kind in _NOTIFICATIONS:
        notified = invocation.get(kind) or []
        if not isinstance(notified, list) or not all(isinstance(each, dict) for each in notified):
            return f"{kind} are no list of objects"
        error = next((each for each in notified if _is_error(run, invocation, each)), None)
        if error is not None:
            return f"the tool reports an error: {_told(error)}"
    return None


def _is_error(run: Mapping[str, Any], invocation: Mapping[str, Any], notified: Mapping[str, Any]) -> bool:
    """Tell whether a tool notifies of an error of its own: by its level, that of its kind, or what was thrown."""
    if notified.get("exception") or notified.get("level") == "error":
        return True
    if "level" in notified:
        return False
    pointed = notified.get("descriptor") or {}
    kind = _described(run, pointed, "notifications")
    names = (pointed.get("id"), kind.get("id"))
    configured = [kind.get("defaultConfiguration") or {}]
    for each in invocation.get("notificationConfigurationOverrides") or []:
        if (each.get("descriptor") or {}).get("id") in names:
            configured.append(each.get("configuration") or {})
    return any(each.get("level") == "error" for each in configured)


def _told(notified: Mapping[str, Any]) -> str:
    """Return what a notification says."""
    message, thrown = notified.get("message"), notified.get("exception") or {}
    said = message.get("text") if isinstance(message, dict) else message
    return hidden(str(said or thrown.get("message") or thrown.get("kind")))[:500]


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
    rule = _described(run, {**pointed, "id": name, "index": index}, "rules")
    return rule, name if name is not None else rule.get("id")


def _described(run: Mapping[str, Any], pointed: Mapping[str, Any], among: str) -> Mapping[str, Any]:
    """Return the rule, or the kind of notification, that is pointed at, as the run describes it; empty where not."""
    known = _component(run, pointed.get("toolComponent") or {}).get(among) or []
    name, index = pointed.get("id"), pointed.get("index", -1)
    found: Mapping[str, Any] = {}
    if isinstance(index, int) and 0 <= index < len(known):
        found = known[index]
    elif name is not None:
        found = next((each for each in known if each.get("id") == name), {})
    return found


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
