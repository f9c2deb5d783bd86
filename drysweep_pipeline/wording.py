"""Numbers, long texts, angles and errors as sentences have them: a noun in the singular, a text cut, a first line."""

import json
from collections.abc import Mapping
from typing import Any


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the singular where it is one; ``nouns`` where an s does not make it several."""
    return f"{number} {noun}" if number == 1 else f"{number} {nouns or f'{noun}s'}"


def cut(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters, with … for its last one where it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def angle_text(angle: Mapping[str, Any]) -> str:
    """Return an angle as ledger, history and reports write it: as JSON, the same text for the same angle."""
    return json.dumps(angle, ensure_ascii=False, sort_keys=True)


def first_line(error: Exception) -> str:
    """Return what an error of somebody else's says in its first line, or its name where it says nothing.

    What an engine puts below it is a picture of the query, with what it quotes.
    """
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
