"""What mentions a planted name: compared as a part of words, in one form of Unicode and in lower case.

The Python form and the SQL form say the same of the names that may be planted, which is what ``steady`` is for.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable

from drysweep_pipeline import fingerprint
from drysweep_pipeline.scratch import scratch

HIDDEN = "[planted]"


def folded(text: str) -> str:
    """Return a text as names are looked for in it: NFC, in lower case."""
    return unicodedata.normalize("NFC", text).lower()


def sql_folded(expression: str) -> str:
    """Return SQL for a VARCHAR as names are looked for in it; names are compared in the form that ``folded`` gives."""
    return f"lower({fingerprint.sql_text(expression)})"


def mentioning(names: Iterable[str]) -> Callable[[str], bool]:
    """Return what tells whether a text mentions one of some names."""
    low = [folded(name) for name in names]

    def mentions(text: str) -> bool:
        said = folded(text)
        return any(name in said for name in low)

    return mentions


def steady(name: str) -> bool:
    """Tell whether a name in NFC is the same in lower case for Python and for DuckDB, also by way of upper case."""
    with scratch() as connection:
        theirs = connection.execute("select lower($1), lower(upper($1)), lower($2)", [name, name.upper()]).fetchall()[0]
    return {name.lower(), name.upper().lower(), *theirs} == {folded(name)}


def scrubbed(text: str, names: Iterable[str]) -> str:
    """Return a text without the planted names in it, for whoever reads a reason, an error or some evidence."""
    # The longest first, since a path holds the name of its service.
    ordered = sorted(names, key=len, reverse=True)
    if not mentioning(ordered)(text):
        return text
    pattern = "|".join(re.escape(name) for name in ordered)
    return re.sub(pattern, HIDDEN, unicodedata.normalize("NFC", text), flags=re.IGNORECASE)
