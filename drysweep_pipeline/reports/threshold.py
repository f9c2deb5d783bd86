"""Whether a campaign found anything bad enough to fail on: ``major``, or ``new:major`` for what is new to it.

New is what ``since`` calls fresh, reopened or open again: what was not known and open when the campaign before it
ended, so that nobody can have been told to expect it. So is, at or above a severity, what was known as less severe
then. That the campaign before did not sight it makes nothing new.
"""

from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.history import history
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Severity


def check_threshold(fail_on: str | None) -> None:
    """Raise ``DeclarationError`` unless ``fail_on`` is a severity, with or without ``new:``."""
    word = (fail_on or "major").removeprefix("new:")
    if word not in list(Severity):
        raise DeclarationError(f"{fail_on!r} is no threshold", key="--fail-on", help="major, or new:major")


def found(home: Home, sweep: str, campaign: str, fail_on: str) -> bool:
    """Tell whether a campaign sighted unsettled findings at or above a severity; rejected ones do not count.

    ``new:`` counts only those that are fresh, reopened or open again since the campaign before it in the order, or
    were less severe then; with none before it, all of them.
    """
    bar = Severity(fail_on.removeprefix("new:"))
    with history(home) as connection:
        past = Past(connection, sweep, campaign)
        before = _previous(past) if fail_on.startswith("new:") else None
        return bool(past.unsettled(_at_or_above(bar), 1, new_since=before))


def new_at(past: Past, bar: Severity) -> list[Row]:
    """Return the findings at or above a severity that ``new:`` would fail on, the worst first."""
    return past.unsettled(_at_or_above(bar), None, new_since=_previous(past))


def _at_or_above(bar: Severity) -> list[str]:
    return [severity.value for severity in Severity if severity.rank <= bar.rank]


def _previous(past: Past) -> str | None:
    previous = past.previous()
    return previous["campaign"] if previous else None
