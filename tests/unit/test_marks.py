"""The mark of strategies: what of their files and folders counts when it is asked whether they have looked already."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine.marks import mark
from tests.sweeps import NO_OWNER, declare


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def written(folder: Path, **strategy: Any) -> Callable[[], str]:
    """Write a sweep with a strategy and all that such ones run and read; return what tells its mark."""
    for name in (
        "look.py",
        "rules/a.yml",
        "rules/deep/b.yml",
        "found/__init__.py",
        "found/inner/__init__.py",
        "one.py",
    ):
        put(folder / name, "first = 1")
    put(folder / "found" / "inner" / "words.txt", "first")
    path = declare(folder, {"labels": NO_OWNER})
    data = json.loads(path.read_text())
    data["attributes"]["strategies"] = [{"name": "mine", **strategy}]
    path.write_text(json.dumps(data))

    def told() -> str:
        declaration = read_declaration(path)
        return mark(declaration, declaration.sweep.strategies, declaration.sweep.canaries, folder / "home")

    return told


COMMAND = {"kind": "command", "argv": ["python3", "look.py", "--config", "rules/", "{material}"]}
READS = {"kind": "command", "argv": ["python3", "look.py"], "reads": ["rules"]}
VALUE = {"kind": "command", "argv": ["python3", "look.py", "--config=rules/a.yml"]}
PACKAGE = {"kind": "python", "call": "found:find"}
INNER = {"kind": "python", "call": "found.inner:find"}
MODULE = {"kind": "python", "call": "one:find", "reads": ["rules/a.yml"]}


@pytest.mark.parametrize(
    ("strategy", "changed"),
    [
        (COMMAND, "look.py"),
        (COMMAND, "rules/a.yml"),
        (COMMAND, "rules/deep/b.yml"),
        (COMMAND, "rules/new.yml"),
        (READS, "rules/deep/b.yml"),
        (VALUE, "rules/a.yml"),
        (PACKAGE, "found/__init__.py"),
        (PACKAGE, "found/inner/words.txt"),
        (INNER, "found/inner/words.txt"),
        (INNER, "found/__init__.py"),
        (MODULE, "one.py"),
        (MODULE, "rules/a.yml"),
    ],
)
def test_a_change_to_what_a_strategy_runs_or_reads_makes_it_another(
    tmp_path: Path, strategy: dict[str, Any], changed: str
) -> None:
    told = written(tmp_path, **strategy)
    before = told()
    assert told() == before
    put(tmp_path / changed, "second = 2")
    assert told() != before


@pytest.mark.parametrize(
    ("strategy", "changed"),
    [
        (COMMAND, "found/__init__.py"),
        (COMMAND, "rules/__pycache__/a.pyc"),
        (COMMAND, "rules/.cache"),
        (MODULE, "look.py"),
        ({**READS, "reads": ["."]}, "home/ledger"),
        ({**READS, "reads": ["/"]}, "rules/a.yml"),
    ],
)
def test_what_is_none_of_a_strategy_or_changes_by_itself_leaves_it_what_it_was(
    tmp_path: Path, strategy: dict[str, Any], changed: str
) -> None:
    told = written(tmp_path, **strategy)
    before = told()
    put(tmp_path / changed, "second = 2")
    assert told() == before
