"""The benchmarks run and tell ratios; what the ratios are is for people to look at, never for a test."""

import json
import subprocess
import sys
from pathlib import Path

from drysweep_pipeline.reports import FORMATS

ROOT = Path(__file__).parents[2]


def test_the_benchmarks_print_a_ratio_for_everything_that_has_a_baseline() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--small", "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    figures = json.loads(done.stdout)["figures"]
    assert len(figures) == 10 + 9 + 1 + 1 + len(FORMATS)
    assert all(figure["ratio"] > 0 for figure in figures if figure["baseline"])
    assert all(figure["target"] for figure in figures)
