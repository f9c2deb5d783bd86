"""Whether two published histories say the same of a sweep, campaign by campaign, to the last column of every view."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb

from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.history.reading import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.wording import first_line

# Of each view, by what its rows are parted. In which order events of several campaigns came makes no difference.
_VIEWS = {
    "campaigns": ("*", "campaign"),
    "rounds": ("*", "campaign"),
    "strategy_runs": ("*", "campaign"),
    "sightings": ("*", "campaign"),
    "verdicts": ("*", "campaign"),
    "events": ("* exclude (seq)", "campaign"),
    "all_findings": ("*", "first_campaign"),
}
_STEADY = ("rounds", "strategy_runs", "sightings")
_SAYS = """
    select {part} as part, count(*), sum(cast(hash(said) as hugeint))
    from (select {columns} from {view} where sweep = ?) as said
    group by all
"""
_PUBLISHED = """
    select campaign, list(round order by round) filter (where round is not null)
    from published.campaigns
    left join published.rounds using (sweep, campaign)
    where sweep = ?
    group by campaign
"""
_SWEEPS = "select distinct sweep from published.campaigns order by sweep"
Published = dict[str, list[int]]
Says = dict[tuple[str, str], tuple[int, int]]
Opened = duckdb.DuckDBPyConnection | None
"""A history that is looked into, None where nothing was published yet."""


@contextmanager
def opened(home: Home) -> Iterator[Opened]:
    """Yield the history as it is now, whatever is published meanwhile; None where nothing was published yet."""
    if not home.history.exists():
        yield None
        return
    with history(home) as connection:
        yield connection


def published(connection: duckdb.DuckDBPyConnection, sweep: str) -> Published:
    """Return the rounds that are published of each campaign of a sweep; nothing where that cannot be read."""
    with suppress(duckdb.Error):
        return {name: rounds or [] for name, rounds in connection.execute(_PUBLISHED, [sweep]).fetchall()}
    return {}


def sweeps(home: Home) -> list[str]:
    """Return the sweeps that the published history knows; none where it is not there or cannot be read."""
    with suppress(duckdb.Error, IntegrityError), opened(home) as connection:
        if connection is not None:
            return [name for (name,) in connection.execute(_SWEEPS).fetchall()]
    return []


def says(connection: duckdb.DuckDBPyConnection, sweep: str, file: Path) -> Says:
    """Return how many rows each view has of each campaign of a sweep, and a sum over all that they hold.

    Raises ``IntegrityError`` where that cannot be read from the ``file``.
    """
    found: Says = {}
    try:
        for view, (columns, part) in _VIEWS.items():
            sql = _SAYS.format(view=view, columns=columns, part=part)
            for campaign, count, total in connection.execute(sql, [sweep]).fetchall():
                found[view, campaign] = (count, total)
    except duckdb.Error as error:
        raise IntegrityError(f"the history cannot be read: {first_line(error)}", file=file) from None
    return found


def differing(published: Says, expected: Says, *, under_way: bool) -> list[str]:
    """Return the views that differ, each with the campaigns of which it says something else.

    While a round is ``under_way``, those are looked at only that what it has done so far does not change.
    """
    found: dict[str, list[str]] = {}
    for view, campaign in sorted(set(published) | set(expected)):
        if under_way and view not in _STEADY:
            continue
        if published.get((view, campaign)) != expected.get((view, campaign)):
            found.setdefault(view, []).append(campaign)
    return [
        f"{view} of {', '.join(campaigns[:3])}{', ...' if len(campaigns) > 3 else ''}"
        for view, campaigns in found.items()
    ]
