"""``drysweep campaigns``: the campaigns there are, with their outcomes."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from drysweep_pipeline.cli.options import HomeOption, JsonOption, OneSweepArgument, project_root, recorded_in
from drysweep_pipeline.home import Home
from drysweep_pipeline.instants import zulu

_COLUMNS = (
    *("sweep", "campaign", "as_of", "outcome", "reason", "k", "rounds", "quiet", "seen", "confirmed", "rejected"),
    *("looked_again", "strategies", "missed_by_k", "undecided", "unjudged"),
)
# What a person reads; the campaign is shown as the other commands take it, its age as of what it looked at.
_SHOWN = ("campaign", "age", "outcome", "reason", "rounds", "seen", "confirmed", "rejected")
_WHERE_THERE_ARE_ANY = ("undecided", "unjudged")
_NUMBERS = ("age", "rounds", "seen", "confirmed", "rejected", *_WHERE_THERE_ARE_ANY)
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1))
_QUERY = f"""
    select {", ".join(_COLUMNS)}
    from campaigns
    where $sweep is null or sweep = $sweep
    order by sweep, as_of, seq
"""


def campaigns(
    sweep: OneSweepArgument = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """List campaigns in the order of looking, with their outcomes.

    Example: drysweep campaigns my_sweep
    """
    from drysweep_pipeline.cli.output import note, put, put_json, put_table
    from drysweep_pipeline.history.reading import history

    place, sweep = recorded_in(home, sweep)
    found = []
    if place.history.exists():
        with history(place) as connection:
            found = connection.execute(_QUERY, {"sweep": sweep}).fetchall()
    if sweep is not None and not found:
        _check_known(place, sweep)
    listed = [dict(zip(_COLUMNS, (_plain(value) for value in row), strict=True)) for row in found]
    waiting = _waiting(place, {row["sweep"] for row in listed})
    listed = [{**row, "waits_for": waiting.get((row["sweep"], row["campaign"]))} for row in listed]
    if json:
        put_json({"schema_version": 1, "campaigns": listed})
    else:
        now = datetime.now(UTC)
        aged = [{**row, "age": age(datetime.fromisoformat(row["as_of"]), now)} for row in listed]
        named = [{**row, "campaign": f"{row['sweep']}/{row['campaign']}"} for row in aged]
        told = [{**row, "outcome": _outcome(row)} for row in named]
        shown = [*_SHOWN, *(name for name in _WHERE_THERE_ARE_ANY if any(row[name] for row in told))]
        right = frozenset(shown.index(name) for name in shown if name in _NUMBERS)
        put_table(shown, [[row[name] for name in shown] for row in told], right=right)
        for row in named:
            for line in _beside(row):
                put(line)
        for (sweep_of, _), sentence in waiting.items():
            put(f"{sweep_of}/{sentence}")
        if not listed:
            note("there is no campaign yet; `drysweep run SWEEP` starts one")
    return 0


def age(as_of: datetime, now: datetime) -> str:
    """Return how long ago an instant was, in the largest unit that it has one of; what is to come has a plus sign."""
    seconds = (now - as_of).total_seconds()
    unit, length = next((each for each in _UNITS if abs(seconds) >= each[1]), _UNITS[-1])
    return f"{'+' if seconds < 0 else ''}{abs(seconds) // length:.0f} {unit}"


def _outcome(row: dict[str, Any]) -> str:
    """Return an outcome, marked where a campaign looked again: some strategies went quiet there, not the sweep."""
    return f"{row['outcome']} (partial)" if row["looked_again"] else str(row["outcome"])


def _beside(row: dict[str, Any]) -> Iterator[str]:
    """Yield what few campaigns have to say, a line each: a column would take room in the line of every other one."""
    if row["looked_again"]:
        who = ", ".join(row["strategies"])
        yield f"{row['campaign']} looked again with {who} only, at the snapshot of {row['looked_again']}"
    if row["missed_by_k"] is not None:
        yield f"{row['campaign']} looked beyond its convergence: K={row['k']} missed {row['missed_by_k']}"


def _waiting(home: Home, sweeps: set[str]) -> dict[tuple[str, str], str]:
    """Return what the campaigns of sweeps wait for, by sweep and campaign; those that wait for nothing are left out."""
    from drysweep_pipeline.engine.state import read_states
    from drysweep_pipeline.reports.waiting import at_state, waits_for

    found = {}
    for sweep in sorted(sweeps):
        states = read_states(home.sweep(sweep).root / "state")
        for state in states:
            if waiting := waits_for(at_state(state, states)):
                found[sweep, state.campaign] = waiting.sentence
    return found


def _check_known(home: Home, sweep: str) -> None:
    """Raise ``NotFound`` unless the sweep has anything in the home or is declared in the project."""
    from drysweep_pipeline.declaration import find_sweeps
    from drysweep_pipeline.errors import NotFound

    known = sorted({*home.sweeps(), *find_sweeps(project_root())})
    if sweep not in known:
        raise NotFound("sweep", sweep, known)


def _plain(value: Any) -> Any:
    return zulu(value) if isinstance(value, datetime) else value
