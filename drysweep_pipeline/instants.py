"""Instants as everything tells them: ISO 8601 in UTC, ending in ``Z``; and as DuckDB hands them over."""

from datetime import UTC, datetime


def zulu(instant: datetime) -> str:
    """Return an aware instant as a text in UTC, with a Z."""
    return instant.astimezone(UTC).isoformat().replace("+00:00", "Z")


def of_microseconds(microseconds: int) -> datetime:
    """Return the instant that DuckDB's ``epoch_us`` stands for, in UTC."""
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC)


def zulu_of(microseconds: int | None) -> str | None:
    """Return what DuckDB's ``epoch_us`` stands for as ``zulu`` tells it, or None where it is null."""
    return None if microseconds is None else zulu(of_microseconds(microseconds))
