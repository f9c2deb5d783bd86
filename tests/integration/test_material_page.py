"""The page on material has an example of each kind, which can be copied as it is."""

import json
import re
from pathlib import Path

import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from tests.finders import rows
from tests.integration.test_tables import sqlite, written
from tests.sweeps import begin

PAGE = Path(__file__).parents[2] / "docs" / "material.md"
_BLOCK = re.compile(r"^`(?P<file>[\w.]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
BESIDE = {
    "deploy/a.yaml": "listen: 0.0.0.0:80\n",
    "deploy/build/b.yaml": "listen: 0.0.0.0:81\n",
    "registry/services/api.yaml": "labels: {tier: web}\n",
    "registry/live.json": '{"api": {"port": 81}}',
    "registry/charter.yaml": "api: {port: 80}\n",
    "data/orders.csv": "order\n1\n",
    "data/parts/1.jsonl": '{"part": "bolt"}\n',
    "data/lines.jsonl": '[1, "bolt", 2]\n[1, "nut", 2]\n',
}


@pytest.mark.parametrize(
    ("example", "found"),
    [
        ("ports.yaml", ["a.yaml", "/listen"]),
        ("registry.yaml", ["api", "port"]),
        ("stock.yaml", [1, "unknown_part"]),
        ("mesh.yaml", ["n2", "draining"]),
    ],
)
def test_the_example_of_each_kind_of_material_finds_what_is_wrong(
    tmp_path: Path, example: str, found: list[str]
) -> None:
    written(tmp_path, BESIDE)
    sqlite(tmp_path / "data" / "places.db", "create table places (id); insert into places values (1);")
    for match in _BLOCK.finditer(PAGE.read_text(encoding="utf-8")):
        (tmp_path / match["file"]).write_text(match["text"])
    assert sql_problems(read_declaration(tmp_path / example)) == []
    campaign = begin(tmp_path / example, Home(tmp_path / "home"))
    assert plan(campaign, 1).not_searched == 0
    [run] = wave(campaign, 1)
    assert run.reason is None
    assert [json.loads(row["identity"])[1:] for row in rows(campaign, run)] == [found]
