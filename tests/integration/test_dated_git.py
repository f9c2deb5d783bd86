"""Dated material in git: the commit of an instant, read without touching the repository, and backfills over days."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.cli.backfilling import dates
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial, TablesMaterial
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.errors import DeclarationError, MaterialError
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot, dates_of, freeze
from tests.repositories import commit, git, kept, needs_git, repository
from tests.sweeps import NO_OWNER, begin, declare

pytestmark = needs_git
ROOT = Path(__file__).parents[2]
DAY = datetime(2026, 1, 1, 12, tzinfo=UTC)


def on(day: int) -> datetime:
    return DAY + timedelta(days=day)


def committed(folder: Path, files: dict[str, str], day: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """Commit files on a day, at noon, and return the commit."""
    at = f"{on(day):%Y-%m-%dT%H:%M:%SZ}"
    monkeypatch.setattr("tests.repositories._ENVIRONMENT", {**_environment(), "GIT_COMMITTER_DATE": at})
    return commit(folder, files) if (folder / ".git").exists() else git(repository(folder, files), "rev-parse", "HEAD")


def _environment() -> dict[str, str]:
    from tests import repositories

    return repositories._ENVIRONMENT


def files(path: str = "repo/{as_of}/services", **more: Any) -> FilesMaterial:
    return FilesMaterial(kind="files", path=path, **more)


def frozen(folder: Path, at: datetime, material: Any = None) -> Snapshot:
    return freeze(material or files(), folder, at, folder / "snapshots")


def asked(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(snapshot.database), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(query).fetchall()


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """A repository whose services change on three of five days, and what its commits are called by day."""
    folder = tmp_path / "repo"
    made = {
        0: {"services/a.yaml": "port: 80\n", "services/b.yaml": "port: 81\n", "README.md": "x"},
        1: {"README.md": "y"},
        2: {"services/a.yaml": "port: 90\n", "data/t.csv": "a\n1\n"},
        4: {"services/deep/c.yaml": "port: 82\n"},
    }
    return {day: committed(folder, what, day, monkeypatch) for day, what in made.items()}


def test_an_instant_means_what_the_repository_had_then(tmp_path: Path, repo: dict[int, str]) -> None:
    (tmp_path / "repo" / "services" / "a.yaml").write_text("not committed")
    then = frozen(tmp_path, on(3))
    assert then.revision == repo[2]
    assert then.dirty == 0
    assert asked(then, "select path, text, revision, modified_at from files") == [
        ("a.yaml", "port: 90\n", repo[2], on(2)),
        ("b.yaml", "port: 81\n", repo[2], on(0)),
    ]
    assert asked(then, "select file, value from settings") == [("a.yaml", "90"), ("b.yaml", "81")]


def test_a_commit_counts_from_its_second_on_and_what_changed_elsewhere_is_the_same_snapshot(
    tmp_path: Path, repo: dict[int, str]
) -> None:
    found = {at: frozen(tmp_path, at) for at in (on(0), on(1), on(2) - timedelta(seconds=1), on(2), on(9))}
    assert [each.revision for each in found.values()] == [repo[0], repo[0], repo[0], repo[2], repo[4]]
    assert len(list((tmp_path / "snapshots").iterdir())) == 3


def test_an_instant_before_the_first_commit_is_refused_with_its_time(tmp_path: Path, repo: dict[int, str]) -> None:
    with pytest.raises(MaterialError, match=r"no commit is of 2025-12-31T12:00:00Z .*first is of 2026-01-01T12:00:00Z"):
        frozen(tmp_path, on(-1))


def test_where_clocks_went_backwards_no_instant_has_what_is_later_than_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        day: committed(tmp_path / "repo", {"services/a.yaml": f"port: {day}\n"}, day, monkeypatch)
        for day in (0, 59, 31, 90)
    }
    # The third says a time before that of the second, which it was made on.
    found = {day: frozen(tmp_path, on(day)).revision for day in (45, 58, 59, 89, 90)}
    assert found == {45: made[0], 58: made[0], 59: made[31], 89: made[31], 90: made[90]}
    assert dates_of(files().path, tmp_path) == [on(0), on(59), on(90)]


def test_a_clock_that_was_ahead_hides_nothing_without_a_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = (datetime.now(UTC) - DAY).days + 400
    first = committed(tmp_path / "repo", {"services/a.yaml": "port: 1\n"}, 0, monkeypatch)
    committed(tmp_path / "repo", {"services/a.yaml": "port: 2\n"}, ahead, monkeypatch)
    committed(tmp_path / "repo", {"services/a.yaml": "port: 3\n"}, 3, monkeypatch)
    assert frozen(tmp_path, on(2)).revision == first
    with pytest.raises(MaterialError, match=r"which is yet to come, and later ones are not"):
        frozen(tmp_path, on(4))


def test_a_path_that_was_not_there_yet_is_refused_by_name(tmp_path: Path, repo: dict[int, str]) -> None:
    with pytest.raises(MaterialError, match=r"has no 'data' in"):
        frozen(tmp_path, on(1), files("repo/{as_of}/data"))
    with pytest.raises(MaterialError, match=r"is no path in a repository"):
        frozen(tmp_path, on(1), files("repo/{as_of}/x/../../../elsewhere/{as_of}"))


def test_folders_named_by_dates_win_over_git(tmp_path: Path, repo: dict[int, str]) -> None:
    dated = tmp_path / "repo" / "2026-01-01" / "services"
    dated.mkdir(parents=True)
    (dated / "z.yaml").write_text("z: 1")
    assert asked(frozen(tmp_path, on(3)), "select path from files") == [("z.yaml",)]


def test_only_the_top_of_a_repository_is_taken_for_one(tmp_path: Path, repo: dict[int, str]) -> None:
    with pytest.raises(MaterialError, match=r"nothing is dated .*and no git repository"):
        frozen(tmp_path, on(3), files("repo/services/{as_of}"))


def test_a_bare_repository_and_a_whole_one_will_do(tmp_path: Path, repo: dict[int, str]) -> None:
    git(tmp_path, "clone", "-q", "--bare", "repo", "bare.git")
    bare = frozen(tmp_path, on(3), files("bare.git/{as_of}"))
    whole = frozen(tmp_path, on(3), files("repo/{as_of}"))
    assert bare == whole
    assert asked(bare, "select path from files") == [
        ("README.md",),
        ("data/t.csv",),
        ("services/a.yaml",),
        ("services/b.yaml",),
    ]


def test_registries_and_tables_are_dated_too(tmp_path: Path, repo: dict[int, str]) -> None:
    registry = RegistryMaterial.model_validate(
        {"kind": "registry", "path": "repo/{as_of}", "map": {"services": "services/*.yaml"}}
    )
    assert asked(frozen(tmp_path, on(3), registry), "select service, modified_at from services") == [
        ("a", on(2)),
        ("b", on(0)),
    ]
    for path, name in (("repo/{as_of}/data", "t.csv"), ("repo/{as_of}/data/t.csv", None)):
        source = {} if name is None else {"file": name}
        tables = TablesMaterial.model_validate({"kind": "tables", "path": path, "tables": {"t": source}})
        snapshot = frozen(tmp_path, on(3), tables)
        assert (snapshot.revision, asked(snapshot, "from t")) == (repo[2], [("1",)])


def test_links_submodules_and_strange_names_are_listed_and_ignored_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repo"
    revision = committed(folder, {"services/a.yaml": "a: 1"}, 0, monkeypatch)
    (folder / "services" / "link").symlink_to("/etc/passwd")
    (folder / "services" / "old.lnk").symlink_to("a.yaml")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{revision},services/sub")
    os.mkdir(os.fsencode(folder / "services") + b"/\xff")  # noqa: PTH102
    Path(os.fsdecode(os.fsencode(folder / "services") + b"/\xff/x")).touch()
    git(folder, "add", "services/link", "services/old.lnk", os.fsdecode(b"services/\xff/x"))
    git(folder, "commit", "-q", "-m", "more")
    snapshot = frozen(tmp_path, on(3), files(ignore=("*.lnk",)))
    assert snapshot.unreadable() == [
        ("\\xff/x", "its name is not UTF-8"),
        ("link", "a link, not followed"),
        ("sub", "a submodule, not looked into"),
    ]
    assert asked(snapshot, "select path from files") == [("a.yaml",)]


def test_a_merge_counts_when_it_was_merged_and_clocks_that_went_back_do_not_lose_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repo"
    committed(folder, {"services/a.yaml": "a: 1"}, 0, monkeypatch)
    git(folder, "switch", "-q", "-c", "side")
    committed(folder, {"services/b.yaml": "b: 1"}, 1, monkeypatch)
    git(folder, "switch", "-q", "main")
    committed(folder, {"services/a.yaml": "a: 2"}, 5, monkeypatch)
    monkeypatch.setattr(
        "tests.repositories._ENVIRONMENT", {**_environment(), "GIT_COMMITTER_DATE": f"{on(3):%Y-%m-%dT%H:%M:%SZ}"}
    )
    git(folder, "merge", "-q", "--no-ff", "-m", "merge", "side")
    merge = git(folder, "rev-parse", "HEAD")
    # Not on day 1, when only the branch had it.
    assert asked(frozen(tmp_path, on(2)), "select path from files") == [("a.yaml",)]
    # The merge says day 3, and holds what is of day 5.
    assert asked(frozen(tmp_path, on(4)), "select path from files") == [("a.yaml",)]
    assert frozen(tmp_path, on(5)).revision == merge
    assert asked(frozen(tmp_path, on(5)), "select path, modified_at from files") == [
        ("a.yaml", on(5)),
        ("b.yaml", on(3)),
    ]


def test_nothing_that_a_repository_brings_along_is_run_and_nothing_in_it_changes(
    tmp_path: Path, repo: dict[int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ran = tmp_path / "repo", tmp_path / "ran"
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {ran}\ncat\n")
    program.chmod(0o700)
    for name, value in {
        "log.showSignature": "true",
        "gpg.program": str(program),
        "core.fsmonitor": str(program),
        "core.pager": str(program),
        "diff.external": str(program),
        "filter.evil.smudge": str(program),
        "filter.evil.required": "true",
    }.items():
        git(folder, "config", name, value)
    (folder / ".git" / "info" / "attributes").write_text("* filter=evil text eol=crlf ident\n")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    before = {name: each for name, each in kept(folder).items() if name != "said"}
    assert asked(frozen(tmp_path, on(9)), "select text from files where path = 'a.yaml'") == [("port: 90\n",)]
    assert {name: each for name, each in kept(folder).items() if name != "said"} == before
    assert not ran.exists()


def test_the_days_of_a_material_are_those_on_which_it_was_changed(tmp_path: Path, repo: dict[int, str]) -> None:
    assert dates_of("repo/{as_of}/services", tmp_path) == [on(0), on(2), on(4)]
    assert dates_of("repo/{as_of}", tmp_path) == [on(0), on(1), on(2), on(4)]


def test_a_backfill_takes_each_day_of_a_change_unless_told_how_often(tmp_path: Path, repo: dict[int, str]) -> None:
    material = {"kind": "registry", "path": "repo/{as_of}", "map": {"services": "services/**/*.yaml"}}
    path = declare(tmp_path, {"no_owner": NO_OWNER}, material=material)
    declaration = read_declaration(path)
    assert dates(declaration, on(-5), on(3), None) == [on(0), on(1), on(2)]
    assert dates(declaration, on(0), on(4), "2") == [on(0), on(2), on(4)]
    with pytest.raises(DeclarationError, match="no date in that time"):
        dates(declaration, on(5), on(9), None)
    home = Home(tmp_path / "home")
    read = [plan(begin(path, home, as_of=on(day), campaign=f"day{day}"), 1).snapshot for day in (0, 2, 3)]
    assert read[0] != read[1] == read[2]


def test_a_clone_of_this_project_is_searched_as_it_was(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout of the project, so that it has no history to look at")
    if git(ROOT, "rev-parse", "--is-shallow-repository") == "true":
        pytest.skip("this checkout has a part of the project's history only")
    at = datetime.fromtimestamp(int(git(ROOT, "log", "-1", "--skip=20", "--first-parent", "--format=%ct")), UTC)
    material = files(f"{ROOT}/{{as_of}}/drysweep_pipeline/material")
    snapshot = frozen(tmp_path, at, material)
    revision = snapshot.revision
    assert revision is not None
    listed = git(ROOT, "ls-tree", "-r", "--name-only", "--full-tree", f"{revision}:drysweep_pipeline/material")
    assert [path for (path,) in asked(snapshot, "select path from files")] == sorted(listed.splitlines())
    last = {
        path: int(
            git(
                ROOT,
                "log",
                "-1",
                "--first-parent",
                "--format=%ct",
                revision,
                "--",
                f"drysweep_pipeline/material/{path}",
            )
        )
        for path in listed.splitlines()[:3]
    }
    told = dict(asked(snapshot, "select path, cast(epoch(modified_at) as bigint) from files"))
    assert {path: told[path] for path in last} == last
    assert frozen(tmp_path, at, material) == snapshot
