"""What is sent of a snapshot to who cannot read it: the rows of a declared SELECT, as JSON, whole or not at all."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from drysweep_pipeline import sandbox
from drysweep_pipeline.declaration.model import Send
from drysweep_pipeline.errors import FinderError, Refused, RowsRefused

_PAGING = "send less: name fewer columns, or let an angle page through the rows"
# Nothing that a reader cannot see: format and control characters, private ones, and those that tags are made of.
_INVISIBLE = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\ufff0-\ufffb\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


@dataclass(frozen=True, slots=True)
class Sent:
    """The rows that are sent: as values, and each as one line of JSON. ``characters`` counts the lines."""

    rows: list[dict[str, Any]]
    lines: list[str]

    @property
    def characters(self) -> int:
        """How many characters the lines have, one counted for what parts them."""
        return sum(len(line) + 1 for line in self.lines)


def sent(send: Send, database: Path | None, offered: Mapping[str, Any], seconds: float) -> Sent:
    """Return the rows of the declared SELECT, run on a locked connection with what it names of ``offered`` bound.

    Raises ``RowsRefused`` where it is no SELECT or gives more than the caps allow, ``FinderError`` where it fails or
    takes longer than ``seconds``.
    """
    if database is None:
        raise FinderError("the material has no tables to send rows of")
    try:
        wanted = sandbox.check_query(send.query.text)
    except Refused as error:
        raise RowsRefused(f"{send.query.file}: {error.what}", help=error.help) from None
    bound = {name: value for name, value in offered.items() if name in wanted}
    began = time.monotonic()
    with sandbox.locked(database) as connection:
        try:
            table = sandbox.run(connection, send.query.text, bound, seconds=seconds, max_rows=send.max_rows_sent)
        except FinderError as error:
            if error.status == "truncated":
                what = f"{send.query.file} gives more than {send.max_rows_sent} rows, which is all that may be sent"
                raise RowsRefused(what, help=f"raise max_rows_sent, or {_PAGING}") from None
            raise FinderError(f"{send.query.file}: {error.what}", status=error.status, help=error.help) from None
    return _within(send, table, seconds - (time.monotonic() - began))


def as_json(value: Any) -> str:
    """Return a value as one line of JSON in which nothing is invisible."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str, allow_nan=False)
    return _INVISIBLE.sub(_escaped, text)


def _within(send: Send, table: pa.Table, seconds: float) -> Sent:
    """Return the rows of a table where they are within the cap on characters."""
    until = time.monotonic() + seconds
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    left = send.max_chars
    for batch in table.to_batches(max_chunksize=100):
        if time.monotonic() > until:
            raise FinderError(f"timeout: still putting together what to send after {seconds:g} s", status="timeout")
        for row in _plain(batch):
            rows.append(row)
            lines.append(_line(send, row))
            left -= len(lines[-1]) + 1
            if left < 0:
                what = f"{send.query.file} gives more than {send.max_chars} characters, which is all that may be sent"
                raise RowsRefused(what, help=f"raise max_chars, or {_PAGING}")
    return Sent(rows, lines)


def _plain(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = batch.to_pylist()
    except (ArithmeticError, ValueError, TypeError, pa.ArrowException) as error:
        raise RowsRefused(f"a value cannot be sent: {error}", help="cast it to text") from None
    return rows


def _line(send: Send, row: Mapping[str, Any]) -> str:
    try:
        return as_json(row)
    except ValueError as error:  # a number that JSON has no way to write, half of a surrogate pair
        raise RowsRefused(f"{send.query.file}: a row cannot be sent as JSON: {error}", help="cast it to text") from None


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
