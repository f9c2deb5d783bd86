"""What people do to findings from the command line: from options and files to deeds, and what came of them."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from drysweep_pipeline.cli.options import find_campaign, home_of, person
from drysweep_pipeline.cli.output import note, put, put_json
from drysweep_pipeline.declaration.yaml_reader import MAX_BYTES
from drysweep_pipeline.deed_files import asked as asked_for
from drysweep_pipeline.deed_files import read_actions, read_entries
from drysweep_pipeline.engine import deeds
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.deeds import Asked, Done
from drysweep_pipeline.engine.naming import short
from drysweep_pipeline.errors import DeclarationError, NotFound, Refused
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, expired
from drysweep_pipeline.reports import write_report
from drysweep_pipeline.reports.summary import summary

STDIN = Path("<stdin>")
_OUTCOME = ("outcome", "reason", "k", "rounds")


def do(
    act: str,
    findings: list[str],
    file: str | None,
    given: dict[str, str | None],
    sweep: str | None,
    campaign: str | None,
    home: Path | None,
    *,
    as_json: bool,
) -> int:
    """Do one act to findings that are named, that a file names, or both, and print what each of them is now."""
    said = {name: value for name, value in given.items() if value is not None}
    said["by"] = person(given["by"])
    asked = _asked(act, {**said, "findings": findings}) if findings else []
    if file is not None:
        asked += read_entries(_path(file), Act(act), _text(file), said)
    return _do(asked, sweep, campaign, home_of(home), as_json)


def _asked(act: str, given: dict[str, Any]) -> list[Asked]:
    """Return what options ask for. A refusal names the option, which is what was typed."""
    try:
        return asked_for(act, given)
    except DeclarationError as error:
        option = f"--{(error.key or act).rpartition('.')[2].replace('_', '-')}"
        what = f"{act.replace('_', '-')} needs {option}" if "is missing" in error.what else error.what
        help = None if "is missing" in error.what else error.help
        raise DeclarationError(what, key=option, help=help) from None


def apply_file(
    file: str, by: str | None, sweep: str | None, campaign: str | None, home: Path | None, *, as_json: bool
) -> int:
    """Do what a file of mixed actions says, and print what each finding is now."""
    given = {"by": person(by)} if by is not None else {}
    asked = [_signed(each) for each in read_actions(_path(file), _text(file), given)]
    return _do(asked, sweep, campaign, home_of(home), as_json)


def _signed(asked: Asked) -> Asked:
    """Return what is asked for by whoever asks, where it needs no name and has none; what needs one has one by now."""
    return asked if asked.deed.by else replace(asked, deed=replace(asked.deed, by=person(None)))


def _do(asked: list[Asked], sweep: str | None, campaign: str | None, home: Home, as_json: bool) -> int:
    at = _campaign(home, asked, sweep, campaign)
    done = deeds.act(at, asked, overruled_with_reason=True)
    rewrite_report(at)
    told = summary(home, at.home.name, at.id)
    for each in done:
        if each.deed.act is Act.ACCEPT_RISK and expired(each.deed.expires, at.as_of.date()):
            note(f"{each.finding.label}: {each.deed.expires} is over already; the next round opens it again")
    if as_json:
        put_json(_answer(told, done))
        return 0
    for each in done:
        put(line_of(each))
    put(f"{told['sweep']}/{told['campaign']}: {told['verdict']}")
    return 0


def rewrite_report(campaign: Campaign) -> None:
    """Write the reports of a campaign again where it has some, so that they say what its findings are now."""
    if campaign.home.report(campaign.id, ".md").exists():
        write_report(campaign.home.home, campaign.home.name, campaign.id)


def line_of(done: Done) -> str:
    """Return what a finding was and what it is now, in a line."""
    before, after = done.before, done.after
    was, now = before.status, after.status
    if before.verdict is not after.verdict:
        was, now = f"{before.verdict} ({before.state})", f"{after.verdict} ({after.state})"
    held = {True: "found in the snapshot", False: "not in the snapshot: kept, unverified", None: "not looked up"}
    evidence = f"; {done.deed.evidence}: {held[done.verified]}" if done.deed.evidence else ""
    return f"{done.finding.label}: was {was}, is {now}{evidence}"


def _answer(told: dict[str, Any], done: list[Done]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "sweep": told["sweep"],
        "campaign": told["campaign"],
        "as_of": told["as_of"],
        **{name: told[name] for name in _OUTCOME},
        "findings": [_told(each) for each in done],
    }


def _told(done: Done) -> dict[str, Any]:
    deed, finding = done.deed, done.finding
    stood = {
        name: {"status": at.status, "state": at.state, "verdict": at.verdict}
        for name, at in (("before", done.before), ("after", done.after))
    }
    return {
        "fp": str(finding.fp),
        "label": finding.label,
        "severity": finding.severity,
        "act": deed.act,
        **{name: getattr(deed, name) for name in ("by", "reason", "evidence", "expires", "revision", "scope")},
        "verified": done.verified,
        **stood,
    }


def _campaign(home: Home, asked: list[Asked], sweep: str | None, campaign: str | None) -> Campaign:
    if sweep is not None and sweep not in home.sweeps():
        raise NotFound("sweep", short(sweep), home.sweeps())
    if campaign is None:
        return deeds.campaign_for(home, asked, sweep)
    named = f"{sweep}/{campaign}" if sweep is not None and "/" not in campaign else campaign
    owner, name = find_campaign(home, named)
    if sweep is not None and owner != sweep:
        raise Refused(f"{campaign} is no campaign of {sweep}", key="campaign", help="name one of them only")
    return deeds.campaign_for(home, asked, owner, name)


def _path(file: str) -> Path:
    return STDIN if file == "-" else Path(file)


def _text(file: str) -> str | None:
    """Return what stands on stdin where the file is that; None where it is to be read. Raises ``DeclarationError``."""
    if file != "-":
        return None
    try:
        # One byte more than is taken, so that what is too large is refused as such.
        return sys.stdin.buffer.read(MAX_BYTES + 1).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DeclarationError("is not UTF-8 text", file=STDIN) from None
