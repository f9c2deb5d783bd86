"""Strategies in child processes for tests: a program or a module written in place, and one wave of them."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import StrategyRun
from tests.sweeps import begin, declare

BEGIN = """
import json, os, sys, time
def say(service="api", **more):
    print(json.dumps({"service": service, "failure_mode": "m", **more}), flush=True)
def end(count, **more):
    print(json.dumps({"drysweep": "end", "count": count, **more}), flush=True)
"""


def command(folder: Path, name: str, says: str, **more: Any) -> dict[str, Any]:
    """A strategy that is a program beside the declaration."""
    (folder / f"{name}.py").write_text(BEGIN + says)
    return {"name": name, "kind": "command", "argv": [sys.executable, f"{name}.py"], **more}


def function(folder: Path, name: str, body: str, **more: Any) -> dict[str, Any]:
    """A strategy that is a function ``find(material, angle, rng)`` with that body, beside the declaration."""
    indented = body.replace("\n", "\n    ")
    (folder / f"{name}.py").write_text(f"{BEGIN}\ndef find(material, angle, rng):\n    {indented}\n")
    return {"name": name, "kind": "python", "call": f"{name}:find", **more}


def declared(folder: Path, strategies: list[dict[str, Any]], **more: Any) -> Path:
    path = declare(folder, {}, **more)
    whole = json.loads(path.read_text())
    whole["attributes"]["strategies"] = strategies
    path.write_text(json.dumps(whole))
    return path


def waved(folder: Path, strategies: list[dict[str, Any]], **more: Any) -> tuple[Campaign, dict[str, StrategyRun]]:
    """Run the first wave of a campaign and return what became of each strategy, by name."""
    campaign = begin(declared(folder, strategies, **more), Home(folder / "home"))
    return campaign, {run.strategy: run for run in wave(campaign, 1)}


def rows(campaign: Campaign, run: StrategyRun, round: int = 1) -> list[dict[str, Any]]:
    """Return what landed of a strategy."""
    if run.file is None:
        return []
    landed: list[dict[str, Any]] = pq.read_table(campaign.folder(round) / run.file.name).to_pylist()
    return [{**row, "attributes": json.loads(row["attributes"])} for row in landed]
