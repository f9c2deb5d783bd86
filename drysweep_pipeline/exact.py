"""JSON taken exactly as it is written: no key twice, no number that is none, no half characters, no bottomless depth.

The standard library's reader, because faster ones keep the last of two equal keys or round large numbers.
"""

import json
import math
from typing import Any

MAX_DEPTH = 64


class TooDeep(ValueError):
    """A value has more levels than anybody writes."""

    def __init__(self) -> None:
        super().__init__(f"a value of more than {MAX_DEPTH} levels")


def value(text: str) -> Any:
    """Return a JSON value. Raises ``ValueError`` where it is not exactly one, ``TooDeep`` where it is too deep."""
    try:
        said = _DECODER.decode(text)
    except RecursionError:
        raise TooDeep from None
    if text.count("{") + text.count("[") > MAX_DEPTH and _depth(said) > MAX_DEPTH:
        raise TooDeep
    if "\\ud" in text.lower():
        try:
            json.dumps(said, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair, which is no text") from None
    return said


def shown(said: Any) -> str:
    """Return what was said, short."""
    # Here, so that who only reads does without it; and before it is cut, since half a secret is not known for one.
    from drysweep_pipeline.redaction import hidden

    text = hidden(json.dumps(said, default=str))
    return text if len(text) <= 60 else text[:57] + "..."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} is there twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text:.40} is larger than a number can be")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number, parse_float=_finite)


def _depth(said: Any) -> int:
    """Return how deep a value is, as far as that matters."""
    depth, level = 0, [said]
    while level and depth <= MAX_DEPTH:
        depth += 1
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [one for each in inner for one in each]
    return depth
