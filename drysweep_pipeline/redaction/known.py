"""The forms in which a known secret may turn up: as it is, escaped, quoted, in a URL, in base64, line by line."""

import base64
import html
import json
import re
import unicodedata
from contextlib import suppress
from urllib.parse import quote, quote_plus

LEAST = 6
"""The shortest value that is masked: shorter ones stand in too much that is no secret."""
_LINE = 16
_ESCAPE = re.compile("%[0-9A-F]{2}")
_FOR_HTML = {ord(each): f"\\u{ord(each):04x}" for each in "&<>\u2028\u2029"}
# Nothing; what stands between folders; what the encodeURIComponent and encodeURI of browsers leave as it is.
_SAFE = ("", "/", "!~*'()", "!~*'();,/?:@&=+$#")
_BASE64 = re.compile("[A-Za-z0-9+/_-]+={0,2}")
_WRAPPED_AT = (64, 76)


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
    for text in {value, *(unicodedata.normalize(form, value) for form in ("NFC", "NFD"))}:
        escaped = _escaped(text)
        twice = {_inside(json.dumps(each, ensure_ascii=False)) for each in escaped}
        found |= {
            text,
            *escaped,
            *twice,
            *_in_quotes(text),
            *_in_html(text),
            *_in_urls(text),
            *_as_bytes(text.encode()),
        }
    if _BASE64.fullmatch(value):  # as a key often is, and either alphabet may be asked for
        found |= {_for_urls(value), value.replace("-", "+").replace("_", "/")}
    return {form for form in found if len(form) >= LEAST}


def _escaped(text: str) -> set[str]:
    """Return a text as JSON, in the ways of several languages, and Python write it."""
    plain = {_inside(json.dumps(text)), _inside(json.dumps(text, ensure_ascii=False))}
    for_html = {each.translate(_FOR_HTML) for each in plain}
    slashes = {each.replace("/", r"\/") for each in plain}
    in_python = {_inside(repr(text)), _inside(repr(text.encode())[1:]), text.encode("unicode_escape").decode()}
    return plain | for_html | slashes | in_python


def _in_quotes(text: str) -> set[str]:
    """Return a text as YAML and SQL have it in single quotes, and as shells do."""
    return {text.replace("'", quote) for quote in ("''", "'\"'\"'", r"'\''")}


def _in_html(text: str) -> set[str]:
    plain = html.escape(text, quote=False)
    return {
        plain.replace('"', double).replace("'", single)
        for double in ('"', "&quot;", "&#34;")
        for single in ("'", "&#39;", "&#x27;", "&apos;")
    }


def _in_urls(text: str) -> set[str]:
    """Return a text as it is written in an address, by programs that differ in what they leave as it is."""
    quoted = {quote(text, safe=safe) for safe in _SAFE} | {quote_plus(text)}
    quoted |= {"".join(f"%{byte:02X}" for byte in text.encode())}
    with suppress(UnicodeEncodeError):
        quoted.add(quote(text.encode("latin-1"), safe=""))
    return quoted | {_ESCAPE.sub(lambda match: match[0].lower(), each) for each in quoted}


def _inside(quoted: str) -> str:
    return quoted[1:-1]


def _as_bytes(data: bytes) -> set[str]:
    """Return bytes in hex and in base64, there also as a part of something longer: that depends on where they begin."""
    whole = base64.b64encode(data).decode()
    found = {data.hex(), data.hex().upper(), data.hex(":"), data.hex(":").upper(), whole, whole.rstrip("=")}
    found.add(base64.b64encode(whole.encode()).decode())
    found |= {"\n".join(whole[at : at + width] for at in range(0, len(whole), width)) for width in _WRAPPED_AT}
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        # The characters at both ends also hold bits of what is beside.
        found.add(text[-(-before * 8 // 6) : (before + len(data)) * 8 // 6])
    return found | {_for_urls(each) for each in found}


def _for_urls(text: str) -> str:
    return text.replace("+", "-").replace("/", "_")
