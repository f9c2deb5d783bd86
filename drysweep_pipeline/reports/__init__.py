"""Reports: a campaign told to programs and to people, each format one file and one entry in ``FORMATS``.

Every report leads with the outcome, and is made from the published history; what lies beside that is used while it
is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from drysweep_pipeline.durable import write_bytes
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.asked import PLAIN, Asked

if TYPE_CHECKING:
    from drysweep_pipeline.reports.contents import Contents


@dataclass(frozen=True, slots=True)
class Format:
    """A way to tell a campaign: the module that renders it, how the names of its files end, and whether it is no text.

    What renders is loaded when it is asked for: every command loads this package, and few make a report.
    """

    module: str
    suffix: str
    binary: bool = False

    def render(self, told: "Contents") -> str | bytes:
        """Return what was gathered of a campaign in this format."""
        return cast("str | bytes", import_module(f"{__name__}.{self.module}").render(told))

    def __call__(self, home: Home, sweep: str, campaign: str, asked: Asked = PLAIN) -> str | bytes:
        """Return the report of a campaign. Raises ``NotFound`` where it was not published."""
        return self.render(_contents(home, sweep, campaign, asked))


FORMATS: Mapping[str, Format] = {
    "html": Format("html", ".html"),
    "md": Format("markdown", ".md"),
    "json": Format("json", ".json"),
    "sarif": Format("sarif", ".sarif"),
    "junit": Format("junit", ".junit.xml"),
    "csv": Format("csv", ".csv"),
    "jsonl": Format("jsonl", ".jsonl"),
    "parquet": Format("parquet", ".parquet", binary=True),
    "github": Format("github", ".github.txt"),
    "openmetrics": Format("openmetrics", ".prom"),
}
# The one that a person is sent to comes first: the others name it.
WRITTEN = ("html", "md", "json", "sarif")


def write_report(home: Home, sweep: str, campaign: str) -> dict[str, Path]:
    """Write the reports that every campaign gets, each whole or not at all, and return where they lie by format."""
    told = _contents(home, sweep, campaign)
    first = home.sweep(sweep).report(campaign, FORMATS[WRITTEN[0]].suffix)
    return _write_all(home, replace(told, told={**told.told, "report": str(first)}), WRITTEN, {})


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
    return _write_all(home, _contents(home, sweep, campaign, asked), names, places or {})


def _contents(home: Home, sweep: str, campaign: str, asked: Asked = PLAIN) -> "Contents":
    from drysweep_pipeline.reports.contents import contents

    return contents(home, sweep, campaign, asked)


def _write_all(home: Home, told: "Contents", names: Sequence[str], places: Mapping[str, Path]) -> dict[str, Path]:
    reports = {name: FORMATS[name].render(told) for name in names}
    lie = home.sweep(told.told["sweep"]).report
    paths = {name: lie(told.told["campaign"], FORMATS[name].suffix) for name in names} | dict(places)
    for name, report in reports.items():
        write_bytes(paths[name], report.encode() if isinstance(report, str) else report)
    return paths
