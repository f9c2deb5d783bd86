"""Material of the kind ``command``: what a program prints whole is a snapshot, and anything less is no material."""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.declaration import errors, read_declaration
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.model import CommandMaterial
from drysweep_pipeline.engine.planning import plan, read_plan
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot, freeze, snapshot
from tests.finders import command, declared, function, rows, waved
from tests.sweeps import begin

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
SAY = """
import json, os, sys, time
def say(table, **row):
    print(json.dumps({"table": table, "row": row}), flush=True)
def end(count, **more):
    print(json.dumps({"drysweep": "end", "count": count, **more}), flush=True)
"""
NODES = """
say("nodes", id="b", load=2.5, state="down")
say("nodes", id="a", load=1.5, state="up")
end(2)
"""


def printing(folder: Path, says: str, **more: Any) -> dict[str, Any]:
    (folder / "mesh.py").write_text(SAY + says)
    return {"kind": "command", "argv": [sys.executable, "mesh.py"], "tables": {"nodes": {}}, **more}


def frozen(folder: Path, says: str, **more: Any) -> Snapshot:
    material = CommandMaterial.model_validate(printing(folder, says, **more))
    return freeze(material, folder, NOON, folder / "snapshots")


def read(snapshot: Snapshot, table: str = "nodes") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(snapshot.folder / f"{table}.parquet").to_pylist()
    return found


def test_what_a_program_prints_is_tables_with_the_types_that_its_values_have(tmp_path: Path) -> None:
    declared_tables = {"nodes": {}, "edges": {"columns": {"to": "VARCHAR", "ms": "DOUBLE", "via": "VARCHAR[]"}}}
    says = NODES.replace("end(2)", 'say("edges", to="a", ms=3, via=["x"])\nend(3)')
    snapshot = frozen(tmp_path, says, tables=declared_tables)
    assert snapshot.unreadable() == []
    assert read(snapshot) == [{"id": "a", "load": 1.5, "state": "up"}, {"id": "b", "load": 2.5, "state": "down"}]
    assert read(snapshot, "edges") == [{"ms": 3.0, "to": "a", "via": ["x"]}]
    assert read(snapshot, "files") == []


def test_the_same_rows_are_one_snapshot_in_any_order_and_one_byte_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = frozen(tmp_path, NODES)
    turned = "\n".join([*NODES.strip().splitlines()[1::-1], "time.sleep(0)", "end(2)"])
    with monkeypatch.context() as patch:
        patch.setattr(snapshot, "read_printed", None)
        assert frozen(tmp_path, turned, timeout_s=60) == first
    other = frozen(tmp_path, NODES.replace("down", "dowm"))
    assert other.digest != first.digest
    assert len(list((tmp_path / "snapshots").iterdir())) == 2


NOT_WHOLE = {
    "failing": (NODES + "sys.exit('no mesh today')", {}, r"exited with 1: no mesh today"),
    "no mark": ('say("nodes", id="a")', {}, r"line 1 is the last, and not the mark of the end"),
    "nothing": ("", {}, r"printed nothing, not even the mark of the end"),
    "miscounted": (
        'say("nodes", id="a")\nend(2)',
        {},
        r"line 2 counts 2 rows as the mark of the end, and 1 were printed",
    ),
    "more": (NODES + 'say("nodes", id="c")', {}, r"line 4 follows the mark of the end"),
    "usage": ("end(0, usage={})", {}, r"which is no mark of the end"),
    "undeclared": (
        'say("edges", id="a")\nend(1)',
        {},
        r'line 1 names the table "edges", which is not declared: there is nodes',
    ),
    "no row": ('print(\'{"table": "nodes", "row": []}\')\nend(1)', {}, r"line 1 is .*, which is no row of a table"),
    "twice": ('print(\'{"table": "nodes", "row": {"a": 1, "a": 2}}\')\nend(1)', {}, r'the key "a" is there twice'),
    "noise": ("print('connecting...')\nend(0)", {}, r"line 1 is not JSON at column 1"),
    "not text": (r"sys.stdout.buffer.write(b'\xff\n')", {}, r"line 1 is not UTF-8 at byte 1"),
    "slow": ("time.sleep(60)", {"timeout_s": 0.3}, r"still running after 0.3 s"),
    "long": ("print('x' * 10_000)", {"max_bytes": 1000}, r"truncated: more than 1000 bytes"),
    "many": (NODES, {"max_rows": 1}, r"line 2 is one more row of nodes than max_rows \(1\)"),
    "none": ("end(0)", {"tables": {"nodes": {"columns": {"id": "VARCHAR"}}}}, r"holds no row in any table"),
}


@pytest.mark.parametrize("name", NOT_WHOLE)
def test_a_program_that_does_not_print_all_prints_nothing(tmp_path: Path, name: str) -> None:
    says, more, why = NOT_WHOLE[name]
    with pytest.raises(MaterialError, match=why):
        frozen(tmp_path, says, **more)


def test_no_rows_may_be_allowed_and_then_the_declared_columns_are_there(tmp_path: Path) -> None:
    columns = {"nodes": {"columns": {"id": "VARCHAR"}}, "edges": {}}
    empty = frozen(tmp_path, "end(0)", tables=columns, allow_empty=True)
    assert empty.tables == (("nodes", 0),)
    assert empty.unreadable() == [("edges", "holds no row, so that its columns are not known; declare columns")]


def test_a_column_of_several_kinds_is_what_is_declared_or_the_table_is_not_read(tmp_path: Path) -> None:
    says = NODES.replace("2.5", "2")
    undeclared = frozen(tmp_path, says, allow_empty=True)
    [(table, why)] = undeclared.unreadable()
    assert table == "nodes"
    assert why.startswith(
        "the column 'load' holds numbers with a point or an exponent (row 1) and whole numbers (row 2)"
    )
    assert why.endswith("DOUBLE for instance")
    declared = frozen(tmp_path, says, tables={"nodes": {"columns": {"load": "DOUBLE"}}})
    assert [row["load"] for row in read(declared)] == [1.5, 2.0]


def test_it_is_told_the_instant_and_its_variables_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MESH_TOKEN", "s3cret")
    monkeypatch.setenv("DRYSWEEP_HOME", "/nowhere")
    says = """
told = json.loads(sys.stdin.read())
say("nodes", told=told["as_of"], argv=sys.argv[1], at=os.environ["DRYSWEEP_AS_OF"], token=os.environ["MESH_TOKEN"],
    home="DRYSWEEP_HOME" in os.environ, here=os.listdir("."))
end(1)
"""
    argv = [sys.executable, "mesh.py", "--at={as_of}"]
    [row] = read(frozen(tmp_path, says, argv=argv, env=["MESH_TOKEN"]))
    at = "2026-03-05T12:00:00Z"
    assert row == {"told": at, "argv": f"--at={at}", "at": at, "token": "s3cret", "home": False, "here": "[]"}


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"argv": ["mesh", "{env.TOKEN}"]}, "{env.TOKEN} does not belong in argv"),
        ({"argv": ["mesh", "{round}"]}, "{round} is no placeholder"),
        ({"argv": []}, "argv"),
        ({"tables": {}}, "tables"),
        ({"tables": {"files": {}}}, "the name 'files' is taken"),
        ({"tables": {"nodes": {"column": {}}}}, "unknown key 'column'"),
        ({"env": ["DRYSWEEP_HOME"]}, "'DRYSWEEP_HOME' is not passed on"),
        ({"path": "r"}, "unknown key 'path'"),
    ],
)
def test_a_program_that_cannot_be_declared_so_is_refused(tmp_path: Path, more: dict[str, Any], says: str) -> None:
    path = declared(tmp_path, [command(tmp_path, "one", "end(0)")], material=printing(tmp_path, NODES, **more))
    found = errors(path)
    assert len(found) == 1
    assert says in str(found[0])


def test_a_program_that_is_not_there_records_no_campaign(tmp_path: Path) -> None:
    material = {**printing(tmp_path, NODES), "argv": ["no-such-mesh"], "env": ["NO_SUCH_TOKEN"]}
    path = declared(tmp_path, [command(tmp_path, "one", "end(0)")], material=material)
    told = "\n".join(warnings(read_declaration(path)))
    assert "The program 'no-such-mesh' of the material is found neither beside the sweep nor on the PATH." in told
    assert "The material is to be given the variable NO_SUCH_TOKEN" in told
    with pytest.raises(MaterialError, match="there is no program 'no-such-mesh'"):
        begin(path, Home(tmp_path / "home"))
    assert not list((tmp_path / "home").rglob("campaign.json"))


def test_a_round_whose_material_is_not_printed_does_not_begin_and_can_be_tried_again(tmp_path: Path) -> None:
    material = printing(tmp_path, "sys.exit(3)")
    campaign = begin(
        declared(tmp_path, [command(tmp_path, "one", "end(0)")], material=material), Home(tmp_path / "home")
    )
    with pytest.raises(MaterialError, match="exited with 3"):
        plan(campaign, 1)
    assert read_plan(campaign, 1) is None
    printing(tmp_path, NODES)
    assert plan(campaign, 1).not_searched == 0


def test_every_kind_of_strategy_searches_what_was_printed(tmp_path: Path) -> None:
    (tmp_path / "sql.sql").write_text("select id as service, 'down' as failure_mode from nodes where state = 'down'")
    body = (
        "return [{'service': row['id'], 'failure_mode': 'm'} for row in material.table('nodes') if row['load'] > 1.5]"
    )
    says = """
import pyarrow.parquet as pq
for node in pq.read_table(os.path.join(os.environ["DRYSWEEP_MATERIAL"], "nodes.parquet")).to_pylist():
    if node["state"] == "down":
        say(node["id"])
end(1)
"""
    strategies = [
        {"name": "sql", "kind": "sql", "query": {"file": "sql.sql"}},
        function(tmp_path, "function", body),
        command(tmp_path, "program", says),
    ]
    campaign, runs = waved(tmp_path, strategies, material=printing(tmp_path, NODES))
    for name, run in runs.items():
        assert run.reason is None, name
        assert [json.loads(row["identity"])[1] for row in rows(campaign, run)] == ["b"]
