"""Texts, days and instants as people note them down: types for models of what is written beside sweeps."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Annotated

from pydantic import BeforeValidator, StringConstraints

from drysweep_pipeline.declaration.model import not_allowed
from drysweep_pipeline.declaration.refusals import shown

_HELP = "a date is written 2026-01-31"


def instant(value: object) -> datetime:
    """Return an ISO date or instant in UTC; a day stands for its midnight. Raises a validator's error."""
    value = _from_iso(value, datetime.fromisoformat)
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    raise not_allowed(f"expected a date, got {shown(value)}", _HELP)


def _day(value: object) -> date | None:
    value = _from_iso(value, date.fromisoformat)
    if value is None or (isinstance(value, date) and not isinstance(value, datetime)):
        return value
    raise not_allowed(f"expected a date, got {shown(value)}", _HELP)


def _from_iso(value: object, parse: Callable[[str], date]) -> object:
    try:
        return parse(value) if isinstance(value, str) else value
    except ValueError:
        return value


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Instant = Annotated[datetime, BeforeValidator(instant)]
Day = Annotated[date | None, BeforeValidator(_day)]
