"""Reports: a campaign told to programs and to people, each format one file and one entry in ``FORMATS``.

Every report leads with the outcome, and is made from the published history; what lies beside that is used while it
is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drysweep_pipeline.durable import write_whole
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import json, markdown
from drysweep_pipeline.reports.asked import PLAIN, Asked, Render


@dataclass(frozen=True, slots=True)
class Format:
    """A way to tell a campaign: what renders it, and how the names of its files end, and whether it is no text."""

    render: Render
    suffix: str
    binary: bool = False

    def __call__(self, home: Home, sweep: str, campaign: str, asked: Asked = PLAIN) -> str | bytes:
        """Return the report of a campaign. Raises ``NotFound`` where it was not published."""
        return self.render(home, sweep, campaign, asked)


FORMATS: Mapping[str, Format] = {
    "md": Format(markdown.render, ".md"),
    "json": Format(json.render, ".json"),
}
# The JSON report comes last, so that it can name the report that a person is sent to first.
WRITTEN = ("md", "json")


def write_report(home: Home, sweep: str, campaign: str) -> dict[str, Path]:
    """Write the reports that every campaign gets, each whole or not at all, and return where they lie by format."""
    # One after the other, since the JSON report names one of those before it.
    return {name: path for each in WRITTEN for name, path in write_reports(home, sweep, campaign, [each]).items()}


def write_reports(
    home: Home,
    sweep: str,
    campaign: str,
    names: Sequence[str],
    asked: Asked = PLAIN,
    places: Mapping[str, Path] | None = None,
) -> dict[str, Path]:
    """Write a campaign in some formats, and return where each lies: as ``places`` says, else in the home.

    Nothing is written before all are rendered, and each file is whole or not there at all.
    """
    told = {name: FORMATS[name](home, sweep, campaign, asked) for name in names}
    paths = {name: home.sweep(sweep).report(campaign, FORMATS[name].suffix) for name in names} | dict(places or {})
    for name, report in told.items():
        _write(paths[name], report)
    return paths


def _write(path: Path, report: str | bytes) -> None:
    data = report.encode("utf-8") if isinstance(report, str) else report
    write_whole(path, lambda part: _put(part, data))


def _put(path: Path, data: bytes) -> None:
    path.write_bytes(data)
