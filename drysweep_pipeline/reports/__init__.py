"""Reports: a campaign told to programs and to people, each format one file and one entry in ``FORMATS``.

Every report leads with the outcome, and is made from the published history; what lies beside that is used while it
is there.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from drysweep_pipeline.durable import write_whole
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import json, markdown

FORMATS: Mapping[str, Callable[[Home, str, str], str]] = {
    "md": markdown.render,
    "json": json.render,
}
# The Markdown report comes first, so that the JSON report can name it.
WRITTEN = ("md", "json")


def write_report(home: Home, sweep: str, campaign: str) -> dict[str, Path]:
    """Write the reports that every campaign gets, each whole or not at all, and return where they lie by format."""
    return {name: _written(home, sweep, campaign, name) for name in WRITTEN}


def _written(home: Home, sweep: str, campaign: str, name: str) -> Path:
    text = FORMATS[name](home, sweep, campaign)
    path = home.sweep(sweep).report(campaign, f".{name}")
    write_whole(path, lambda part: _put(part, text))
    return path


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
