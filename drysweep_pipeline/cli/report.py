"""``drysweep report``: what a campaign found, and why it stopped, in one format or several."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drysweep_pipeline.cli.options import CampaignArgument, HomeOption, find_campaign, home_of
from drysweep_pipeline.errors import Refused

if TYPE_CHECKING:
    from drysweep_pipeline.home import Home
    from drysweep_pipeline.reports.asked import Asked


def report(
    campaign: CampaignArgument,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="One or several of html, md, json, sarif, junit, csv, jsonl, parquet, github, openmetrics; else md.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The file to write; several formats go into a folder.")
    ] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="List rejected findings too, marked as such.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="CSV cells as reported, formulas too: for programs only.")] = False,
    home: HomeOption = None,
    json: Annotated[bool, typer.Option("--json", help="The same as --format json; else where they lie.")] = False,
) -> int:
    """Print a campaign's report, or write it in several formats.

    The outcome is in each.

    Example: drysweep report my_sweep/20260131T060000Z
    """
    from drysweep_pipeline.reports.asked import Asked

    names = _wanted(format, json)
    place, asked = home_of(home), Asked(rejected=rejected, raw=raw)
    sweep, found = find_campaign(place, campaign)
    if len(names) == 1 and output is None and (not json or names == ["json"]):
        _print(place, sweep, found, names[0], asked)
    else:
        _write(place, sweep, found, names, asked, output, json)
    return 0


def _wanted(format: str | None, json: bool) -> list[str]:
    """Return the formats asked for, each once. Raises ``Refused`` where one is none."""
    from drysweep_pipeline.reports import FORMATS

    text = format if format is not None else "json" if json else "md"
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    unknown = next((name for name in names if name not in FORMATS), None)
    if unknown is not None:
        raise Refused(f"no report format {unknown!r}", key="format", help=f"there are {', '.join(FORMATS)}")
    return names


def _print(home: "Home", sweep: str, campaign: str, name: str, asked: "Asked") -> None:
    from drysweep_pipeline.reports import FORMATS

    if FORMATS[name].binary and sys.stdout.isatty():
        help = f"--output FILE writes it; > FILE{FORMATS[name].suffix} works too"
        raise Refused(f"{name} is not shown in a terminal: it is no text", key="format", help=help)
    told = FORMATS[name](home, sweep, campaign, asked)
    # As it is: what others wrote in it was made safe, or quoted, when it was rendered.
    if isinstance(told, str) and not hasattr(sys.stdout, "buffer"):
        sys.stdout.write(told.removesuffix("\n") + "\n")
        return
    # In UTF-8 whatever else the terminal has: formats say that they are.
    sys.stdout.buffer.write(told.removesuffix("\n").encode() + b"\n" if isinstance(told, str) else told)
    sys.stdout.buffer.flush()


def _write(
    home: "Home", sweep: str, campaign: str, names: list[str], asked: "Asked", output: Path | None, json: bool
) -> None:
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.reports import write_reports
    from drysweep_pipeline.reports.summary import summary

    told = summary(home, sweep, campaign)
    try:
        written = write_reports(home, sweep, campaign, names, asked, _places(campaign, names, output))
    except OSError as error:
        what = f"no report can be written there: {error.strerror or error}"
        raise Refused(what, file=output or home.root, help="--output PATH writes it elsewhere") from None
    if json:
        kept = ("schema_version", "sweep", "campaign", "outcome", "reason", "verdict")
        put_json(
            {**{name: told[name] for name in kept}, "written": {name: str(path) for name, path in written.items()}}
        )
        return
    for name, path in written.items():
        put(f"{name}: {path}")


def _places(campaign: str, names: list[str], output: Path | None) -> dict[str, Path] | None:
    """Return where each format goes that does not go into the home. Raises ``Refused`` where that cannot be."""
    from drysweep_pipeline.reports import FORMATS

    if output is None:
        return None
    path = output.expanduser().absolute()
    if len(names) == 1 and not path.is_dir():
        return {names[0]: path}
    if path.exists() and not path.is_dir():
        raise Refused(f"{len(names)} formats do not fit into one file", file=path, help="--output FOLDER")
    return {name: path / f"{campaign}{FORMATS[name].suffix}" for name in names}
