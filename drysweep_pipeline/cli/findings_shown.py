"""Findings on a terminal and as JSON: a list of them, one as it stands, and the life of one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drysweep_pipeline.cli.fitting import fitted
from drysweep_pipeline.cli.options import find_campaign, home_of, project_root
from drysweep_pipeline.cli.output import note, put, put_json, put_table, table_width
from drysweep_pipeline.declaration import declared_name, find_sweeps
from drysweep_pipeline.declaration.refusals import did_you_mean
from drysweep_pipeline.engine.naming import meant, short
from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.history import findings as past
from drysweep_pipeline.history import history
from drysweep_pipeline.history.biography import Biography, biography, held
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.values import Severity, State, Verdict
from drysweep_pipeline.wording import count

STATUSES = (*(state.value for state in State), Verdict.REJECTED.value, Verdict.UNDECIDED.value)
_SHOWN = ("fp", "sweep", "status", "severity", "finding", "owner", "where", "last seen", "not observed")
# What may be cut to the width of a terminal, and what may have no room there; a pipe, JSON and `show` have all of it.
_CUT = {"finding": 28, "owner": 12, "where": 12, "last seen": 12, "sweep": 12}
_SPARE = ("not observed", "owner", "last seen")
# How much of a fingerprint a person needs to see; a command takes six characters.
_BEGINNING = 8
_WHAT = ("label", "fp", "severity", "title", "subject", "kind", "scope", "owner", "evidence")
_STANDS = ("status", "state", "verdict")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which findings are asked for: of a sweep or a campaign, by status, severity and owner, at most so many."""

    what: str | None = None
    status: Sequence[str] = ()
    severity: Sequence[str] = ()
    owner: str | None = None
    rejected: bool = False
    limit: int | None = None


def listed(given: Path | None, wanted: Filter, as_json: bool) -> int:
    """Print the findings that are asked for, and the outcomes that they stand under."""
    _check("--status", wanted.status, STATUSES)
    _check("--severity", wanted.severity, [severity.value for severity in Severity])
    home, sweep, campaign = _scope(given, wanted.what)
    heads, found = _found(home, sweep, campaign, wanted)
    kept = [row for row in found if wanted.rejected or "rejected" in wanted.status or row["status"] != "rejected"]
    shown = kept if wanted.limit is None else kept[: wanted.limit]
    if as_json:
        put_json(_list_json(heads, shown, len(kept), len(found) - len(kept)))
        return 0
    if shown:
        _put_list(shown)
    put(_counted(len(shown), len(kept), len(found) - len(kept)))
    for head in heads:
        put(f"{head['sweep']}/{head['campaign']}: {summary(home, head['sweep'], head['campaign'])['verdict']}")
    return 0


def shown(given: Path | None, name: str, sweep: str | None, as_json: bool) -> int:
    """Print what a finding is and where it stands."""
    told = _biography(given, name, sweep)
    if as_json:
        put_json(_show_json(told))
        return 0
    for key, value in _facts(told):
        put(f"{key + ':':<16}{value}")
    put(_outcome(told.head))
    return 0


def explained(given: Path | None, name: str, sweep: str | None, as_json: bool) -> int:
    """Print where a finding stands in a sentence, and then its life in order."""
    told = _biography(given, name, sweep)
    if as_json:
        put_json({**_show_json(told), "life": told.life})
        return 0
    put(told.sentence)
    for event in told.life:
        put(f"  {event['campaign']} round {event['round']} ({event['as_of'][:10]}): {_happened(event)}")
    put(_outcome(told.head))
    return 0


def _biography(given: Path | None, name: str, sweep: str | None) -> Biography:
    home = home_of(given)
    if sweep is not None and sweep not in home.sweeps():
        raise NotFound("sweep", short(sweep), home.sweeps())
    named = meant(home, name, sweep)
    return biography(home, named.sweep, named.fp)


def _check(option: str, given: Sequence[str], known: Sequence[str]) -> None:
    for word in given:
        if word not in known:
            raise Refused(f"{option}: there is no {short(word)!r}", key=option, help=did_you_mean(word, known))


def _scope(given: Path | None, what: str | None) -> tuple[Home, str | None, str | None]:
    """Return the home, and the sweep and the campaign that a name on the command line stands for."""
    is_file = what is not None and what.endswith((".yaml", ".yml"))
    home = home_of(given, Path(what) if what is not None and is_file else None)
    if what is None:
        return home, None, None
    name = declared_name(Path(what)) if is_file else what
    if is_file or name in home.sweeps() or name in find_sweeps(project_root()):
        return home, name, None
    sweep, campaign = find_campaign(home, name)
    if not home.sweep(sweep).landing(campaign).is_dir():
        raise NotFound("sweep or campaign", short(what), home.sweeps())
    return home, sweep, campaign


def _found(home: Home, sweep: str | None, campaign: str | None, wanted: Filter) -> tuple[list[Row], list[Row]]:
    if not home.history.exists():
        return [], []
    given: dict[str, Any] = {"sweep": sweep, "campaign": campaign}
    with history(home) as connection:
        found = past.listed(connection, **given, status=wanted.status, severity=wanted.severity, owner=wanted.owner)
        return past.heads(connection, sweep, campaign), found


def _list_json(heads: list[Row], shown: list[Row], total: int, left_out: int) -> dict[str, Any]:
    names = ("sweep", "campaign", "as_of", "outcome", "reason", "k", "rounds")
    only = heads[0] if len(heads) == 1 else {}
    return {
        "schema_version": 1,
        **{name: only.get(name) for name in names},
        "campaigns": heads,
        "total": total,
        "rejected_left_out": left_out,
        "findings": shown,
    }


def _put_list(shown: list[Row]) -> None:
    """Print findings as a table that fits the terminal, with their sweeps where they are of several."""
    rows = [["" if value is None else safe_text(str(value)) for value in _line(row)] for row in shown]
    names, sweep = list(_SHOWN), _SHOWN.index("sweep")
    if len({row["sweep"] for row in shown}) == 1:
        names, rows = [*_SHOWN[:sweep], *_SHOWN[sweep + 1 :]], [[*row[:sweep], *row[sweep + 1 :]] for row in rows]
    table = fitted(names, rows, table_width(), cut=_CUT, spare=_SPARE)
    put_table(table.columns, table.rows)
    if table.left_out:
        note(f"no room for {', '.join(table.left_out)}: a wider terminal, a pipe or --json has it")


def _line(row: Row) -> list[Any]:
    seen = f"{row['last_campaign']} r{row['last_round']}"
    place = _where(row)
    beginning = row["fp"][:_BEGINNING]
    said = (row["sweep"], row["status"], row["severity"], row["label"], row["owner"])
    return [beginning, *said, place, seen, row["not_observed"]]


def _where(row: Row) -> str:
    line = f":{row['line']}" if row["line"] is not None else ""
    return f"{row['path']}{line}" if row["path"] else ""


def _counted(shown: int, total: int, left_out: int) -> str:
    first = f"the first {shown} of " if shown < total else ""
    rejected = f"; {left_out} rejected left out" if left_out else ""
    return f"{first}{count(total, 'finding')}{rejected}"


def _show_json(told: Biography) -> dict[str, Any]:
    ruling = {f"verdict_{name}": (told.ruling or {}).get(name) for name in ("reason", "campaign", "round")}
    names = ("name", "at", "campaign", "round", "evidence", "verified", "revision", "scope", "basis")
    move = {f"state_{name}": (told.move or {}).get(name) for name in names}
    head = {f"sweep_{name}": told.head[name] for name in ("campaign", "as_of", "outcome", "reason", "k", "rounds")}
    judge = (told.ruling or {}).get("judge")
    return {"schema_version": 1, "sentence": told.sentence, **told.finding, "judge": judge, **ruling, **move, **head}


def _facts(told: Biography) -> Iterator[tuple[str, Any]]:
    """Yield what is known of a finding, name by name, what is not known left out."""
    finding, ruling, move = told.finding, told.ruling, told.move
    yield "stands", told.sentence
    for name in (*_WHAT, *_STANDS):
        if finding[name] is not None:
            yield name, finding[name]
    if _where(finding):
        yield "where", _where(finding)
    yield from finding["attributes"].items()
    if ruling is not None and ruling["verdict"] != Verdict.UNJUDGED:
        because = f": {ruling['reason']}" if ruling["reason"] else ""
        yield (
            "judged",
            f"{ruling['verdict']} by {ruling['judge']} in round {ruling['round']} of {ruling['campaign']}{because}",
        )
    if move is not None:
        yield from _moved(move)
    yield "first seen", f"round {finding['first_round']} of {finding['first_campaign']}"
    yield "last seen", f"round {finding['last_round']} of {finding['last_campaign']}"
    yield "not observed", f"in {count(finding['not_observed'], 'later campaign')}"
    yield "sightings", f"{finding['sightings']}, by {', '.join(finding['strategies'])}"


def _moved(move: Row) -> Iterator[tuple[str, Any]]:
    who = f" by {move['actor']}" if move["actor"] else ""
    yield "since", f"{move['at']}{who}, after round {move['round']} of {move['campaign']}"
    if move["reason"]:
        yield "because", move["reason"]
    if move["evidence"]:
        yield "pointing at", f"{move['evidence']} ({held(move['verified'])})"
    for name in ("revision", "scope", "expires"):
        if move[name]:
            yield f"{name} of it" if name == "scope" else name, move[name]
    if move["basis"]:
        yield "accepted for", move["basis"]


def _happened(event: Row) -> str:
    """Return what one entry of a life says."""
    if event["what"] == "sighting":
        angle = f" at the angle {event['angle']}" if event["angle"] not in (None, "{}") else ""
        return f"{event['strategy']} saw it{angle}"
    if event["what"] == "verdict" and event["verdict"] == Verdict.UNJUDGED:
        return "nobody judges"
    if event["what"] == "verdict":
        return f"{event['judge']} judge: {event['verdict']}" + (
            f" because {event['reason']}" if event["reason"] else ""
        )
    if event["what"] == "absence":
        ways = ", ".join(f"{each['strategy']} {each['looked'].replace('_', ' ')}" for each in event["looked"])
        withheld = f"; {event['withheld']}" if event["withheld"] else ""
        return f"not observed ({event['outcome']}); {event['says']} [{ways}]{withheld}"
    who = f" by {event['actor']}" if event["actor"] else ""
    evidence = f" with {event['evidence']} ({held(event['verified'])})" if event["evidence"] else ""
    until = f" until {event['expires']}" if event["expires"] else ""
    return f"{event['name']}{who}{until}{evidence}" + (f" because {event['reason']}" if event["reason"] else "")


def _outcome(head: Row) -> str:
    reason = f" ({head['reason']})" if head["reason"] else ""
    return (
        f"{head['sweep']}/{head['campaign']}: {head['outcome']}{reason} after {head['rounds']} rounds (K={head['k']})"
    )
