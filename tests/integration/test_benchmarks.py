"""The benchmarks run and tell ratios; what the ratios are is for people to look at, never for a test."""

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.reports import FORMATS

ROOT = Path(__file__).parents[2]


def figures_of(*what: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks", *what, "--small", "--json"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    figures: list[dict[str, Any]] = json.loads(done.stdout)["figures"]
    assert all(figure["ratio"] > 0 for figure in figures if figure["baseline"])
    assert all(figure["target"] for figure in figures)
    return figures


@pytest.mark.soak
def test_the_benchmarks_print_a_ratio_for_everything_that_has_a_baseline() -> None:
    assert len(figures_of()) == 10 + 9 + 1 + 1 + len(FORMATS)


def test_a_benchmark_prints_a_ratio_where_it_has_a_baseline() -> None:
    assert len(figures_of("help", "history")) == 2 + 9


def test_every_benchmark_can_be_loaded() -> None:
    for path in (ROOT / "benchmarks").glob("[a-z]*.py"):
        assert callable(getattr(import_module(f"benchmarks.{path.stem}"), "measure", print))
