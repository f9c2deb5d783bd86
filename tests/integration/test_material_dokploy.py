import time
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial
from drysweep_pipeline.material import Snapshot, freeze
from tests.real_data import DOKPLOY_DATES, dokploy_home, real_data

MATERIAL = RegistryMaterial.model_validate(
    {
        "kind": "registry",
        "path": "{as_of}",
        "map": {
            "services": "blueprints/*/docker-compose.yml",
            "labels": (
                {"file": "meta.json", "by": "id", "at": "/tags"},
                {"file": "blueprints/*/meta.json", "at": "/tags"},
            ),
            "live": {"file": "blueprints/*/docker-compose.yml", "at": "/services"},
            "charter": "blueprints/*/template.toml",
            "modified": {"file": "../{as_of}.manifest.jsonl", "by": "path", "at": "/last_modified"},
        },
    }
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dokploy_home(tmp_path_factory)


@pytest.fixture(scope="module")
def frozen(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Snapshot]:
    snapshots = tmp_path_factory.mktemp("snapshots")
    return {
        date: freeze(MATERIAL, home, datetime.fromisoformat(f"{date}T12:00:00+00:00"), snapshots)
        for date in DOKPLOY_DATES
    }


def rows(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(snapshot.database), read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_every_date_has_its_blueprints_and_files(frozen: dict[str, Snapshot]):
    counts = "select (select count(*) from services), (select count(*) from files)"
    assert [rows(frozen[date], counts)[0] for date in DOKPLOY_DATES] == [
        (194, 390),
        (304, 610),
        (359, 720),
        (387, 776),
        (441, 884),
        (500, 1501),
    ]


def test_every_file_has_the_time_of_its_last_commit(frozen: dict[str, Snapshot]):
    for snapshot in frozen.values():
        assert rows(snapshot, "select count(*) from files where modified_at is null or text is null") == [(0,)]


def test_labels_survive_the_move_of_the_catalogue(frozen: dict[str, Snapshot]):
    labelled = "select count(distinct service), count(*) > 500 from labels semi join services using (service)"
    before, after = rows(frozen["2026-07-07"], labelled)[0], rows(frozen["2026-07-21"], labelled)[0]
    assert before[0] > 430
    assert after == (500, True)


def test_four_templates_are_named_unreadable_and_no_compose_file_is(frozen: dict[str, Snapshot]):
    assert [file for file, _ in frozen["2026-07-21"].unreadable()] == [
        f"blueprints/{name}/template.toml" for name in ("signoz", "supabase", "timescaledb", "valkey")
    ]
    assert all(frozen["2026-07-21"].unreadable()[number][1].startswith("line ") for number in range(4))


def test_settings_give_the_counts_that_others_counted(frozen: dict[str, Snapshot]):
    compose = "from settings where file like '%docker-compose.yml'"
    assert rows(frozen["2026-07-21"], f"select count(*) {compose} and pointer = '/version'") == [(276,)]
    services = f"select distinct file, split_part(pointer, '/', 3) {compose} and pointer like '/services/%/%'"
    without = f"select count(*) from ({services} except {services} and split_part(pointer, '/', 4) = 'healthcheck')"
    assert rows(frozen["2026-07-21"], f"select count(*) from ({services})") == [(1150,)]
    assert rows(frozen["2026-07-21"], without) == [(780,)]


def test_lines_point_at_the_text(frozen: dict[str, Snapshot]):
    found = rows(
        frozen["2026-07-21"],
        """
        select settings.key, split(files.text, chr(10))[settings.line] from settings
        join files on files.path = settings.file
        where not regexp_full_match(settings.key, '[0-9]+')
        """,
    )
    assert len(found) > 15_000
    wrong = [row for row in found if row[0] not in (row[1] or "")]
    assert len(wrong) < len(found) / 100  # block scalars, merged values and escapes stand elsewhere than their key


def test_freezing_1501_files_takes_seconds(frozen: dict[str, Snapshot], home: Path, tmp_path: Path):
    began = time.process_time()
    snapshot = freeze(MATERIAL, home, datetime.fromisoformat("2026-07-22T00:00:00+00:00"), tmp_path)
    assert time.process_time() - began < 10
    assert snapshot.digest == frozen["2026-07-21"].digest


def test_the_catalogue_that_was_unreadable_for_two_minutes_is_named(tmp_path: Path):
    edge = real_data("dokploy") / "edge"
    reasons = []
    for name in ("meta.json.parent.readable", "meta.json.495de151.unreadable"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "meta.json").write_bytes((edge / name).read_bytes())
        material = FilesMaterial(kind="files", path=name)
        reasons.append(freeze(material, tmp_path, datetime.fromisoformat("2025-04-17T00:00:00+00:00"), tmp_path / "s"))
    assert [snapshot.not_searched for snapshot in reasons] == [0, 1]
    assert reasons[1].unreadable()[0][1].startswith("line ")
