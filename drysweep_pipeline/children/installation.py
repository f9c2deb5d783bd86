"""What a program needs to read of where it is installed, so that it can be confined and still run.

Found by looking at the program, its links, the interpreter that its first line names, and the folders around them;
nothing is run. What it needs beyond that is for its author to declare.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from drysweep_pipeline.children.worker import PATH as WORKER
from drysweep_pipeline.programs import beside, search_path

# Programs that stand in for others of the same name, which lie elsewhere in the folder above.
_SHIMS = "shims"
_VENV = "pyvenv.cfg"
_OF_AN_INSTALLATION = ("lib", "lib64", "libexec", _VENV)
_DEPTH = 8
_FIRST_LINE = 512


def program_places(argv0: str, search: str | None) -> tuple[Path, ...]:
    """Return the paths that a program reads to start: it, what it is installed with, its interpreter; no more twice.

    ``search`` is the ``PATH`` on which it is looked for.
    """
    found = shutil.which(argv0, path=search)
    return tuple(dict.fromkeys(_places(Path(found), search, _DEPTH))) if found else ()


@cache
def interpreter_places() -> tuple[Path, ...]:
    """Return what this interpreter reads when a child of ours runs it: what it is installed with, and imports from."""
    prefixes = {Path(each) for each in (sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix)}
    imported = (path for prefix in sorted(prefixes) for path in _imported_from(prefix))
    return tuple(dict.fromkeys((*sorted(prefixes), *imported, *program_places(sys.executable, None))))


def called_with(base: Path, reads: Sequence[str]) -> tuple[Path, ...]:
    """Return what a child needs to read that calls a function declared in the folder ``base``."""
    return (WORKER, *interpreter_places(), *map(Path, search_path(base)), *declared_places(reads, base))


def declared_places(reads: Sequence[str], base: Path) -> tuple[Path, ...]:
    """Return what is declared to be read, relative to ``base``; of a program, also what it is installed with."""
    declared = beside(reads, base)
    programs = (path for path in declared if path.is_file() and os.access(path, os.X_OK))
    return (*declared, *(place for program in programs for place in program_places(str(program), None)))


def _places(program: Path, search: str | None, depth: int) -> Iterator[Path]:
    for path in _followed(program):
        yield path
        yield from _prefix(path)
        yield from _modules(path)
    interpreter = _interpreter(program, search) if depth else None
    if interpreter is not None:
        yield from _places(interpreter, search, depth - 1)


def _followed(program: Path) -> Iterator[Path]:
    """Yield a path and each that its links lead to, one by one."""
    path = program.absolute()
    for _ in range(_DEPTH):
        yield path
        if not path.is_symlink():
            break
        path = path.parent / path.readlink()
    yield program.resolve()


def _prefix(path: Path) -> Iterator[Path]:
    """Yield the installation that a program in a folder ``bin`` belongs to, and that one which a venv was made from."""
    # Not resolved: dots in what a link says would name another folder than is meant.
    folder = Path(os.path.normpath(path)).parent
    prefix = folder.parent
    if folder.name == _SHIMS:
        yield prefix
    if folder.name not in ("bin", "sbin"):
        return
    parts = [prefix / name for name in _OF_AN_INSTALLATION if (prefix / name).exists()]
    yield from parts if _is_shared(prefix) or not parts else (prefix,)
    if prefix / _VENV in parts:
        yield from _base_of(prefix / _VENV)
        yield from _imported_from(prefix)


def _is_shared(prefix: Path) -> bool:
    """Tell whether a folder is everybody's, or all of a person's, and not one installation's."""
    own = Path.home()
    return len(prefix.parts) < 3 or own.is_relative_to(prefix) or prefix == own / ".local"


def _base_of(config: Path) -> Iterator[Path]:
    """Yield what a virtual environment was made from."""
    for line in config.read_text(encoding="utf-8", errors="replace").splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home" and value.strip():
            yield Path(value.strip()).parent


def _imported_from(prefix: Path) -> Iterator[Path]:
    """Yield the folders elsewhere that a Python imports from, as its ``.pth`` files name them."""
    for file in sorted(prefix.glob("lib/python3*/*-packages/*.pth")):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            if Path(line.strip()).is_absolute():
                yield Path(line.strip())


def _modules(path: Path) -> Iterator[Path]:
    """Yield the folder of modules of node in which a program lies."""
    for parent in reversed(path.parents):
        if parent.name == "node_modules":
            yield parent
            return


def _interpreter(program: Path, search: str | None) -> Path | None:
    """Return the program that the first line of a script names, None where there is none."""
    try:
        with program.open("rb") as file:
            first = file.readline(_FIRST_LINE)
    except OSError:
        return None
    words = first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    found = shutil.which(words[0], path=search) if words else None
    return Path(found) if found else None
