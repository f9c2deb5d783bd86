"""Files of environment variables as leaves; nothing is interpolated, and a variable set twice is two leaves."""

import re
from io import StringIO

from dotenv.parser import Binding, parse_stream

from drysweep_pipeline.material.settings.leaf import Leaf, Unreadable

# The parser takes quadratic time over a run of blanks.
_LONG_BLANK = re.compile(r"[^\S\n]{200}")


def leaves(text: str) -> list[Leaf]:
    """Return one leaf a variable. Raises ``Unreadable`` with the line that is no assignment."""
    if blank := _LONG_BLANK.search(text):
        raise Unreadable("200 blanks in a row", text.count("\n", 0, blank.start()) + 1)
    return [_leaf(binding) for binding in parse_stream(StringIO(text)) if binding.key or binding.error]


def _leaf(binding: Binding) -> Leaf:
    # A statement begins after the blank lines that the parser hands over with it.
    whole = binding.original.string
    line = binding.original.line + whole[: len(whole) - len(whole.lstrip())].count("\n")
    if binding.error or binding.key is None:
        raise Unreadable("not NAME=value", line)
    if binding.value is None:
        return Leaf((binding.key,), "null", "null", line)
    return Leaf((binding.key,), binding.value, "string", line)
