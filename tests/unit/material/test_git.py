"""Material in git: which files are as committed, what the snapshot says, and that nothing of a repository is run."""

import os
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.material import git as program
from tests.repositories import commit, git, kept, needs_git, repository

pytestmark = needs_git

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
BEFORE = {"a.txt": "one\n", "below/b.yaml": "x: 1\n"}


def frozen(place: Path, **declared: Any) -> Snapshot:
    material = FilesMaterial(kind="files", **{"path": "r", **declared})
    return freeze(material, place, NOON, place / "snapshots")


def revisions(snapshot: Snapshot) -> dict[str, str | None]:
    with duckdb.connect(str(snapshot.database), read_only=True) as connection:
        return dict(connection.execute("select path, revision from files order by path").fetchall())


@pytest.fixture
def head(tmp_path: Path) -> str:
    """Make a repository in the folder ``r`` and return its commit."""
    return git(repository(tmp_path / "r", BEFORE), "rev-parse", "HEAD")


def test_a_file_that_is_as_committed_has_the_commit_that_is_checked_out(tmp_path: Path, head: str) -> None:
    (tmp_path / "r" / "new.txt").write_text("new\n")
    (tmp_path / "r" / "a.txt").write_text("two\n")
    snapshot = frozen(tmp_path)
    assert revisions(snapshot) == {"a.txt": None, "below/b.yaml": head, "new.txt": None}
    assert (snapshot.revision, snapshot.dirty) == (head, 2)


def test_a_clean_checkout_is_known_to_be_one(tmp_path: Path, head: str) -> None:
    (tmp_path / "r" / "link").symlink_to("a.txt")
    git(tmp_path / "r", "add", "link")
    head = commit(tmp_path / "r", {"c.txt": ""})
    snapshot = frozen(tmp_path)
    assert (snapshot.revision, snapshot.dirty) == (head, 0)
    assert Snapshot.open(snapshot.folder) == snapshot


def test_what_was_removed_and_what_may_not_be_read_is_not_as_committed(tmp_path: Path, head: str) -> None:
    (tmp_path / "r" / "a.txt").unlink()
    (tmp_path / "r" / "loose").symlink_to("nowhere")
    assert frozen(tmp_path).dirty == 2


def test_what_is_ignored_is_not_missed(tmp_path: Path, head: str) -> None:
    shutil.rmtree(tmp_path / "r" / "below")
    (tmp_path / "r" / "new.txt").write_text("new\n")
    snapshot = frozen(tmp_path, ignore=("below/", "new.*"))
    assert (snapshot.revision, snapshot.dirty) == (head, 0)


def test_the_same_files_at_two_commits_are_two_snapshots(tmp_path: Path, head: str) -> None:
    first = frozen(tmp_path)
    assert frozen(tmp_path).digest == first.digest
    git(tmp_path / "r", "commit", "-q", "--allow-empty", "-m", "nothing changed")
    second = frozen(tmp_path)
    assert second.digest != first.digest
    assert set(revisions(second).values()) == {git(tmp_path / "r", "rev-parse", "HEAD")}


def test_a_folder_of_which_the_commit_has_nothing_is_no_git_material(tmp_path: Path) -> None:
    repository(tmp_path, {"readme": "r\n"})
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "a.txt").write_text("one\n")
    inside = frozen(tmp_path)
    assert (inside.revision, inside.dirty, revisions(inside)) == (None, 0, {"a.txt": None})
    shutil.rmtree(tmp_path / ".git")
    assert frozen(tmp_path).digest == inside.digest
    assert "git" not in (inside.folder / "snapshot.json").read_text()


def test_material_may_lie_below_the_top_or_be_reached_by_a_link(tmp_path: Path, head: str) -> None:
    (tmp_path / "r" / "a.txt").write_text("changed, but not searched\n")
    (tmp_path / "link").symlink_to(tmp_path / "r" / "below")
    for path in ("r/below", "link"):
        snapshot = frozen(tmp_path, path=path)
        assert (revisions(snapshot), snapshot.dirty) == ({"b.yaml": head}, 0)


def test_a_registry_knows_its_commit_too(tmp_path: Path, head: str) -> None:
    material = RegistryMaterial(kind="registry", path="r", map={"services": "below/*.yaml"})
    assert freeze(material, tmp_path, NOON, tmp_path / "snapshots").revision == head


def test_a_linked_work_tree_and_another_hash_are_git_as_well(tmp_path: Path, head: str) -> None:
    git(tmp_path / "r", "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    assert frozen(tmp_path, path="linked").revision == head
    git(tmp_path, "init", "-q", "--object-format=sha256", "wide")
    wide = commit(tmp_path / "wide", BEFORE)
    snapshot = frozen(tmp_path, path="wide")
    assert (snapshot.revision, snapshot.dirty, len(wide)) == (wide, 0, 64)


@pytest.mark.parametrize("broken", ["no commit", "no git", "spoilt", "empty"])
def test_where_git_has_nothing_to_say_material_is_searched_without_it(
    tmp_path: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(tmp_path / "r", BEFORE)
    if broken == "no git":
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        shutil.rmtree(tmp_path / "r" / ".git")
        if broken == "no commit":
            git(tmp_path / "r", "init", "-q")
        elif broken == "spoilt":
            (tmp_path / "r" / ".git").write_text("gitdir: nowhere\n")
        else:
            (tmp_path / "r" / ".git").mkdir()
    snapshot = frozen(tmp_path)
    assert (snapshot.revision, set(revisions(snapshot).values())) == (None, {None})


def test_the_variables_of_git_lead_nobody_astray(tmp_path: Path, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = repository(tmp_path / "other", {"a.txt": "other\n"})
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(name, str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert frozen(tmp_path).revision == head


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_a_checkout_that_belongs_to_somebody_else_is_git_material(tmp_path: Path, head: str) -> None:
    for path in (tmp_path / "r", *(tmp_path / "r").rglob("*")):
        os.chown(path, 4242, 4242, follow_symlinks=False)
    assert frozen(tmp_path).revision == head


def without_the_last_commit(tmp_path: Path) -> dict[str, str]:
    checkout = program.checkout(tmp_path / "r")
    assert checkout is not None
    fix = program.fix_of(checkout, checkout.revision)
    assert program.has(checkout, checkout.revision, fix)
    with program.without(checkout, checkout.revision, fix, tmp_path / "scratch") as folder:
        texts = {path.name: path.read_text() for path in sorted(folder.rglob("*.txt"))}
    assert list((tmp_path / "scratch").iterdir()) == []
    return texts


def test_a_copy_without_a_fix_is_made_apart_and_removed(tmp_path: Path, head: str) -> None:
    commit(tmp_path / "r", {"a.txt": "two\n", "c.txt": "three\n"})
    git(tmp_path / "r", "stash", "list")
    (tmp_path / "r" / "a.txt").write_text("not committed\n")
    git(tmp_path / "r", "add", "a.txt")
    (tmp_path / "r" / "a.txt").write_text("not staged\n")
    before = kept(tmp_path / "r")
    assert without_the_last_commit(tmp_path) == {"a.txt": "one\n"}
    assert kept(tmp_path / "r") == before


def test_a_copy_is_removed_however_the_block_ends(tmp_path: Path, head: str) -> None:
    commit(tmp_path / "r", {"a.txt": "two\n"})
    checkout = program.checkout(tmp_path / "r")
    assert checkout is not None
    fix = program.fix_of(checkout, "HEAD")
    with pytest.raises(KeyboardInterrupt), program.without(checkout, checkout.revision, fix, tmp_path / "scratch"):
        raise KeyboardInterrupt
    assert list((tmp_path / "scratch").iterdir()) == []


def commit_bytes(place: Path, files: dict[str, bytes]) -> None:
    """Commit bytes as they are, past whatever attributes would make of them; the work tree is left behind."""
    for name, what in files.items():
        (place / "bytes").write_bytes(what)
        blob = git(place, "hash-object", "-w", "--no-filters", "bytes")
        git(place, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")
    git(place, "commit", "-q", "-m", "bytes")


MACROS = "[attr]text merge=union\n[attr]merge eol=crlf\n"


@pytest.mark.parametrize(
    "attributes",
    [
        *("* text eol=crlf\n", "* text=auto eol=crlf\n", "* crlf=input\n", "* ident\n", "* filter=lfs\n"),
        *("* working-tree-encoding=UTF-16\n", "* binary\n", f"{MACROS}* text merge eol=crlf ident\n"),
    ],
)
def test_a_copy_without_a_fix_has_every_other_file_byte_for_byte_as_committed(
    tmp_path: Path, head: str, attributes: str
) -> None:
    place = tmp_path / "r"
    kept = {"lf.txt": b"a\nb\n", "crlf.txt": b"a\r\nb\r\n", "below/id.txt": b"$Id$\n$Id: x $\n", "z.txt": b"\xff\0\n"}
    commit_bytes(place, {**kept, ".gitattributes": attributes.encode(), "below/.gitattributes": attributes.encode()})
    commit_bytes(place, {"a.txt": b"fixed\n"})
    checkout = program.checkout(place)
    assert checkout is not None
    fix = program.fix_of(checkout, "HEAD")
    with program.without(checkout, checkout.revision, fix, tmp_path / "scratch") as folder:
        assert {name: (folder / name).read_bytes() for name in kept} == kept
        assert (folder / "a.txt").read_bytes() == b"one\n"


@pytest.mark.parametrize("attributes", ["", "* merge=union\n", "* -merge\n", "[attr]text merge=union\n* text\n"])
def test_a_fix_on_whose_lines_others_stand_conflicts_whatever_the_tree_says_of_merging(
    tmp_path: Path, head: str, attributes: str
) -> None:
    place = tmp_path / "r"
    commit(place, {".gitattributes": attributes})
    fix = commit(place, {"a.txt": "two\n"})
    commit(place, {"a.txt": "three\n"})
    checkout = program.checkout(place)
    assert checkout is not None
    with (
        pytest.raises(MaterialError, match="conflicts with what came after it"),
        program.without(checkout, checkout.revision, program.fix_of(checkout, fix), tmp_path / "scratch"),
    ):
        pass


def test_a_fix_that_others_do_not_touch_is_reverted_though_the_tree_wants_no_merge(tmp_path: Path, head: str) -> None:
    place = tmp_path / "r"
    before = "".join(f"{line}\n" for line in range(20))
    commit(place, {".gitattributes": "* -merge\n", "a.txt": before})
    fix = commit(place, {"a.txt": before.replace("3\n", "three\n", 1)})
    commit(place, {"a.txt": before.replace("3\n", "three\n", 1) + "more\n"})
    checkout = program.checkout(place)
    assert checkout is not None
    with program.without(checkout, checkout.revision, program.fix_of(checkout, fix), tmp_path / "scratch") as folder:
        assert (folder / "a.txt").read_text() == before + "more\n"


def test_a_folder_that_reverting_turns_into_a_link_is_not_followed(tmp_path: Path) -> None:
    place = repository(tmp_path / "r", BEFORE)
    git(place, "rm", "-q", "-r", "below")
    (place / "below").symlink_to(tmp_path)
    git(place, "add", "below")
    commit(place, {"a.txt": "two\n"})
    git(place, "rm", "-q", "below")
    fix = commit(place, {"a.txt": "three\n"})
    commit(place, {"c.txt": "c\n"})
    (place / "below").mkdir()
    checkout = program.checkout(place / "below")
    assert checkout is not None
    with (
        pytest.raises(MaterialError, match="is a link"),
        program.without(checkout, checkout.revision, program.fix_of(checkout, fix), tmp_path / "scratch"),
    ):
        pass


def test_a_first_commit_and_a_shallow_one_have_nothing_to_go_back_to(tmp_path: Path, head: str) -> None:
    with pytest.raises(MaterialError, match="nothing before it"):
        without_the_last_commit(tmp_path)
    commit(tmp_path / "r", {"a.txt": "two\n"})
    (tmp_path / "deep").mkdir()
    (tmp_path / "r").rename(tmp_path / "deep" / "r")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tmp_path}/deep/r", "r")
    with pytest.raises(MaterialError):
        without_the_last_commit(tmp_path)


def test_nothing_that_a_repository_brings_along_is_run(tmp_path: Path, head: str) -> None:
    place, mark = tmp_path / "r", tmp_path / "mark"
    attributes = "*.txt filter=evil diff=evil merge=evil\n"
    commit(place, {"a.txt": "two\n", ".gitattributes": attributes})
    (place / ".git" / "info" / "attributes").write_text(attributes)
    runs = f"touch {mark}; cat"
    for name in ("post-checkout", "pre-commit", "post-index-change", "post-rewrite", "reference-transaction"):
        hook = place / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    git(place, "update-ref", "refs/heads/--upload-pack=evil", "HEAD")
    git(place, "symbolic-ref", "HEAD", "refs/heads/--upload-pack=evil")
    for key in (
        *(
            "core.fsmonitor",
            "core.pager",
            "core.editor",
            "core.sshCommand",
            "core.askPass",
            "core.alternateRefsCommand",
        ),
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "diff.evil.command"),
        *("diff.external", "merge.evil.driver", "pager.rev-parse", "pager.ls-tree", "gpg.program", "sequence.editor"),
        *("alias.rev-parse", "alias.revert", "uploadpack.packObjectsHook", "credential.helper"),
    ):
        git(place, "config", key, f"!{runs}" if key.startswith("alias") else runs)
    git(place, "config", "core.hooksPath", str(place / ".git" / "hooks"))
    git(place, "config", "commit.gpgSign", "true")
    # git of the tests itself must not be what runs them.
    mark.unlink(missing_ok=True)
    before = sorted((str(path), path.stat().st_mtime_ns) for path in place.rglob("*") if "objects" not in path.parts)
    snapshot = frozen(tmp_path)
    assert snapshot.dirty == 0
    assert without_the_last_commit(tmp_path) == {"a.txt": "one\n"}
    assert not mark.exists()
    after = sorted((str(path), path.stat().st_mtime_ns) for path in place.rglob("*") if "objects" not in path.parts)
    assert after == before
    git(place, "status")
    assert mark.exists(), "the trap is one"


def test_nothing_is_fetched_for_a_repository_that_lacks_a_part_of_its_commit(tmp_path: Path, head: str) -> None:
    place, mark = tmp_path / "r", tmp_path / "mark"
    tree = git(place, "rev-parse", "HEAD:below")
    (place / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    for key, value in (
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.url", f"ext::touch {mark}"),
        ("protocol.ext.allow", "always"),
    ):
        git(place, "config", key, value)
    checkout = program.checkout(place)
    assert checkout is not None
    with pytest.raises(MaterialError, match="git ls-tree"):
        program.tree(checkout)
    assert not mark.exists()
    with pytest.raises(AssertionError):
        git(place, "ls-tree", "-r", "HEAD")
    assert mark.exists(), "the trap is one"


@pytest.mark.parametrize("name", ["--all", "-h", "HEAD:a.txt", ":/commit", "@{-1}", "HEAD^{tree}", "", "a\nb", "HEAD "])
def test_only_names_of_commits_are_asked_for(tmp_path: Path, head: str, name: str) -> None:
    checkout = program.checkout(tmp_path / "r")
    assert checkout is not None
    if name.strip() == "HEAD":
        assert program.fix_of(checkout, name).commits == (head,)
        return
    with pytest.raises(MaterialError, match="is no name of a commit"):
        program.fix_of(checkout, name)


def test_git_that_does_not_end_is_stopped(tmp_path: Path, head: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    checkout = program.checkout(tmp_path / "r")
    assert checkout is not None
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(program, "_SECONDS", 0.2)
    with pytest.raises(MaterialError, match=r"still running after 0\.2 s"):
        program.tree(checkout)
