"""What Dagster's pages show of a sweep: how its strategies look, how a search went, where to read on."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from drysweep_pipeline.declaration.model.strategies import Strategy, query_of
from drysweep_pipeline.home import Home
from drysweep_pipeline.outlook import Round
from drysweep_pipeline.reports import picture
from drysweep_pipeline.reports.text import cell

# Dagster keeps metadata with every event and sends it to every page that lists them.
_LETTERS = 50_000
_BAR = 32
_COUNTED = "█"


def rows(number: int) -> dict[str, int]:
    """Return how many rows a partition has, under the names that Dagster's catalog, plots and partitions read."""
    return {"dagster/row_count": number, "dagster/partition_row_count": number}


def look(strategy: Strategy) -> dict[str, Any]:
    """Return how a strategy looks, as it is declared: its deadline, its angles in order, the file of its query."""
    query = query_of(strategy)
    return {
        "timeout_s": strategy.timeout_s,
        **({"angles": dg.MetadataValue.json(list(strategy.angles))} if strategy.angles else {}),
        **({"query": query.file} if query else {}),
    }


def course(rounds: Sequence[Round]) -> dg.MarkdownMetadataValue:
    """Return what each round so far brought, as a table with a bar a round; cheap enough to be shown by every round."""
    most = max((each.fresh for each in rounds), default=0)
    lines = ["| round | fresh | |", "| ---: | ---: | :--- |"]
    lines += [f"| {each.round} | {each.fresh} | {_bar(each, most)} |" for each in rounds]
    return dg.MetadataValue.md("\n".join(lines))


def curve(home: Home, sweep: str, campaign: str) -> dict[str, dg.MarkdownMetadataValue]:
    """Return the discovery curve of a campaign as a small picture, and in words; nothing before its first round."""
    drawn = picture.curve(home, sweep, campaign)
    if drawn is None:
        return {}
    if drawn.svg is None:
        return {"discovery_curve": dg.MetadataValue.md(f"{drawn.says} Not drawn: {cell(drawn.undrawn)}.")}
    data = base64.b64encode(drawn.svg.encode()).decode("ascii")
    return {"discovery_curve": dg.MetadataValue.md(f"![{drawn.says}](data:image/svg+xml;base64,{data})")}


def files(written: dict[str, Path], home: Home) -> dict[str, Any]:
    """Return where a campaign's reports lie, and the history that analysts query."""
    paths = {f"file_{name}": dg.MetadataValue.path(path) for name, path in written.items()}
    return {**paths, "history": dg.MetadataValue.path(home.history)}


def told(written: dict[str, Path]) -> dg.MarkdownMetadataValue:
    """Return the report for people as Dagster shows it, as far as metadata should go."""
    return dg.MetadataValue.md(written["md"].read_text(encoding="utf-8")[:_LETTERS])


def _bar(each: Round, most: int) -> str:
    marks = [*([] if each.complete else ["incomplete"]), *([f"{each.reopened} reopened"] if each.reopened else [])]
    length = -(-each.fresh * _BAR // most) if most else 0
    return " ".join(part for part in (_COUNTED * length, ", ".join(marks)) if part)
