"""Whether a campaign found anything bad enough to fail on: ``major``, or ``new:major`` for what is new to it."""

from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.history.reading import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Severity

_FOUND = """
    select count(*)
    from findings f
    semi join sightings s on s.sweep = f.sweep and s.fp = f.fp and s.campaign = $campaign
    where
        f.sweep = $sweep
        and list_contains($severities, f.severity)
        and not list_contains(['contested', 'accepted_risk', 'declined'], f.state)
        and not ($only_new and exists (
            select 1 from sightings earlier
            where earlier.sweep = f.sweep and earlier.fp = f.fp and earlier.campaign = $previous
        ))
"""
_PREVIOUS = """
    select campaign
    from campaigns
    where
        sweep = $sweep
        and looked_again is null
        and (as_of, seq) < (select (as_of, seq) from campaigns where sweep = $sweep and campaign = $campaign)
    order by as_of desc, seq desc
    limit 1
"""


def check_threshold(fail_on: str | None) -> None:
    """Raise ``DeclarationError`` unless ``fail_on`` is a severity, with or without ``new:``."""
    word = (fail_on or "major").removeprefix("new:")
    if word not in list(Severity):
        raise DeclarationError(f"{fail_on!r} is no threshold", key="--fail-on", help="major, or new:major")


def found(home: Home, sweep: str, campaign: str, fail_on: str) -> bool:
    """Tell whether a campaign sighted unsettled findings at or above a severity.

    ``new:`` counts only those that the campaign before it in the order did not have.
    """
    bar = Severity(fail_on.removeprefix("new:"))
    severities = [severity.value for severity in Severity if severity.rank <= bar.rank]
    with history(home) as connection:
        named = {"sweep": sweep, "campaign": campaign}
        previous = connection.execute(_PREVIOUS, named).fetchall()
        parameters = {
            **named,
            "severities": severities,
            "only_new": fail_on.startswith("new:"),
            "previous": previous[0][0] if previous else None,
        }
        return bool(connection.execute(_FOUND, parameters).fetchall()[0][0])
