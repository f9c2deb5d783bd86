"""Whether a campaign found anything bad enough to fail on: ``major``, or ``new:major`` for what is new to it.

New is what the campaign before it did not sight, and what this one reopened: it was fixed meanwhile, so that nobody
can have been told to expect it.
"""

from typing import Any

from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.history import history
from drysweep_pipeline.history.campaign import Past, Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Severity


def check_threshold(fail_on: str | None) -> None:
    """Raise ``DeclarationError`` unless ``fail_on`` is a severity, with or without ``new:``."""
    word = (fail_on or "major").removeprefix("new:")
    if word not in list(Severity):
        raise DeclarationError(f"{fail_on!r} is no threshold", key="--fail-on", help="major, or new:major")


def found(home: Home, sweep: str, campaign: str, fail_on: str) -> bool:
    """Tell whether a campaign sighted unsettled findings at or above a severity; rejected ones do not count.

    ``new:`` counts only those that the campaign before it in the order did not sight, and those that were reopened.
    """
    bar = Severity(fail_on.removeprefix("new:"))
    with history(home) as connection:
        past = Past(connection, sweep, campaign)
        return bool(past.unsettled(_at_or_above(bar), 1, **_only(past, new=fail_on.startswith("new:"))))


def new_at(past: Past, bar: Severity) -> list[Row]:
    """Return the findings at or above a severity that ``new:`` would fail on, the worst first."""
    return past.unsettled(_at_or_above(bar), None, **_only(past, new=True))


def _at_or_above(bar: Severity) -> list[str]:
    return [severity.value for severity in Severity if severity.rank <= bar.rank]


def _only(past: Past, *, new: bool) -> dict[str, Any]:
    previous = past.previous() if new else None
    return {"only_new": new, "previous": previous["campaign"] if previous else None}
