"""Asking the history from the command line, against the same SQL on a bare DuckDB, each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Figure, Spent, clocked, interleaved
from benchmarks.past import SWEEP, Past
from drysweep_pipeline.queries import catalogue

_BARE = """
import json, sys
import duckdb
cursor = duckdb.connect(sys.argv[1], read_only=True).execute(sys.argv[2], json.loads(sys.argv[3]))
print(json.dumps([list(row) for row in cursor.fetchall()], default=str))
"""
_BY_HAND = "select strategy, count(*) as sightings, count(distinct fp) as findings from sightings group by strategy"
_NAMED = {"strategy_overlap": "c0", "flapping": None}


def measure(folder: Path, *, findings: int = 200_000, times: int = 9, named: bool = True) -> list[Figure]:
    """Return what queries over a past of so many findings take, each sighted five times; ``named``: the named too."""
    past = Past(folder, findings, findings * 5)
    past.build()
    figures = [_figure(past, "a query of one's own", [_BY_HAND], _BY_HAND, {}, times)]
    for name, campaign in _NAMED.items() if named else ():
        bound = {"sweep": SWEEP} | ({"campaign": campaign} if campaign else {})
        words = [name, *(word for key, value in bound.items() for word in ("-p", f"{key}={value}"))]
        figures.append(_figure(past, name, words, catalogue()[name].text, bound, times))
    return figures


def _figure(past: Past, name: str, words: list[str], sql: str, bound: dict[str, str], times: int) -> Figure:
    script = str(Path(sys.executable).with_name("drysweep"))
    ours = [script, "sql", *words, "--json", "--max-rows", "1000000", "--home", str(past.home.root)]
    bare = [sys.executable, "-c", _BARE, str(past.home.history), sql, json.dumps(bound)]
    asked, raw = interleaved(lambda: _run(ours), lambda: _run(bare), times)
    return Figure(f"drysweep sql, {name}", asked.wall, raw.wall, 3.0, "DuckDB alone")


def _run(command: list[str]) -> Spent:
    return clocked(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
