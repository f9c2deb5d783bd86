"""The page of the history's views and macros as Markdown: ``make reference`` writes it."""

import sys
from collections.abc import Iterator

from drysweep_pipeline.history.reference import Described, reference
from drysweep_pipeline.reports.text import cell, code

_HEAD = """\
# Tables of the history

What `history.duckdb` holds for whoever asks it, as the file itself says it in `comment on`; `make reference` writes
this page. How to open it from other tools is told in [opening the history](../history.md), what to ask in the
[cookbook](../cookbook.md). Times are UTC, and rows of all sweeps are side by side: say `where sweep = '...'`. Where a
row could be taken for a total, its campaign's `outcome` stands beside it: anything but `converged` is a lower bound.
"""
_MACROS = """\
## Macros

Called as tables: `from findings_as_of('2026-01-31')`.
"""


def page() -> str:
    """Return the page: views first, then macros, the same text whenever those are the same."""
    return "\n".join(_parts(reference()))


def _parts(all_of_it: list[Described]) -> Iterator[str]:
    yield _HEAD
    yield "## Views\n"
    for each in all_of_it:
        if each.name == each.called:
            yield from _one(each)
    yield _MACROS
    for each in all_of_it:
        if each.name != each.called:
            yield from _one(each)


def _one(each: Described) -> Iterator[str]:
    yield f"### {each.called}\n"
    yield cell(each.grain, limit=2000) + (" Also as Parquet." if each.in_parquet else "") + "\n"
    yield "| column | type | |\n| --- | --- | --- |"
    yield from (f"| {code(one.name)} | {one.type.lower()} | {cell(one.meaning, limit=2000)} |" for one in each.columns)
    yield ""


def main() -> None:
    """Write the page to stdout."""
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
