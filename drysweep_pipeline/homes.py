"""Which folders are homes of drysweep, by what lies in them: what was found is there, whoever keeps it.

Nothing keeps a list of homes, so one is known by its looks, and looked for where a child would be let in.
"""

import os
from collections.abc import Iterator
from pathlib import Path

DEPTH = 4
"""How deep homes are looked for below a folder."""
# Where nobody keeps one, and where there would be much to look through.
_PASSED_BY = frozenset((".git", "node_modules", "site-packages", "__pycache__", "proc", "sys", "dev"))
_OF_A_HOME = ("sweeps", "history", "dagster")
_OF_A_SWEEP = ("ledger.duckdb", "landing")
# So far down links in a home are followed: in its sweeps, what each of those keeps, and each campaign of that.
_LINKED = 4


def is_home(folder: Path) -> bool:
    """Tell whether a folder is a home: it has a history, a Dagster of its own, or a sweep."""
    if (folder / "history" / "history.duckdb").is_file() or (folder / "dagster" / "dagster.yaml").is_file():
        return True
    try:
        with os.scandir(folder / "sweeps") as listed:
            sweeps = [Path(entry.path) for entry in listed]
    except OSError:
        return False
    return any((sweep / name).exists() for sweep in sweeps for name in _OF_A_SWEEP)


def has_ledgers(folder: Path) -> bool:
    """Tell whether a folder is a home beyond doubt: a sweep in it has a ledger.

    It is what leaves a folder out of material, where something of a user's that only looks like a home must stay.
    """
    return any(path.is_file() for path in (folder / "sweeps").glob("*/ledger.duckdb"))


def homes_at(path: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Yield the home that a path lies in, or those that lie in a folder, down to ``depth`` folders below it."""
    path = path.resolve()
    above = next((each for each in (path, *path.parents) if is_home(each)), None)
    if above is not None:
        yield above
    elif path.is_dir():
        yield from _below(path, depth)


def parts_of(home: Path) -> Iterator[Path]:
    """Yield a home and what the links in it lead to, all resolved."""
    yield home.resolve()
    yield from _links(home, _LINKED)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    folders, links = _entries(folder)
    if any(each.name in _OF_A_HOME for each in (*folders, *links)) and is_home(folder):
        yield folder
    elif depth:
        for each in folders:
            if each.name not in _PASSED_BY:
                yield from _below(each, depth - 1)


def _links(folder: Path, depth: int) -> Iterator[Path]:
    folders, links = _entries(folder)
    yield from (link.resolve() for link in links)
    for each in folders if depth else ():
        # What Dagster keeps of its runs is much, and no link is in it.
        yield from _links(each, 0 if each.name == "dagster" else depth - 1)


def _entries(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the folders and the links in a folder; none where it cannot be looked into."""
    folders, links = [], []
    try:
        with os.scandir(folder) as listed:
            for entry in listed:
                if entry.is_symlink():
                    links.append(Path(entry.path))
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
    except OSError:
        return [], []
    return folders, links
