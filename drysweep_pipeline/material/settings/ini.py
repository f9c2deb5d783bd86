"""INI as leaves: section and key make the pointer; every value is a string, a key without a value is null."""

import configparser
import re

from drysweep_pipeline.material.settings.leaf import Leaf, Unreadable

_SECTION = re.compile(r"\[(?P<header>.+)\]")


class _Parser(configparser.RawConfigParser):
    def optionxform(self, optionstr: str) -> str:
        return optionstr


def leaves(text: str) -> list[Leaf]:
    """Return the leaves of an INI text. Raises ``Unreadable`` where it is not one, or a key stands twice."""
    # DEFAULT is a section like any other here: what it gives to others is the reader's business.
    parser = _Parser(allow_no_value=True, default_section="\0")
    try:
        parser.read_string(text)
    except configparser.Error as error:
        said = re.sub(r"\s+", " ", str(error).replace("'<string>', ", "").replace("'<string>'", "the file"))
        raise Unreadable(f"not INI: {said}", getattr(error, "lineno", None)) from error
    lines = _lines(text)
    return [
        Leaf((section, key), value or "", "string", lines.get((section, key)))
        if value is not None
        else Leaf((section, key), "null", "null", lines.get((section, key)))
        for section in parser.sections()
        for key, value in parser.items(section)
    ]


def _lines(text: str) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    section = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if header := _SECTION.match(line.strip()):
            section = header["header"]
        else:
            found.setdefault((section, re.split("[=:]", line, maxsplit=1)[0].strip()), number)
    return found
