"""The forms in which a known secret may turn up: as it is, escaped, in a URL, in base64, in hex, line by line."""

import base64
import html
import json
import re
import unicodedata
from urllib.parse import quote, quote_plus

LEAST = 6
"""The shortest value that is masked: shorter ones stand in too much that is no secret."""
_LINE = 16
_ESCAPE = re.compile("%[0-9A-F]{2}")


def known_forms(values: list[str]) -> dict[str, str]:
    """Return the forms of all values that are long enough, each with the value that it is a form of."""
    found: dict[str, str] = {}
    for value in sorted({_text(value) for value in values}, key=len, reverse=True):
        if len(value) >= LEAST:
            for form in _forms(value):
                found.setdefault(form, value)
            for line in value.splitlines() if "\n" in value else ():
                if len(line.strip()) >= _LINE:
                    found.setdefault(line.strip(), line.strip())
    return found


def _text(value: str) -> str:
    # A variable may hold bytes that are no text; a child's output shows such bytes as replacement characters.
    return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()


def _forms(value: str) -> set[str]:
    found: set[str] = set()
    for text in {value, unicodedata.normalize("NFC", value)}:
        escaped = {_inside(json.dumps(text)), _inside(json.dumps(text, ensure_ascii=False)), _inside(repr(text))}
        twice = {_inside(json.dumps(each, ensure_ascii=False)) for each in escaped}
        quoted = {quote(text, safe=""), quote(text), quote_plus(text)}
        lower = {_ESCAPE.sub(lambda match: match[0].lower(), each) for each in quoted}
        found |= {text, html.escape(text), html.escape(text, quote=False), *escaped, *twice, *quoted, *lower}
        found |= _as_bytes(text.encode())
    return {form for form in found if len(form) >= LEAST}


def _inside(quoted: str) -> str:
    return quoted[1:-1]


def _as_bytes(data: bytes) -> set[str]:
    """Return bytes in hex and in base64, there also as a part of something longer: that depends on where they begin."""
    whole = base64.b64encode(data).decode()
    found = {data.hex(), data.hex().upper(), whole, whole.rstrip("=")}
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        # The characters at both ends also hold bits of what is beside.
        found.add(text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
    return found | {each.replace("+", "-").replace("/", "_") for each in found}
