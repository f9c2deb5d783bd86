"""How findings, numbers and long texts stand in the page: by what tells them apart, thousands apart, the cut said."""

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

ADDRESS = re.compile(r"(https?://[^\s<>\"'`]+)")
"""What becomes a link: an http or https address and no other, up to what could not be one."""


class Cut(IntEnum):
    """After how many characters a text is cut."""

    NAME = 120
    TITLE = 240
    LINE = 480
    PROSE = 2000


class Figure(str):
    """A number as it is shown, which a table sets flush right."""

    __slots__ = ()


def cut(text: str, limit: int) -> str:
    """Return a text of at most so many characters, and how many more there were."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"


def called(finding: Mapping[str, Any]) -> str:
    """Return what a finding is called: its label, where its finder gave no title and the label tells more of it."""
    subject, kind, label, title = (finding[name] for name in ("subject", "kind", "label", "title"))
    says_no_more = label in (subject, kind, f"{subject}/{kind}", f"{kind}/{subject}")
    is_own = title and (title != f"{kind}: {subject}" or says_no_more)
    return str(title if is_own else label)


def number(value: float) -> Figure:
    """Return a whole number with its thousands apart."""
    return Figure(f"{value:,.0f}")


def decimal(value: float, digits: int = 1) -> Figure:
    """Return a number with so many digits after the point."""
    return Figure(f"{value:,.{digits}f}")


def share(part: float, whole: float, nouns: str) -> str:
    """Return a part of a whole, counted in ``nouns``, and what share of it that is."""
    return f"{part:,.0f} of {whole:,.0f} {nouns}" + (f" ({percent(part, whole)})" if whole else "")


def percent(part: float, whole: float) -> Figure:
    """Return what share of a whole a part is; a small one is never told as none, nor a large one as all."""
    if not whole or not part:
        return Figure("0 %")
    if part < whole and part / whole > 0.995:
        return Figure("> 99 %")
    return Figure("< 1 %" if part / whole < 0.005 else f"{100 * part / whole:.0f} %")
