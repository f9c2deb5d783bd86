"""Tables made to fit a width: some columns' values are cut, the cut shown, and some columns are left out and named."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

_GAP = 2


@dataclass(frozen=True, slots=True)
class Fitted:
    """A table that fits, as far as it can: its columns, its rows, and the columns that had no room."""

    columns: list[str]
    rows: list[list[str]]
    left_out: list[str]


def fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    cut: Mapping[str, int],
    spare: Sequence[str] = (),
) -> Fitted:
    """Return a table of at most ``width``: first the widest of the ``cut`` columns give way, then ``spare`` ones go.

    ``cut``: the least that a column may be cut to, so that it still tells something. Spare columns go in the order in
    which they are given, and only where cutting all that may be cut is not enough.
    """
    left_out: list[str] = []
    while (widths := _cut(columns, rows, width, left_out, cut)) is None and len(left_out) < len(spare):
        left_out.append(spare[len(left_out)])
    kept = [index for index, name in enumerate(columns) if name not in left_out]
    limits = [(index, (widths or {}).get(columns[index])) for index in kept]
    return Fitted([columns[index] for index in kept], [list(_row(row, limits)) for row in rows], left_out)


def shortened(text: str, width: int) -> str:
    """Return a text that takes at most ``width`` columns of a terminal, with … where it was cut."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _row(row: Sequence[str], limits: Sequence[tuple[int, int | None]]) -> Iterator[str]:
    yield from (row[index] if limit is None else shortened(row[index], limit) for index, limit in limits)


def _cut(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, left_out: Sequence[str], cut: Mapping[str, int]
) -> dict[str, int] | None:
    """Return how wide each column may be for all to fit, or None where they cannot."""
    wide = {
        name: max([cell_len(name), *(cell_len(row[index]) for row in rows)])
        for index, name in enumerate(columns)
        if name not in left_out
    }
    over = sum(wide.values()) + _GAP * (len(wide) - 1) - width
    while over > 0:
        may = [name for name, least in cut.items() if name in wide and wide[name] > max(least, cell_len(name))]
        if not may:
            return None
        widest = max(may, key=wide.__getitem__)
        wide[widest] -= 1
        over -= 1
    return wide
