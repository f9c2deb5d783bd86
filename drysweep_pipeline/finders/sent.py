"""What is sent of a snapshot to who cannot read it: the rows of a declared SELECT, as JSON, whole or not at all.

Where canaries are to be seen among them, those are sent as well. Every row of the snapshot is sent all the same: a
planted row that took the place of one on a page would have that one sent to nobody.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from drysweep_pipeline import sandbox
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Send
from drysweep_pipeline.errors import FinderError, Refused, RowsRefused
from drysweep_pipeline.material.planting import Planted
from drysweep_pipeline.mentions import mentioning

_PAGING = "send less: name fewer columns, or let an angle page through the rows"
# How many rows may come of what is planted, on top of those that may be sent.
_PLANTED = 1000
_ROWS_AT_ONCE = 100
_EMPTY = "mend it, or declare allow_empty: true where there may be none and that means nothing to find"
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


def sent(
    send: Send,
    database: Path | None,
    offered: Mapping[str, Any],
    seconds: float,
    children: Children,
    planted: Planted | None = None,
) -> Sent:
    """Return the rows of the declared SELECT, run on a locked connection with what it names of ``offered`` bound.

    It ends with the ``children``. With ``planted``, the rows that its copy gives and that mention something planted are
    among them. Raises ``RowsRefused`` where it is no SELECT, gives more than the caps allow, or no rows though that is
    not declared; ``FinderError`` where it fails or takes longer than ``seconds``.
    """
    if database is None:
        raise FinderError("the material has no tables to send rows of")
    try:
        wanted = sandbox.check_query(send.query.text)
    except Refused as error:
        raise RowsRefused(f"{send.query.file}: {error.what}", help=error.help) from None
    bound = {name: value for name, value in offered.items() if name in wanted}
    until = _Deadline(seconds)
    selected = _selected(send, database, bound, until.left, children, send.max_rows_sent)
    if not selected.num_rows and not send.allow_empty:
        # As a query does whose key or table has another name by now: what it is for is still there, and unseen.
        raise RowsRefused(f"{send.query.file} gives no rows to send: nobody was asked", help=_EMPTY)
    rows: Iterable[dict[str, Any]] = until.rows(selected)
    if planted is not None:
        most = send.max_rows_sent + _PLANTED
        copied = until.rows(_selected(send, planted.snapshot.database, bound, until.left, children, most))
        rows = _among(rows, copied, planted.names)
    return _within(send, rows, until)


class _Deadline:
    """The moment until which everything has to be put together."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._until = seconds, time.monotonic() + seconds

    @property
    def left(self) -> float:
        """How many seconds there are."""
        return max(0.0, self._until - time.monotonic())

    def rows(self, table: pa.Table) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table. Raises ``FinderError`` where the moment came before."""
        for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
            self.check()
            yield from _plain(batch)

    def check(self) -> None:
        """Raise ``FinderError`` where the moment came."""
        if not self.left:
            what = f"timeout: still putting together what to send after {self._seconds:g} s"
            raise FinderError(what, status="timeout")


def _selected(
    send: Send, database: Path, bound: dict[str, Any], seconds: float, children: Children, most: int
) -> pa.Table:
    """Return what the SELECT gives on a database."""
    with sandbox.locked(database) as connection:
        try:
            return sandbox.run(
                connection, send.query.text, bound, seconds=seconds, max_rows=most, holding=children.holding
            )
        except FinderError as error:
            if error.status == "truncated":
                what = f"{send.query.file} gives more than {most} rows, which is all that may be sent"
                raise RowsRefused(what, help=f"raise max_rows_sent, or {_PAGING}") from None
            raise FinderError(f"{send.query.file}: {error.what}", status=error.status, help=error.help) from None


def _among(
    rows: Iterable[dict[str, Any]], copied: Iterable[dict[str, Any]], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Return rows, and among them those of a planted copy that mention one of the names, in their places there."""
    united, planted = list(rows), mentioning(names)
    for place, row in enumerate(copied):
        if planted(json.dumps(row, ensure_ascii=False, default=str)):
            united.insert(place, row)
    return united


def as_json(value: Any) -> str:
    """Return a value as one line of JSON in which nothing is invisible."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "), default=str, allow_nan=False)
    return _INVISIBLE.sub(_escaped, text)


def _within(send: Send, rows: Iterable[dict[str, Any]], until: _Deadline) -> Sent:
    """Return rows with their lines where those are within the cap on characters."""
    kept: list[dict[str, Any]] = []
    lines: list[str] = []
    left = send.max_chars
    for row in rows:
        if len(kept) % _ROWS_AT_ONCE == 0:
            until.check()
        kept.append(row)
        lines.append(_line(send, row))
        left -= len(lines[-1]) + 1
        if left < 0:
            what = f"{send.query.file} gives more than {send.max_chars} characters, which is all that may be sent"
            raise RowsRefused(what, help=f"raise max_chars, or {_PAGING}")
    return Sent(kept, lines)


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
