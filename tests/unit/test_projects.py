"""A new project is written whole, where nothing is in the way, and names what is."""

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline import projects
from drysweep_pipeline.cli import main
from drysweep_pipeline.declaration import find_sweeps, read_declaration
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.declaration.schema import json_schema
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.projects import TEMPLATES, begin

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", params=sorted(TEMPLATES))
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> projects.Project:
    return begin(tmp_path_factory.mktemp("made") / request.param, request.param)


def below(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_project_declares_one_sweep_that_is_valid_and_not_unwise(project: projects.Project) -> None:
    [(name, path)] = find_sweeps(project.folder).items()
    declaration = read_declaration(path)
    assert name == project.sweep == declaration.sweep.name == path.parent.name
    assert sql_problems(declaration) == []
    assert warnings(declaration) == []


def test_what_was_written_is_what_is_told(project: projects.Project) -> None:
    assert set(project.files) == set(below(project.folder))
    assert {"pyproject.toml", "workspace.yaml", ".gitignore", "README.md", "tests/test_sweeps.py"} < set(project.files)
    assert not [name for name in project.files if name.endswith(".jinja")]
    assert b".drysweep/" in (project.folder / ".gitignore").read_bytes()


def test_a_project_keeps_the_schema_where_its_declaration_says_that_it_is(project: projects.Project) -> None:
    declared = find_sweeps(project.folder)[project.sweep]
    first = declared.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# yaml-language-server: $schema=")
    assert json.loads((declared.parent / first.partition("=")[2]).read_text(encoding="utf-8")) == json_schema()


def test_the_code_of_a_project_is_in_good_style(project: projects.Project) -> None:
    # The code in examples is there for its faults.
    options = ["--isolated", "--line-length", "120", "--no-cache", "--exclude", "examples"]
    rules = ["--select", "E,F,W,I,B,UP,SIM,PTH,D", "--ignore", "D203,D213", "--per-file-ignores", "tests/*:D103"]
    for command in (["check", *rules], ["format", "--diff"]):
        whole = [sys.executable, "-m", "ruff", *command, *options, "."]
        done = subprocess.run(whole, cwd=project.folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    assert max(len(line) for line in (project.folder / "README.md").read_text().splitlines()) <= 125


def test_the_sweep_of_a_template_is_the_one_that_this_repository_declares(tmp_path: Path) -> None:
    made = begin(tmp_path / "made", "config_registry")
    assert below(made.folder / "assets" / "sweeps" / "config_registry") == below(
        ROOT / "assets" / "sweeps" / "config_registry"
    )


@pytest.mark.parametrize("file", ["syntax.py", "excuses.py", "strategies/patterns.sql"])
def test_an_audit_of_code_asks_what_the_audit_of_this_repository_asks(tmp_path: Path, file: str) -> None:
    made = begin(tmp_path / "made", "code_audit")
    written, declared = (folder / "assets" / "sweeps" / "code_audit" / file for folder in (made.folder, ROOT))
    assert written.read_bytes() == declared.read_bytes()


def test_a_sweep_goes_by_the_name_that_it_is_given(tmp_path: Path) -> None:
    made = begin(tmp_path / "made", name="endpoints")
    assert list(find_sweeps(made.folder)) == ["endpoints"]
    assert "run endpoints" in (made.folder / "README.md").read_text(encoding="utf-8")
    assert '"endpoints"' in (made.folder / "tests" / "test_sweeps.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("folder", "name"),
    [("My Sweeps!", "my-sweeps"), ("a'b\"c\n", "a-b-c"), ("---", "sweeps"), ("täglich", "t-glich"), ("{{ x }}", "x")],
)
def test_a_project_in_a_folder_of_any_name_has_a_name_that_tools_take(tmp_path: Path, folder: str, name: str) -> None:
    made = begin(tmp_path / folder)
    declared = tomllib.loads((made.folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert declared["project"]["name"] == declared["tool"]["dg"]["project"]["code_location_name"] == name


def test_a_project_asks_for_a_version_that_keeps_to_what_this_one_promises(monkeypatch: pytest.MonkeyPatch) -> None:
    for version, asked in {"0.1.0": ">=0.1,<0.2", "0.12.3": ">=0.12,<0.13", "2.4.1": ">=2.4,<3"}.items():
        monkeypatch.setattr("importlib.metadata.version", lambda _, version=version: version)
        assert projects._requirement() == f"drysweep-pipeline{asked}"


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("My Sweep!", "my_sweep would do"),
        ("7days", "begins with a letter"),
        ("", "begins with a letter"),
        ("../up", "up would do"),
        ("a" * 64, "a" * 63 + " would do"),
        ("x\n", "x would do"),
    ],
)
def test_a_name_that_no_sweep_may_have_is_refused_with_one_that_it_may_have(
    tmp_path: Path, name: str, help: str
) -> None:
    with pytest.raises(Refused) as refused:
        begin(tmp_path / "made", name=name)
    assert help in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("template", "help"), [("minimla", "did you mean minimal?"), ("x", "there is minimal, config_registry, code_audit")]
)
def test_a_template_that_is_not_there_is_refused_with_the_nearest_that_is(
    tmp_path: Path, template: str, help: str
) -> None:
    with pytest.raises(Refused, match=r"no template") as refused:
        begin(tmp_path / "made", template)
    assert refused.value.help == help


def test_a_folder_that_holds_other_things_keeps_them_and_gets_the_project_beside_them(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("mine")
    made = begin(tmp_path)
    assert set(below(tmp_path)) == {*made.files, "docs/page.md"}
    assert (tmp_path / "docs" / "page.md").read_text() == "mine"


@pytest.mark.parametrize("name", ["pyproject.toml", "assets/definitions.py", "assets", "examples/services"])
def test_a_file_in_the_way_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("mine")
    with pytest.raises(Refused) as refused:
        begin(tmp_path)
    assert refused.value.file == str(place)
    assert below(tmp_path) == {name: b"mine"}


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "assets").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for folder in ("made", "dangling"):
        with pytest.raises(Refused):
            begin(tmp_path / folder)
    assert below(tmp_path) == {}


def test_a_project_that_cannot_be_written_to_its_end_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(TEMPLATES, "minimal", replace(TEMPLATES["minimal"], material=fails))
    with pytest.raises(Refused, match="No space left on device"):
        begin(tmp_path / "made")
    assert list(tmp_path.iterdir()) == []


def test_what_was_written_is_taken_back_where_somebody_else_was_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "workspace.yaml").write_text("theirs")
    monkeypatch.setattr(projects, "_is_free", lambda folder, name: None)
    with pytest.raises(Refused, match="File exists"):
        begin(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["workspace.yaml"]
    assert (tmp_path / "workspace.yaml").read_text() == "theirs"


def test_a_project_has_the_rights_that_other_folders_have(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    made = begin(tmp_path / "made")
    assert made.folder.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_command_says_what_it_wrote_and_what_to_do_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "my sweeps"]) == 0
    said = capsys.readouterr().out
    assert "cd 'my sweeps'\n" in said
    assert "run services\n" in said
    assert main(["init", "other", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["folder"]) == (1, str(tmp_path / "other"))
    assert len(told["next"]) == 3
    assert all((tmp_path / "other" / name).is_file() for name in told["files"])
    assert main(["init", "other", "--json"]) == 2
    refused = json.loads(capsys.readouterr().out)
    assert refused["file"].startswith(str(tmp_path / "other") + os.sep)
