import errno
import json
import os
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial
from drysweep_pipeline.errors import IntegrityError, MaterialError
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.material import snapshot as snapshots
from drysweep_pipeline.material.schema import REGISTRY_TABLES, TABLES

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def rows(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(snapshot.database), read_only=True) as connection:
        return connection.execute(query).fetchall()


def registry(**declared: Any) -> RegistryMaterial:
    services = declared.pop("services", "services/*.yaml")
    settings = {key: declared.pop(key) for key in ("ignore", "max_bytes", "allow_empty", "path") if key in declared}
    return RegistryMaterial(kind="registry", **{"path": "r", "map": {"services": services, **declared}, **settings})


@pytest.fixture
def froze(tmp_path: Path) -> Callable[..., Snapshot]:
    def freeze_here(material: Any, files: dict[str, str | bytes]) -> Snapshot:
        written(tmp_path / "r", files)
        return freeze(material, tmp_path, NOON, tmp_path / "snapshots")

    return freeze_here


FILES = FilesMaterial(kind="files", path="r")


def test_all_tables_are_there_with_their_schemas_even_when_empty(tmp_path: Path):
    (tmp_path / "r").mkdir()
    snapshot = freeze(registry(allow_empty=True), tmp_path, NOON, tmp_path / "snapshots")
    for name, schema in (TABLES | REGISTRY_TABLES).items():
        assert pq.read_schema(snapshot.folder / f"{name}.parquet").equals(schema)
        assert rows(snapshot, f"select count(*) from {name}") == [(0,)]
    assert (
        rows(snapshot, "select data_type from duckdb_columns() where column_name = 'modified_at'")
        == [("TIMESTAMP WITH TIME ZONE",)] * 2
    )


def test_files_are_kept_with_text_hash_and_time(froze, tmp_path: Path):
    written(tmp_path / "r", {"b.txt": "x"})
    os.utime(tmp_path / "r/b.txt", ns=(0, 1_700_000_000_123_456_789))
    snapshot = froze(
        FILES, {"a/bom.md": b"\xef\xbb\xbfh\xc3\xa9\x00", "logo.png": b"\x89PNG\0\xff", ".git/config": "x"}
    )
    assert rows(snapshot, "select path, bytes, text, revision from files") == [
        ("a/bom.md", 7, "hé\0", None),
        ("b.txt", 1, "x", None),
        ("logo.png", 6, None, None),
    ]
    assert rows(snapshot, "select epoch_us(modified_at) from files where path = 'b.txt'") == [(1_700_000_000_123_456,)]
    assert snapshot.not_searched == 0


def test_what_cannot_be_searched_is_listed_with_the_reason_and_never_raises(froze, tmp_path: Path):
    written(tmp_path / "r", {"real/x.yaml": "a: 1"})
    (tmp_path / "r/link.yaml").symlink_to("real/x.yaml")
    (tmp_path / "r/folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "r/pipe")
    Path(os.fsdecode(os.fsencode(tmp_path / "r") + b"/\xff.txt")).touch()
    material = FilesMaterial(kind="files", path="r", max_bytes=100)
    snapshot = froze(
        material, {"big.txt": "x" * 101, "latin.txt": b"caf\xe9", "broken.json": "{", "wide.txt": "x".encode("utf-16")}
    )
    assert snapshot.unreadable() == [
        ("\\xff.txt", "its name is not UTF-8"),
        ("big.txt", "101 bytes, more than max_bytes (100)"),
        ("broken.json", "line 1: not JSON: Expecting property name enclosed in double quotes"),
        ("folder", "a link, not followed"),
        ("latin.txt", "not UTF-8: byte 3 cannot be decoded"),
        ("link.yaml", "a link, not followed"),
        ("pipe", "not a regular file"),
        ("wide.txt", "not UTF-8: byte 0 cannot be decoded"),
    ]
    assert snapshot.not_searched == 8
    assert rows(snapshot, "select path, text from files where path in ('big.txt', 'broken.json')") == [
        ("big.txt", None),
        ("broken.json", "{"),
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_or_folder_without_the_right_to_read_is_listed(froze, tmp_path: Path):
    written(tmp_path / "r", {"a.yaml": "a: 1", "d/b.yaml": "b: 1"})
    (tmp_path / "r/a.yaml").chmod(0)
    (tmp_path / "r/d").chmod(0)
    try:
        snapshot = froze(FILES, {"c.yaml": "c: 1"})
    finally:
        (tmp_path / "r/d").chmod(0o700)
    assert [file for file, _ in snapshot.unreadable()] == ["a.yaml", "d"]


def test_settings_are_one_row_a_leaf(froze):
    snapshot = froze(FILES, {"a.yaml": "x: {y: [1]}\n--- z\n"})
    assert rows(snapshot, "from settings") == [
        ("a.yaml", 0, "/x/y/0", "0", "1", "integer", 1),
        ("a.yaml", 1, "", "", "z", "string", 2),
    ]


def test_ignored_paths_leave_no_trace(froze):
    snapshot = froze(
        FilesMaterial(kind="files", path="r", ignore=("*.log", "old/")), {"a.log": "", "old/b": "", "c": ""}
    )
    assert rows(snapshot, "select path from files") == [("c",)]


def test_a_registry_names_services_and_keeps_labels_live_state_and_charter(froze):
    material = registry(
        labels={"file": "services/*.yaml", "at": "/labels"},
        live="live.json",
        charter={"file": "charter.yaml", "at": "/want"},
    )
    snapshot = froze(
        material,
        {
            "services/api.yaml": "labels: {app.tier: web, a/b: x}\nport: 80\n",
            "services/db.yaml": "labels: {}\n",
            "live.json": '{"api": {"ports": [80, 81]}, "ghost": "up"}',
            "charter.yaml": "api: {want: {port: 80}, note: x}\n",
        },
    )
    assert rows(snapshot, "select service, path from services") == [
        ("api", "services/api.yaml"),
        ("db", "services/db.yaml"),
    ]
    assert rows(snapshot, "from labels") == [("api", "app.tier", "web"), ("api", "a~1b", "x"), ("db", "", "{}")]
    assert rows(snapshot, "from live") == [("api", "ports/0", "80"), ("api", "ports/1", "81"), ("ghost", "", "up")]
    assert rows(snapshot, "from charter") == [("api", "port", "80")]


def test_a_list_of_entries_is_keyed_by_a_field_and_nameless_entries_are_told(froze):
    material = registry(
        labels={"file": "meta.json", "by": "id", "at": "/tags"}, charter={"file": "c.jsonl", "by": "/who/id"}
    )
    snapshot = froze(
        material,
        {
            "services/api.yaml": "",
            "meta.json": '[{"id": "api", "tags": ["a", "b"]},\n{"tags": ["lost"]},\n{"id": "db", "tags": []}]',
            "c.jsonl": '{"who": {"id": "api"}, "port": 1}\n',
        },
    )
    assert rows(snapshot, "from labels") == [("api", "0", "a"), ("api", "1", "b"), ("db", "", "[]")]
    assert rows(snapshot, "from charter") == [("api", "who/id", "api"), ("api", "port", "1")]
    assert snapshot.unreadable() == [("meta.json", "line 2: an entry without 'id', which names its service")]


def test_a_list_without_by_is_told_and_a_missing_source_is_empty(froze):
    material = registry(live="live.json", charter=["nowhere.yaml", "gone/*.yaml"])
    snapshot = froze(material, {"services/api.yaml": "", "live.json": '["api"]'})
    assert snapshot.unreadable() == [("live.json", "line 1: is not a mapping by service; a list needs `by` in the map")]
    assert rows(snapshot, "from charter") == []


def test_a_source_in_a_format_that_says_nothing_of_services_is_told_and_what_a_pattern_takes_along_is_not(froze):
    material = registry(live=["live.csv", "more/*.csv"], labels="services/*")
    files = {"services/api.yaml": "a: 1", "services/README": "", "live.csv": "service,port\napi,80\n"}
    snapshot = froze(material, files | {"more/api.csv": "port\n80\n", "other.csv": "a\n1\n"})
    reason = "is named by the registry's map, which takes YAML, JSON, JSON Lines, TOML, INI and .env files only"
    assert snapshot.unreadable() == [("live.csv", reason), ("more/api.csv", reason)]
    assert rows(snapshot, "from live") == []
    assert rows(snapshot, "from labels") == [("api.yaml", "a", "1")]


def test_an_unreadable_charter_is_listed_and_not_silence(froze):
    snapshot = froze(registry(charter="charter.yaml"), {"services/api.yaml": "", "charter.yaml": "a: 1\na: 2\n"})
    assert snapshot.unreadable() == [("charter.yaml", "duplicate key 'a' on lines 1 and 2")]


def test_modification_times_come_from_the_map(froze):
    material = registry(modified="times.json")
    times = {"services/api.yaml": "2026-01-31T12:00:00+02:00", "services/db.yaml": "2026-02-01"}
    snapshot = froze(
        material,
        {"services/api.yaml": "", "services/db.yaml": "", "services/new.yaml": "", "times.json": json.dumps(times)},
    )
    assert rows(snapshot, "select service, cast(modified_at at time zone 'UTC' as varchar) from services") == [
        ("api", "2026-01-31 10:00:00"),
        ("db", "2026-02-01 00:00:00"),
        ("new", None),
    ]


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"modified": "nowhere.json"}, "map.modified: cannot be read: No such file"),
        ({"modified": "times.json"}, "'soon' is not an ISO time"),
        ({"modified": "{as_of}.json"}, "not in path"),
        ({"services": "services.yaml"}, "names no service"),
        ({"live": "../live.json"}, "outside the material"),
        ({"live": {"file": "*.json", "by": "id"}}, "leave one of them out"),
    ],
)
def test_a_map_that_cannot_be_followed_is_refused(froze, declared: dict[str, Any], says: str):
    with pytest.raises(MaterialError, match=says):
        froze(registry(**declared), {"services/api.yaml": "", "times.json": '{"a": "soon"}'})


def test_what_is_not_there_or_empty_is_refused_with_the_path(froze, tmp_path: Path):
    with pytest.raises(MaterialError, match="no such folder"):
        freeze(FILES, tmp_path, NOON, tmp_path / "snapshots")
    (tmp_path / "r").mkdir()
    with pytest.raises(MaterialError, match=r"holds no file .*allow_empty"):
        froze(FILES, {})
    with pytest.raises(MaterialError, match=r"no file matches 'services/\*.yaml'"):
        froze(registry(), {"other.yaml": ""})
    with pytest.raises(MaterialError, match="is a file"):
        freeze(FilesMaterial(kind="files", path="r/other.yaml"), tmp_path, NOON, tmp_path / "snapshots")


def test_the_same_material_is_frozen_once(froze, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    first = froze(FILES, {"a.yaml": "a: 1"})
    monkeypatch.setattr(snapshots, "write_tables", None)
    assert froze(FILES, {}) == first
    monkeypatch.undo()
    assert froze(FILES, {"a.yaml": "a: 2"}).digest != first.digest
    assert froze(registry(services="*.yaml"), {}).digest != first.digest


def test_a_snapshot_is_private_and_nothing_is_left_beside_it(froze, tmp_path: Path):
    snapshot = froze(FILES, {"a.yaml": "a: 1"})
    assert snapshot.folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in snapshot.folder.iterdir()} == {0o600}
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [snapshot.digest]


@pytest.mark.parametrize("name", ["files.parquet", "tables.duckdb", "snapshot.json"])
def test_a_broken_snapshot_is_refused_and_frozen_again(froze, name: str):
    snapshot = froze(FILES, {"a.yaml": "a: 1"})
    assert Snapshot.open(snapshot.folder) == snapshot
    (snapshot.folder / name).write_bytes(b"PAR1")
    with pytest.raises(IntegrityError):
        Snapshot.open(snapshot.folder)
    assert froze(FILES, {}) == Snapshot.open(snapshot.folder)


def test_a_folder_that_is_no_snapshot_is_refused(froze, tmp_path: Path):
    with pytest.raises(IntegrityError, match="not a whole snapshot"):
        Snapshot.open(tmp_path)
    moved = froze(FILES, {"a": ""}).folder.rename(tmp_path / "moved")
    with pytest.raises(IntegrityError, match="holds the snapshot"):
        Snapshot.open(moved)


def test_a_crash_while_freezing_leaves_no_snapshot(froze, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(snapshots, "_write_manifest", crash)
    with pytest.raises(KeyboardInterrupt):
        froze(FILES, {"a.yaml": "a: 1"})
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_a_full_disk_is_told_and_leaves_no_snapshot(froze, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(snapshots, "write_tables", full)
    with pytest.raises(MaterialError, match=r"cannot be written.*No space left"):
        froze(FILES, {"a.yaml": "a: 1"})
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_what_a_killed_process_left_is_removed_after_a_day(froze, tmp_path: Path):
    for name, age in ((".old.x", 2 * 86_400), (".new.x", 0)):
        left = written(tmp_path / "snapshots" / name, {"part.parquet": ""})
        os.utime(left, (time.time() - age,) * 2)
    froze(FILES, {"a.yaml": "a: 1"})
    assert not (tmp_path / "snapshots/.old.x").exists()
    assert (tmp_path / "snapshots/.new.x").exists()


def test_material_that_moves_while_it_is_frozen_is_refused(froze, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = snapshots.list_files

    def list_then_change(*args: Any, **more: Any) -> Any:
        listing = whole(*args, **more)
        written(tmp_path / "r", {"a.yaml": "a: 2"})
        return listing

    monkeypatch.setattr(snapshots, "list_files", list_then_change)
    with pytest.raises(MaterialError, match="changed while it was being frozen"):
        froze(FILES, {"a.yaml": "a: 1"})


def test_two_who_freeze_at_once_get_the_same_snapshot(tmp_path: Path):
    written(tmp_path / "r", {f"{number}.yaml": f"a: {number}" for number in range(50)})
    found: list[Snapshot] = []
    threads = [
        threading.Thread(target=lambda: found.append(freeze(FILES, tmp_path, NOON, tmp_path / "snapshots")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
    assert [path.name for path in (tmp_path / "snapshots").iterdir()] == [found[0].digest]


def test_batches_do_not_change_the_tables(froze, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("drysweep_pipeline.material.tables._BATCH_ROWS", 3)
    snapshot = froze(FILES, {"a.json": json.dumps(list(range(100)))})
    assert rows(snapshot, "select list(cast(value as integer)) from settings") == [(list(range(100)),)]
