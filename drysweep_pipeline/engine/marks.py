"""What tells strategies, as they are declared and written now, from all others: a mark of six hex digits.

It covers the files that the declaration names, and the folders beside it. What a program or function takes from
elsewhere, an installed program, a module that it imports, a service or a model, may change without it.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.model import Canaries, CommandStrategy, PythonStrategy, Strategy
from drysweep_pipeline.declaration.model.strategies import ChildStrategy
from drysweep_pipeline.programs import beside, named, search_path, words

DIGITS = 6
# Only so much of a file tells one version of it from another.
_MOST_BYTES = 64 << 20
_CACHES = ("__pycache__", "node_modules")


def mark(declaration: Declaration, strategies: Sequence[Strategy], canaries: Canaries | None, leave: Path) -> str:
    """Return the mark of some strategies of a declaration, and of the canaries that they are to see.

    ``leave``: a folder that changes by itself, the home, and is none of theirs.
    """
    written = _Written(declaration.base, (declaration.path.absolute(), leave.absolute()))
    parts: list[object] = [[each.model_dump(mode="json"), list(written.of(each))] for each in strategies]
    if canaries is not None:
        parts.append(canaries.model_dump(mode="json"))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:DIGITS]


class _Written:
    """The digests of what strategies run and read: a change to any of it is another strategy."""

    def __init__(self, base: Path, left_out: tuple[Path, ...]) -> None:
        self._base = base
        self._left_out = left_out

    def of(self, strategy: Strategy) -> Iterator[str]:
        for path in _places(strategy, self._base):
            yield from self._digests(path)

    def _digests(self, path: Path) -> Iterator[str]:
        if path.is_dir():
            # Elsewhere a folder may be the whole system.
            if path.is_relative_to(self._base.absolute()):
                yield self._folder(path)
        elif (digest := _digest(path)) is not None:
            yield digest

    def _folder(self, folder: Path) -> str:
        """Return the digest of a folder, by path and content; hidden files and caches are none of it."""
        found = []
        for at, folders, names in os.walk(folder):
            folders[:] = sorted(each for each in folders if self._counts(Path(at, each)))
            inside = [Path(at, each) for each in names if self._counts(Path(at, each))]
            found += [(path.relative_to(folder).as_posix(), _digest(path)) for path in inside]
        return hashlib.sha256(json.dumps(sorted(found)).encode()).hexdigest()

    def _counts(self, path: Path) -> bool:
        return not path.name.startswith(".") and path.name not in _CACHES and path.absolute() not in self._left_out


def _digest(path: Path) -> str | None:
    """Return the digest of a file; None of what cannot be read or is none."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as stream:
            return hashlib.sha256(stream.read(_MOST_BYTES)).hexdigest()
    except OSError:
        return None


def _places(strategy: Strategy, base: Path) -> Iterator[Path]:
    """Yield the files and folders that a strategy runs and reads, as far as the declaration names them."""
    if isinstance(strategy, CommandStrategy):
        argv = words(strategy.argv, base)
        if Path(argv[0]).is_relative_to(base.absolute()):
            yield Path(argv[0])
        yield from named(argv)
    if isinstance(strategy, PythonStrategy):
        yield from _modules(strategy.call.partition(":")[0].split("."), base)
    if isinstance(strategy, ChildStrategy):
        yield from beside(strategy.reads, base)


def _modules(parts: Sequence[str], base: Path) -> Iterator[Path]:
    """Yield the module that is called, the whole package that it lies in, and what is run of those above that one."""
    for folder in search_path(base):
        package = Path(folder, *parts)
        module = package.with_suffix(".py")
        if not package.is_dir() and not module.is_file():
            continue
        if not package.is_dir():
            package = module.parent
        above = [Path(folder, *parts[:depth], "__init__.py") for depth in range(1, len(parts))]
        yield module if package == Path(folder) else package
        yield from (path for path in above if path.is_file())
        return
