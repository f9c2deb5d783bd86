r"""The identity of a finding: 128 bits of SHA-256 over a typed, versioned JSON array of its fields.

The identity of a finding with the fields ``api`` and ``no_owner`` is the text ``["fp1","api","no_owner"]``;
its fingerprint is the first 128 bits of that text's SHA-256, kept as a UUID. Each field is written as a
*token*: a string in NFC, stripped as ``str.strip`` does, as ``json.dumps(..., ensure_ascii=False)`` writes
it; a number as ``repr`` writes it; ``true`` and ``false``. So ``1``, ``1.0``, ``"1"`` and ``true`` are four
identities. There is a Python form and a SQL form; golden vectors hold them equal.

The SQL form lives here as text and is run by ``landing``; nothing here opens a database.
"""

import hashlib
import json
import math
import unicodedata
from collections.abc import Iterable
from uuid import UUID

from drysweep_pipeline.spelling import literal

VERSION = "fp1"
Field = str | int | float | bool

# All code points that str.strip removes; DuckDB's one-argument trim keeps tabs and no-break spaces.
_SPACES = "".join(chr(point) for point in range(0x3001) if chr(point).isspace())
# DuckDB writes these control characters with upper-case hex digits, json.dumps with lower-case ones.
_HEX_ESCAPES = (0x0B, 0x0E, 0x0F, *range(0x1A, 0x20))


def token(value: Field) -> str:
    """Return one field as the identity spells it. Raises ``ValueError`` for NaN, infinity and empty text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is no identity")
    if isinstance(value, int | float):
        return repr(value)
    text = unicodedata.normalize("NFC", value).strip()
    if not text:
        raise ValueError("empty")
    return json.dumps(text, ensure_ascii=False)


def identity(values: list[Field]) -> str:
    """Return the canonical text of a finding's identity, fields in declared order."""
    return "[" + ",".join([f'"{VERSION}"', *(token(value) for value in values)]) + "]"


def fingerprint(values: list[Field]) -> UUID:
    """Return the fingerprint of a finding from its fields in declared order."""
    return of_identity(identity(values))


def of_identity(text: str) -> UUID:
    """Return the fingerprint of a canonical identity text."""
    return UUID(bytes=hashlib.sha256(text.encode()).digest()[:16])


def label(identity_text: str) -> str:
    """Return the fingerprint values joined by ``/``, the name that people and scenarios use."""
    return "/".join(value if isinstance(value, str) else json.dumps(value) for value in json.loads(identity_text)[1:])


def sql_label(expression: str) -> str:
    """Return SQL for the label of an identity text, spelled as ``label`` does."""
    # DuckDB writes a number of JSON otherwise than one of its own; an integer too large for any type stays as it is.
    value = """case
        when json_type(value) = 'VARCHAR' then value ->> '$'
        when json_type(value) = 'DOUBLE' and regexp_matches(cast(value as varchar), '[.e]')
            then cast(cast(value as double) as varchar)
        else cast(value as varchar)
    end"""
    return f"array_to_string(list_transform(from_json({expression}, '[\"JSON\"]')[2:], lambda value: {value}), '/')"


def told_apart(labels: Iterable[tuple[str, str]]) -> list[str]:
    """Return a name for each (label, fingerprint): the label, with the fingerprint behind it where it is taken."""
    names: dict[str, None] = {}
    for text, fp in labels:
        choices = (text, f"{text} ({fp[:8]})", f"{text} ({fp})")
        names[next(name for name in choices if name not in names)] = None
    return list(names)


def sql_text(expression: str) -> str:
    """Return SQL for a text field as identities compare it: NFC and stripped; ``expression`` is a VARCHAR."""
    # nfc_normalize stops at a NUL, which is legal text here, so the pieces between are normalised one by one.
    pieces = f"list_transform(string_split({expression}, chr(0)), lambda part: nfc_normalize(part))"
    normal = (
        f"case when contains({expression}, chr(0)) then array_to_string({pieces}, chr(0)) "
        f"else nfc_normalize({expression}) end"
    )
    return f"trim({normal}, {literal(_SPACES)})"


def sql_token(expression: str, duckdb_type: str) -> str:
    """Return SQL that spells one field as ``token`` does; NULL where it is missing or empty.

    ``duckdb_type`` is the column's type as DuckDB names it. Types without a token of their own (dates, lists) are
    taken by their text.
    """
    kind = duckdb_type.upper()
    if kind.startswith("DECIMAL("):
        return _decimal(expression, kind)
    if kind == "BOOLEAN" or kind.endswith("INT") or kind == "INTEGER":
        return f"cast({expression} as varchar)"
    if kind in ("DOUBLE", "FLOAT"):
        return f"case when isfinite({expression}) then cast(cast({expression} as double) as varchar) end"
    text = sql_text(f"cast({expression} as varchar)")
    quoted = f"cast(to_json(nullif({text}, '')) as varchar)"
    has_hex_escape = f"regexp_matches(cast({expression} as varchar), '[\\x0b\\x0e\\x0f\\x1a-\\x1f]')"
    return f"case when {has_hex_escape} then {_lowered(quoted)} else {quoted} end"


def _decimal(expression: str, kind: str) -> str:
    """Return SQL for a decimal: a whole number without places, else the float of that value or, if none, its text."""
    # Sums and wide integers come out of DuckDB as decimals without places.
    text = f"cast({expression} as varchar)"
    if kind.endswith(",0)"):
        return text
    as_float = f"cast(cast({text} as double) as varchar)"
    return f"case when try_cast({as_float} as {kind}) = {expression} then {as_float} else '\"' || {text} || '\"' end"


def _lowered(quoted: str) -> str:
    """Return SQL that writes hex escapes in lower case, leaving escaped backslashes alone."""
    piece = "p"
    for point in _HEX_ESCAPES:
        piece = f"replace({piece}, '\\u{point:04X}', '\\u{point:04x}')"
    return f"array_to_string(list_transform(string_split({quoted}, '\\\\'), lambda p: {piece}), '\\\\')"


def sql_identity(tokens: list[str]) -> str:
    """Return SQL for the identity text from SQL tokens; NULL where any token is NULL."""
    return f"'[\"{VERSION}\",' || " + " || ',' || ".join(tokens) + " || ']'"


def sql_fingerprint(identity_expression: str) -> str:
    """Return SQL for the fingerprint (UUID) of an identity text."""
    return f"cast(unhex(left(sha256({identity_expression}), 32)) as uuid)"
