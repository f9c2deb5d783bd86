"""The findings for a program that reads lines: the campaign, a finding a line, and a mark that nothing is missing."""

from collections.abc import Iterator

from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import head_of, rows_of
from drysweep_pipeline.reports.text import json_text


def render(said: Contents) -> str:
    """Return JSON objects, one a line; ``drysweep`` says what each is: ``campaign``, ``finding`` or ``end``."""
    return "".join(f"{line}\n" for line in _lines(said))


def _lines(said: Contents) -> Iterator[str]:
    yield json_text({"drysweep": "campaign", **head_of(said)})
    for row in rows_of(said):
        yield json_text({"drysweep": "finding", **row})
    yield json_text({"drysweep": "end", "count": len(said.findings)})
