"""The campaigns of a home: are their states readable, is who works on them alive, do they belong to anything."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.instants import zulu

_A_DAY = timedelta(days=1)
_SKEW_SECONDS = 300


def checks(home: Home) -> Iterator[Check]:
    """Yield what is not well with the campaigns of a home."""
    for name in home.sweeps():
        place = home.sweep(name)
        for path in sorted((place.root / "state").glob("*.json")):
            yield from _state(place, path)
        yield from _without_state(place)
        yield from _pruned(place)


def _pruned(place: SweepHome) -> Iterator[Check]:
    """Yield where the list of what was pruned of a sweep is none: what is on it would be taken for lost."""
    from drysweep_pipeline.errors import DrysweepError
    from drysweep_pipeline.keeping.gone import gone, listed

    try:
        gone(place)
    except (DrysweepError, ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        what = error.what if isinstance(error, DrysweepError) else f"is no list that drysweep wrote: {error!r}"
        yield Check(f"pruned {place.name}", False, what, "restore it from a copy", str(listed(place)))


def _state(place: SweepHome, path: Path) -> Iterator[Check]:
    from drysweep_pipeline.engine.state import GOING_ON, State, read_state
    from drysweep_pipeline.errors import DrysweepError

    name = f"state {place.name}/{path.stem}"
    try:
        state = read_state(path)
    except (DrysweepError, ValueError, KeyError, TypeError, OSError) as error:
        what = error.what if isinstance(error, DrysweepError) else f"is no state that drysweep wrote: {error!r}"
        help = f"remove it, and then drysweep resume {place.name}/{path.stem} or drysweep rebuild {place.name}"
        yield Check(name, False, what, help, str(path))
        return
    if not place.landing(path.stem).is_dir():
        yield Check(name, False, "there is no campaign of that name", "remove it", str(path))
        return
    assert isinstance(state, State), "the file is there"
    # One that has ended keeps the lease of who ended it; nobody needs to go on with that.
    if state.lease is not None and not state.lease.alive and state.outcome in GOING_ON:
        found = f"process {state.lease.pid} worked on it and is dead"
        yield Check(name, False, found, f"drysweep resume {place.name}/{path.stem} goes on", str(path))
    yield from _clock(name, path)


def _clock(name: str, path: Path) -> Iterator[Check]:
    """Yield where a campaign was written in the future, as this machine's clock has it."""
    ahead = path.stat().st_mtime - time.time()
    if ahead > _SKEW_SECONDS:
        found = f"was written {ahead / 60:.0f} minutes from now"
        yield Check(name, False, found, "set this machine's clock: places in the order go by it", str(path))


def _without_state(place: SweepHome) -> Iterator[Check]:
    """Yield the campaigns that landed and have no state, and those that look at a day that is still to come."""
    import json

    for path in sorted(place.root.glob("landing/*/campaign.json")):
        name = f"campaign {place.name}/{path.parent.name}"
        if not place.state(path.parent.name).exists():
            help = f"drysweep rebuild {place.name} makes it from what landed"
            yield Check(name, False, "has no state, so that nobody goes on with it", help, str(path))
        try:
            as_of = datetime.fromisoformat(json.loads(path.read_bytes())["as_of"])
        except (OSError, ValueError, KeyError, TypeError):
            help = f"drysweep verify {place.name} says what else is not as it was recorded"
            yield Check(name, False, "cannot be read", help, str(path))
            continue
        if as_of > datetime.now(UTC) + _A_DAY:
            found = f"looks at {zulu(as_of)}, which is still to come"
            help = "campaigns as of today take their place before it; look at this machine's clock"
            yield Check(name, True, found, help, str(path))
