"""Path patterns: ``*`` and ``?`` stay inside one path segment, ``**`` crosses segments, ``[...]`` is a set."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from drysweep_pipeline.errors import MaterialError

_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)
_WILD = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@lru_cache(maxsize=1024)
def pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob over relative POSIX paths; group 1 is what the first single ``*`` stands for, if any."""
    pieces = [_translated(piece) for piece in _PIECE.findall(glob.removeprefix("./"))]
    star = _WILD["*"]
    if star in pieces:
        pieces[pieces.index(star)] = f"({star})"
    try:
        return re.compile("".join(pieces), re.DOTALL)
    except re.error as error:
        raise MaterialError(f"{glob!r} is no path pattern: {error}", help="a set is written [abc] or [a-z]") from error


def _translated(piece: str) -> str:
    if piece in _WILD:
        return _WILD[piece]
    if len(piece) > 2 and piece.startswith("["):
        inside = re.sub(r"([\\\[\]^&~|])", r"\\\1", piece[1:-1])
        return f"[^{inside[1:]}/]" if inside.startswith("!") else f"[{inside}]"
    return re.escape(piece)


def may_hide(unreadable: str, glob: str) -> bool:
    """Tell whether something that could not be read is matched by a glob, or could hold what the glob means."""
    if pattern(glob).fullmatch(unreadable):
        return True
    wanted, there = glob.removeprefix("./").split("/"), unreadable.split("/")
    for position, segment in enumerate(there):
        if position >= len(wanted) - 1 and "**" not in wanted[: position + 1]:
            return False  # the glob ends here or above: nothing below is meant
        if wanted[min(position, len(wanted) - 1)] == "**":
            return Path(unreadable).suffix == ""
        if not pattern(wanted[position]).fullmatch(segment):
            return False
    return True


def has_star(glob: str) -> bool:
    """Tell whether a glob has a ``*`` that can name something."""
    return pattern(glob).groups > 0


def is_ignored(path: str, globs: Iterable[str], *, folder: bool) -> bool:
    """Tell whether a relative path is left out, much as git would.

    A glob without a slash is compared with the last segment, one with a slash with the whole path; a glob that
    ends in a slash means folders only.
    """
    return any(_ignores(glob, path, folder) for glob in globs)


def _ignores(glob: str, path: str, folder: bool) -> bool:
    if glob.endswith("/") and not folder:
        return False
    bare = glob.rstrip("/")
    subject = path if "/" in bare else path.rpartition("/")[2]
    return pattern(bare.lstrip("/")).fullmatch(subject) is not None
