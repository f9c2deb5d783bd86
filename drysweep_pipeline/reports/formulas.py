"""Text that others wrote, kept from being a formula in whatever spreadsheet opens the CSV it stands in."""

import re

# What begins a formula, also as East Asian keyboards write it.
_BEGINS = "=+\\-@\uff1d\uff0b\uff0d\uff20"
# What a spreadsheet may drop before it looks at what a cell begins with: blanks, controls, what is not seen.
_DROPPED = "[\\s\\x00-\\x20\u00a0\u200b-\u200f\u2060\ufeff]*"
# A cell may begin inside a text as well: where semicolons separate, as in half of Europe, neither a comma nor the
# quotes around a value after one mean anything, so each semicolon, tab and line end in it begins a cell.
_FORMULA = re.compile(f"(\\A|[;\\t\\r\\n])(?={_DROPPED}[{_BEGINS}])")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def guarded(text: str) -> str:
    """Return a text with an apostrophe before whatever a spreadsheet would compute; a plain number stays as it is."""
    return text if _NUMBER.fullmatch(text) else _FORMULA.sub(r"\1'", text)
