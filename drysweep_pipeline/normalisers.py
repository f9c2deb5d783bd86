"""What makes texts alike that mean the same, before findings are told apart by them; declared field by field.

Pure, and the only form there is: SQL is never asked to do the same.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

Normaliser: TypeAlias = Literal["path", "casefold", "digits"]
Normalise: TypeAlias = Mapping[str, Sequence[Normaliser]]
"""The normalisers of each field that has some, in the order in which they are applied."""

_DIGITS = re.compile("[0-9]+")


def _path(text: str) -> str:
    r"""Return a path with ``/`` for ``\``, without parts that are ``.`` or empty but for space around them.

    ``..`` stays: what it leads to, links decide.
    """
    slashes = text.replace("\\", "/")
    parts = [part for part in slashes.split("/") if part.strip() not in ("", ".")]
    return ("/" if slashes.startswith("/") else "") + "/".join(parts)


def _digits(text: str) -> str:
    return _DIGITS.sub("#", text)


_BY_NAME: Mapping[Normaliser, Callable[[str], str]] = {"path": _path, "casefold": str.casefold, "digits": _digits}


@lru_cache(maxsize=1 << 14)
def normalised(text: str, names: tuple[Normaliser, ...]) -> str:
    """Return a text as some normalisers leave it, one after the other; it may be empty, which identifies nothing."""
    # What is no part of a fingerprint is taken off first: it may stand between a text and what is done to it.
    text = _composed(text)
    for name in names:
        text = _composed(_BY_NAME[name](text))
    return text


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip()
