"""Writes the index of a git checkout that the sweep ``deprecated_api`` looks at.

``python index_of.py CHECKOUT NAME FOLDER`` reads the files as they lie there, changes included, and the log.
NAME is a module or another single identifier.
"""

import ast
import csv
import gzip
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_FIELD, _RECORD = "\x1f", "\x1e"


def main(checkout: Path, name: str, folder: Path) -> None:
    """Write the five files of the index into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = dict(_texts(checkout))
    trees = {path: tree for path, text in texts.items() if path.endswith(".py") and (tree := _parsed(text))}
    meta = {"token_regex": rf"\b{name}\b", "base_date": _git(checkout, "log", "-1", "--format=%cI").strip()}
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    _write_lines(folder / "line_tokens.jsonl.gz", _lines(texts))
    _write_lines(folder / "commits.jsonl.gz", _commits(checkout, name))
    _write_table(folder / "imports.csv", ("path", "line", "module", "name", "alias"), _imports(trees))
    _write_table(folder / "tests.csv", ("path", "line", "end_line", "test_name"), _tests(trees))


def _git(checkout: Path, *arguments: str) -> str:
    command = ["git", "-C", str(checkout), "-c", "core.quotePath=false", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout  # noqa: S603 - git, no shell


def _texts(checkout: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of the commit that are text, as they are checked out."""
    for path in _git(checkout, "ls-files", "-z").split("\0"):
        file = checkout / path
        if path and file.is_file() and not file.is_symlink():
            try:
                yield path, file.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                print(f"{path} is not text", file=sys.stderr)  # noqa: T201 - who runs this is to know


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _lines(texts: dict[str, str]) -> Iterator[list[Any]]:
    for path, text in texts.items():
        for number, line in enumerate(text.splitlines(), 1):
            if found := sorted(set(_IDENTIFIER.findall(line))):
                yield [path, number, found]


def _commits(checkout: Path, name: str) -> Iterator[dict[str, Any]]:
    layout = f"--format={_RECORD}%H{_FIELD}%cI{_FIELD}%s{_FIELD}%b{_FIELD}"
    for record in _git(checkout, "log", "--name-only", layout).split(_RECORD)[1:]:
        sha, committed_at, subject, body, files = record.split(_FIELD)
        yield {
            "sha": sha,
            "committed_at": committed_at,
            "subject": subject,
            "body_mentions": [name] if re.search(rf"\b{name}\b", body) else [],
            "files": [each for each in files.split("\n") if each],
        }


def _imports(trees: dict[str, ast.Module]) -> Iterator[tuple[Any, ...]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            # An import that goes over several lines names its module on the first.
            if isinstance(node, ast.Import):
                yield from ((path, node.lineno, each.name, "", each.asname or "") for each in node.names)
            if isinstance(node, ast.ImportFrom):
                module = "." * node.level + (node.module or "")
                yield from ((path, node.lineno, module, each.name, each.asname or "") for each in node.names)


def _tests(trees: dict[str, ast.Module]) -> Iterator[tuple[Any, ...]]:
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                yield path, node.lineno, node.end_lineno, node.name


def _write_lines(path: Path, rows: Iterable[Any]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _write_table(path: Path, header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


if __name__ == "__main__":
    if len(sys.argv) != 4 or not sys.argv[2].isidentifier():
        sys.exit("usage: index_of.py CHECKOUT NAME FOLDER, where NAME is one identifier")
    main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
