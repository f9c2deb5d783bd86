"""JSON taken exactly as it is written: no key twice, no number that is none, no half characters, no bottomless depth.

The standard library's reader, because faster ones keep the last of two equal keys or round large numbers.
"""

import json
import math
from decimal import Context, Decimal, DecimalException
from typing import Any

MAX_DEPTH = 64
# Any number of so few digits comes out of a float as it went in, as long as it is not next to nothing.
_SAFE_CHARACTERS, _SMALL = 15, 1e-300
_MOST_CHARACTERS = 1_200
_SHOWN = 60
_WIDE = Context(prec=3_000)


class TooDeep(ValueError):
    """A value has more levels than anybody writes."""

    def __init__(self) -> None:
        super().__init__(f"a value of more than {MAX_DEPTH} levels")


class NotExact(ValueError):
    """Something in JSON is not taken: a value, whole, and what is said of it.

    It is shown short, and sent on in parts by who does not know what in it is secret.
    """

    def __init__(self, before: str, value: str, after: str) -> None:
        self.parts = (before, value, after)
        super().__init__(*self.parts)

    def __str__(self) -> str:
        before, value, after = self.parts
        return before + _short(value) + after


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


def written(said: Any) -> str:
    """Return what was said, whole."""
    return json.dumps(said, default=str)


def shown(said: Any) -> str:
    """Return what was said, short."""
    return _short(written(said))


def _short(text: str) -> str:
    # Here, so that who only reads does without it; and before it is cut, since half a secret is not known for one.
    from drysweep_pipeline.redaction import brief

    return brief(text, _SHOWN)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotExact("the key ", written(twice), " is there twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def number(text: str) -> float:
    """Return the number that a text is one way of writing. Raises ``ValueError`` where it had to be rounded for it."""
    said = float(text)
    if not math.isfinite(said):
        raise NotExact("", text, " is larger than a number can be")
    if not (len(text) <= _SAFE_CHARACTERS and abs(said) > _SMALL) and not _is_written(text, said):
        raise NotExact("", text, " says more than a number can hold, and is text if anything")
    return said


def _is_written(text: str, said: float) -> bool:
    """Tell whether a text is what a float is, written as short as it can be or to some number of digits."""
    if len(text) > _MOST_CHARACTERS:
        return False
    try:
        wanted = Decimal(text)
        if wanted == Decimal(repr(said)):
            return True
        digits = Decimal((0, (1,), int(wanted.as_tuple().exponent)))
        return said != 0 and wanted == Decimal(said).quantize(digits, context=_WIDE)
    except DecimalException:
        return False


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number, parse_float=number)


def _depth(said: Any) -> int:
    """Return how deep a value is, as far as that matters."""
    depth, level = 0, [said]
    while level and depth <= MAX_DEPTH:
        depth += 1
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [one for each in inner for one in each]
    return depth
