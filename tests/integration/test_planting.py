"""What a planted copy holds: the material, the canaries among it, and nothing that tells the two apart."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.material.copy import laid_out
from drysweep_pipeline.material.planting import Planted, plant
from tests.canaries import SERVICE, expecting, planted
from tests.repositories import needs_git, repository
from tests.sweeps import AS_OF, NO_OWNER, declare, registry

MAP = {
    "services": "services/*.yaml",
    "labels": {"file": "services/*.yaml", "at": "/labels"},
    "live": ["live.json", {"file": "listed.json", "by": "id"}],
    "charter": ["charter.yaml", "lines.jsonl"],
}
OURS = {
    "live.json": '{\n  "api": {"port": 80},\n  "web": {"port": 81}\n}\n',
    "listed.json": '[{"id": "api", "zone": "a"}]',
    "charter.yaml": "api:\n  exempt: true\n",
    "notes.txt": "read me\n",
}
THEIRS = {
    "live.json": f'{{\n  "{SERVICE}": {{"port": 99}}\n}}\n',
    "listed.json": f'[{{"id": "{SERVICE}", "zone": "b"}}]',
    "charter.yaml": f"{SERVICE}:\n  exempt: false\n",
}


def rows(snapshot: Snapshot, table: str) -> list[dict[str, Any]]:
    return pq.read_table(snapshot.folder / f"{table}.parquet").to_pylist()


def both(folder: Path, material: dict[str, Any], ours: dict[str, str]) -> tuple[Snapshot, Planted]:
    """Freeze the material that is in a folder, and plant what is in ``extra``."""
    for number, (name, text) in enumerate(ours.items()):
        (folder / "registry" / name).write_text(text)
        # Times of their own: some file systems give files that are written in a row the same one.
        os.utime(folder / "registry" / name, (1_700_000_100 + number, 1_700_000_100 + number))
    declared = {"kind": "registry", "path": "registry", "map": MAP, **material}
    path = declare(folder, {"labels": NO_OWNER}, material=declared, canaries=expecting())
    sweep = read_declaration(path).sweep
    original = freeze(sweep.material, folder, AS_OF, folder / "snapshots")  # type: ignore[arg-type]
    return original, plant(sweep, folder, original, folder / "planted")


@pytest.fixture(autouse=True)
def _material(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None, "zed": "team"})
    for number, name in enumerate(("api", "zed")):
        os.utime(tmp_path / "registry" / "services" / f"{name}.yaml", (1_700_000_000 + number, 1_700_000_000 + number))
    planted(tmp_path)


def test_a_file_that_tells_of_many_services_tells_of_the_planted_ones_at_its_end(tmp_path: Path) -> None:
    planted(tmp_path, THEIRS)
    original, copy = both(tmp_path, {}, OURS)
    for table in ("live", "charter"):
        before, after = rows(original, table), rows(copy.snapshot, table)
        assert [row for row in after if row["service"] != SERVICE] == before
    assert [row for row in rows(copy.snapshot, "live") if row["service"] == SERVICE] == [
        {"service": SERVICE, "key": "id", "value": SERVICE},
        {"service": SERVICE, "key": "zone", "value": "b"},
        {"service": SERVICE, "key": "port", "value": "99"},
    ]
    lines = {(row["file"], row["pointer"]): row["line"] for row in rows(copy.snapshot, "settings")}
    before_it = {(row["file"], row["pointer"]): row["line"] for row in rows(original, "settings")}
    assert before_it.items() <= lines.items()
    assert lines[("live.json", f"/{SERVICE}/port")] == 4
    # So that a finding with a hash in its fingerprint is the same one with canaries and without.
    told = [{row["path"]: {**row, "text": ""} for row in rows(each, "files")} for each in (original, copy.snapshot)]
    assert told[0].items() <= told[1].items()
    with laid_out(copy.snapshot.folder) as folder:
        assert json.loads((folder / "live.json").read_text()) == {
            "api": {"port": 80},
            "web": {"port": 81},
            SERVICE: {"port": 99},
        }
        assert (folder / "services" / f"{SERVICE}.yaml").exists()
    assert copy.names == (SERVICE, f"services/{SERVICE}.yaml")


def test_what_is_planted_lies_in_order_and_has_times_as_the_material_has_them(tmp_path: Path) -> None:
    original, copy = both(tmp_path, {}, OURS)
    times = [row["modified_at"] for row in rows(original, "files")]
    files = rows(copy.snapshot, "files")
    assert [row["path"] for row in files] == sorted(row["path"] for row in files)
    assert len({row["modified_at"] for row in files}) == len(files) == len(set(times)) + 1
    assert all(min(times) <= row["modified_at"] <= max(times) for row in files)
    assert [row["service"] for row in rows(copy.snapshot, "services")] == ["api", SERVICE, "zed"]
    assert {each.name for each in copy.snapshot.folder.iterdir()} == {each.name for each in original.folder.iterdir()}
    assert copy.snapshot.folder.stat().st_mode & 0o777 == 0o700


def test_canaries_bring_times_of_their_own_in_the_file_that_the_map_names(tmp_path: Path) -> None:
    planted(tmp_path, {"modified.json": json.dumps({f"services/{SERVICE}.yaml": "2026-03-04T05:06:07Z"})})
    ours = {**OURS, "modified.json": '{"services/api.yaml": "2025-01-01T00:00:00Z"}'}
    original, copy = both(tmp_path, {"map": {**MAP, "modified": "modified.json"}}, ours)
    told = {row["service"]: row["modified_at"] for row in rows(copy.snapshot, "services")}
    assert told[SERVICE] == datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert {name: at for name, at in told.items() if name != SERVICE} == {
        row["service"]: row["modified_at"] for row in rows(original, "services")
    }


@pytest.mark.parametrize(
    ("ours", "theirs", "says"),
    [
        ({"live.json": "[1"}, THEIRS, "the entries of live.json cannot be put at the end"),
        ({"charter.yaml": "{api: {exempt: true}}\n"}, THEIRS, "the entries of charter.yaml cannot be put at the end"),
        ({}, {"live.json": '{"api": {"port": 1}}'}, "tells of the service 'api', which is in the material"),
        ({}, {"notes.txt": SERVICE}, "notes.txt cannot be planted: the material has notes.txt"),
    ],
)
def test_a_file_that_both_have_is_made_one_or_refused(
    tmp_path: Path, ours: dict[str, str], theirs: dict[str, str], says: str
) -> None:
    planted(tmp_path, theirs)
    with pytest.raises(MaterialError, match="canaries") as refused:
        both(tmp_path, {}, {**OURS, **ours})
    assert says in refused.value.what


@pytest.mark.parametrize("ours", ["see cafe\u0301-relay", "see CAFE\u0301-RELAY", "see CAF\u00c9-relay"])
def test_a_name_that_the_material_spells_in_another_form_of_unicode_is_not_planted(tmp_path: Path, ours: str) -> None:
    planted(tmp_path, {"services/caf\u00e9-relay.yaml": "owner: ann"})
    with pytest.raises(MaterialError, match=r"stands in notes\.txt of the material"):
        both(tmp_path, {}, {"notes.txt": ours})


def test_canaries_may_stand_among_plain_files_too(tmp_path: Path) -> None:
    (tmp_path / "registry" / "blob.bin").write_bytes(b"\0\xff")
    (tmp_path / "registry" / "torn.yaml").write_text("a: [")
    material = {"kind": "files", "path": "registry"}
    path = declare(tmp_path, {"any": "select 1 as service, 2 as failure_mode"}, material=material, canaries=expecting())
    sweep = read_declaration(path).sweep
    original = freeze(sweep.material, tmp_path, AS_OF, tmp_path / "snapshots")  # type: ignore[arg-type]
    copy = plant(sweep.model_copy(update={"canaries": _marked(sweep)}), tmp_path, original, tmp_path / "planted")
    assert len(rows(copy.snapshot, "files")) == len(rows(original, "files")) + 1
    assert copy.snapshot.unreadable() == original.unreadable()
    assert copy.names == (SERVICE, f"services/{SERVICE}.yaml")


def _marked(sweep: Any) -> Any:
    return sweep.canaries.model_copy(update={"marks": (SERVICE,)})


@needs_git
def test_what_is_planted_in_git_material_seems_to_be_committed(tmp_path: Path) -> None:
    owned = '{"labels": {"owner": "team"}}'
    repository(tmp_path / "registry", {f"services/{name}.yaml": owned for name in ("api", "zed")})
    original, copy = both(tmp_path, {}, {})
    assert original.revision is not None
    assert {row["revision"] for row in rows(copy.snapshot, "files")} == {original.revision}
    assert (copy.snapshot.revision, copy.snapshot.dirty) == (original.revision, original.dirty)


COLUMNS = {"order": "BIGINT", "at": "TIMESTAMPTZ", "paid": "BOOLEAN"}
ORDERS = {"file": "orders.csv", "columns": COLUMNS}
TABLES = {"kind": "tables", "path": "data", "tables": {"orders": ORDERS, "gone": "gone.csv"}}
ROW = {"order": 99000017, "part": "flange-quillon", "at": "2026-03-04T05:06:07Z"}


def of_tables(folder: Path, rows: dict[str, Any], marks: list[str], order: Any = 99000017) -> tuple[Snapshot, Planted]:
    """Freeze a table of two orders, and plant rows in it."""
    (folder / "data").mkdir()
    (folder / "data" / "orders.csv").write_text(
        "order,part,at,paid\n1,bolt,2026-01-01T00:00:00Z,true\n2,nut,2026-01-02T00:00:00Z,false\n"
    )
    canaries = {
        "rows": rows,
        "marks": marks,
        "expect": [{"name": "first", "finding": {"service": order, "failure_mode": "m"}}],
    }
    query = 'select "order" as service, part as failure_mode from orders'
    sweep = read_declaration(declare(folder, {"any": query}, material=TABLES, canaries=canaries)).sweep
    original = freeze(sweep.material, folder, AS_OF, folder / "snapshots")  # type: ignore[arg-type]
    return original, plant(sweep, folder, original, folder / "planted")


def test_rows_stand_among_those_of_a_table_and_have_its_types(tmp_path: Path) -> None:
    original, copy = of_tables(tmp_path, {"orders": [ROW]}, ["99000017", "flange-quillon"])
    schemas = [pq.read_schema(each.folder / "orders.parquet") for each in (original, copy.snapshot)]
    assert [(field.name, field.type) for field in schemas[0]] == [(field.name, field.type) for field in schemas[1]]
    after = rows(copy.snapshot, "orders")
    assert [row for row in after if row["order"] < 3] == rows(original, "orders")
    [row] = [row for row in after if row["order"] > 3]
    assert row == {**ROW, "at": datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC), "paid": None}
    assert copy.snapshot.unreadable() == original.unreadable()
    assert copy.snapshot.tables == (("orders", 3),)
    assert copy.names == ("99000017", "flange-quillon")
    with laid_out(copy.snapshot.folder) as folder:
        assert pq.read_metadata(folder / "orders.parquet").num_rows == 3


@pytest.mark.parametrize(
    ("planted_rows", "marks", "says"),
    [
        ({"orders": [{**ROW, "colour": "red"}]}, ["99000017"], "the table orders has no column 'colour'"),
        ({"orders": [{**ROW, "order": "many"}]}, ["99000017"], "the table orders takes no such value as 'order'"),
        ({"orders": [{**ROW, "part": 5}]}, ["99000017"], "the table orders takes no such value as 'part': it is text"),
        ({"gone": [ROW]}, ["99000017"], "the table gone is not in the snapshot"),
        ({"orders": [ROW]}, ["99000017", "bolt"], "the planted name 'bolt' stands in the table orders"),
        ({"orders": [ROW]}, ["99000017", "elsewhere"], "no canary holds the mark 'elsewhere'"),
        ({"orders": [ROW]}, ["flange-quillon"], "the finding of the canary 'first' names nothing that is planted"),
    ],
)
def test_rows_that_cannot_be_told_apart_or_fit_no_table_are_not_planted(
    tmp_path: Path, planted_rows: dict[str, Any], marks: list[str], says: str
) -> None:
    with pytest.raises(MaterialError, match="canaries") as refused:
        of_tables(tmp_path, planted_rows, marks)
    assert says in refused.value.what
