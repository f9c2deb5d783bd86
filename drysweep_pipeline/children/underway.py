"""Work that is under way side by side: children, and calls to other machines; leaving the block ends all of it.

Which homes no child may reach, whatever it is declared to read, is seen to here, before it is started.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol, Self

from drysweep_pipeline.children.child import Child
from drysweep_pipeline.children.confinement import SYSTEM_PLACES, other_homes
from drysweep_pipeline.children.program import Program
from drysweep_pipeline.errors import FinderError


class Underway(Protocol):
    """Work that can be ended from any thread."""

    def kill(self) -> None:
        """End it at once; whoever waits for it sees that it ended."""


class Children:
    """Children that work side by side; leaving the block kills those that still run, and no more can be started.

    Calls to other machines are held here as well, and end with them.

    ``kept_out`` are the places that none of them may reach, whatever it is declared to read; neither may they any
    other home that lies there.
    """

    def __init__(self, kept_out: Iterable[Path] = ()) -> None:
        self._kept_out = tuple(kept_out)
        self._homes: dict[Path, tuple[Path, ...]] = {}
        self._lock = threading.Lock()
        self._live: set[Underway] = set()
        self._over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over = True
            live = list(self._live)
        for child in live:
            child.kill()

    @property
    def are_over(self) -> bool:
        """Tell whether the block was left, so that no more can be started."""
        return self._over

    @contextmanager
    def started(self, program: Program) -> Iterator[Child]:
        """Yield a child that has ended afterwards. Raises ``FinderError`` where it cannot be started."""
        with self._lock:
            self._check_open()
            child = Child(self._kept_in(program))
            self._live.add(child)
        try:
            with child:
                yield child
        finally:
            with self._lock:
                self._live.discard(child)

    @contextmanager
    def holding(self, work: Underway) -> Iterator[None]:
        """Have work that is no process end with the children. Raises ``FinderError`` where they have ended."""
        with self._lock:
            self._check_open()
            self._live.add(work)
        try:
            yield
        finally:
            with self._lock:
                self._live.discard(work)

    def _check_open(self) -> None:
        if self._over:
            raise FinderError("interrupted before it was started")

    def _kept_in(self, program: Program) -> Program:
        confinement = program.confinement
        if confinement is None:
            return program
        homes = (home for path in (*SYSTEM_PLACES, *confinement.reads) for home in self._homes_at(path))
        kept_out = (*confinement.kept_out, *self._kept_out, *homes)
        return replace(program, confinement=replace(confinement, kept_out=tuple(dict.fromkeys(kept_out))))

    def _homes_at(self, path: Path) -> tuple[Path, ...]:
        if path not in self._homes:
            self._homes[path] = other_homes(path)
        return self._homes[path]
