"""The command line and what is written of it: help with examples that are commands, a reference that is current."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.app import app
from drysweep_pipeline.cli.reference import page

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "command_line.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
# What ends a command in a line of a shell.
_ENDS = frozenset(("|", "||", "&&", ";", ">", "2>", "&", "#"))
_SHELL = re.compile(r"^```(?:sh|bash|console|shell)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, by its name with the names above it."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())
GROUPS = {name.rpartition(" ")[0] for name in COMMANDS if " " in name}


def options(command: Any) -> set[str]:
    return {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {"-h", "--help"}


def called(document: Path) -> Iterator[list[str]]:
    """Yield each call of drysweep that a document shows, as the words after the program."""
    text = document.read_text(encoding="utf-8").replace("\\\n", " ")
    shown = [line for block in _SHELL.findall(text) for line in block.splitlines()]
    for line in (*shown, *_SPAN.findall(re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE))):
        try:
            words = shlex.split(line.removeprefix("$ "))
        except ValueError:
            continue
        for at, word in enumerate(words):
            if word.rpartition("/")[2] == "drysweep":
                end = next((n for n in range(at + 1, len(words)) if words[n] in _ENDS or ";" in words[n]), len(words))
                yield words[at + 1 : end]


def command_of(words: list[str]) -> str | None:
    name = words[0] if words else ""
    if name in GROUPS:
        name = " ".join(words[:2])
    return name if re.fullmatch(r"[a-z][a-z -]*", name) else None


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_that_is_one(name: str) -> None:
    examples = re.findall(r"Example: drysweep (.*)", COMMANDS[name].help or "")
    assert len(examples) == 1, "end the docstring of the command with a line `Example: drysweep ...`"
    words = shlex.split(examples[0])
    assert command_of(words) == name
    # Parsed, and not done.
    COMMANDS[name].make_context(name, words[len(name.split()) :])


@pytest.mark.parametrize("arguments", [["-h"], ["findings", "-h"]])
def test_no_command_is_cut_short_in_the_list_of_commands(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(arguments) == 0
    cut = [line for line in capsys.readouterr().out.splitlines() if line.endswith("...")]
    assert cut[1:] == [], "make the first sentence of its docstring shorter"


def test_the_reference_of_the_command_line_is_current() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == page(), "commands or options changed: run `make reference`"


def test_the_reference_names_every_command_and_option() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    for name, command in COMMANDS.items():
        part = re.search(rf"^#+ drysweep {name}$(.*?)(?=^#)", text, re.DOTALL | re.MULTILINE)
        assert part is not None, name
        named = {each for each in options(command) if each.startswith("-")} - {"-h", "--help"}
        assert [each for each in named if each not in part[1]] == [], name


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_and_option_that_a_document_names_is_there(document: Path) -> None:
    for words in called(document):
        name = command_of(words)
        if name is None:
            continue
        assert name in COMMANDS or name in GROUPS, f"drysweep {' '.join(words)}"
        given = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        known = options(COMMANDS[name]) if name in COMMANDS else set().union(*map(options, COMMANDS.values()))
        assert given <= known, f"drysweep {' '.join(words)}"


def test_documents_name_commands_at_all() -> None:
    assert {command_of(words) for words in called(ROOT / "README.md")} >= {"run", "sql", "findings list"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two declared sweeps, and a home with three campaigns."""
    (tmp_path / "pyproject.toml").touch()
    for folder, name in (("small", "small"), ("folder", "'named'")):
        declared = tmp_path / "assets" / "sweeps" / folder / "defs.yaml"
        declared.parent.mkdir(parents=True)
        declared.write_text(
            f"type: drysweep_pipeline.Sweep\nattributes:\n  # its own\n  name: {name}\n  strategies: []\n"
        )
    for name in ("20260101T000000Z", "20260201T000000Z", "mine"):
        state = tmp_path / ".drysweep" / "sweeps" / "small" / "state" / f"{name}.json"
        state.parent.mkdir(parents=True, exist_ok=True)
        state.touch()
    (tmp_path / "other.yaml").touch()
    return tmp_path


def completed(project: Path, *words: str) -> list[str]:
    """Return what a real bash completes, with the script that drysweep installs."""
    script = (
        'eval "$(_DRYSWEEP_COMPLETE=source_bash drysweep)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_drysweep_completion drysweep; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(project)}
    done = subprocess.run(
        ["bash", "-c", script, "bash", "drysweep", *words],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["res"], ["resume"]),
        (["status", "small/2"], ["small/20260201T000000Z", "small/20260101T000000Z"]),
        (["status", "mi"], ["mine"]),
        (["run", "sm"], ["small"]),
        (["run", "na"], ["named"]),
        (["plan", "ot"], ["other.yaml"]),
        (["findings", "acc"], ["accept-risk"]),
        (["run", "--fai"], ["--fail-on"]),
    ],
)
def test_a_real_shell_completes_commands_options_sweeps_and_campaigns(
    project: Path, words: list[str], offered: list[str]
) -> None:
    assert completed(project, *words) == offered


def test_completing_loads_nothing_that_a_person_would_wait_for(project: Path) -> None:
    code = (
        "import os, sys; from drysweep_pipeline.cli import completing\n"
        "assert completing.sweeps('sm') == ['small'], completing.sweeps('sm')\n"
        "print(*{'duckdb', 'dagster', 'pydantic', 'pyarrow', 'rich', 'jinja2', 'altair'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_help_and_version_load_nothing_that_a_person_would_wait_for() -> None:
    code = (
        "import sys; from drysweep_pipeline.cli import main\n"
        "main(['--version']); main(['--help']); main(['run', '--help'])\n"
        "heavy = {'duckdb', 'dagster', 'pyarrow', 'rich', 'jinja2', 'altair', 'vl_convert', 'httpx2'}\n"
        "print('loaded:', *heavy & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:", "import it inside the command"
