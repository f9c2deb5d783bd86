"""JSON files as rows: an object or a list a line, or one list of objects; a list takes the declared names in order."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drysweep_pipeline import exact
from drysweep_pipeline.tabular import typed
from drysweep_pipeline.tabular.wanted import Unread, Wanted

_LINE_BYTES = 16 << 20


def write(wanted: Wanted, path: Path) -> None:
    """Write the rows of JSON files as a Parquet file. Raises ``Unread``, with the line."""
    typed.write(lambda: _rows(wanted), wanted.columns, path)


def _rows(wanted: Wanted) -> Iterator[dict[str, Any]]:
    names = tuple(wanted.columns)
    for file in wanted.files:
        given = _listed(file) if wanted.format == "json" else _lines(file)
        for where, said in given:
            yield _row(said, names, where)


def _lines(file: Path) -> Iterator[tuple[str, Any]]:
    with file.open("rb") as stream:
        number = 0
        while line := stream.readline(_LINE_BYTES + 1):
            number += 1
            if len(line) > _LINE_BYTES:
                raise Unread(f"line {number} is longer than {_LINE_BYTES} bytes")
            if line.strip():
                yield f"line {number}", _value(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, number)


def _listed(file: Path) -> Iterator[tuple[str, Any]]:
    said = _value(file.read_bytes().removeprefix(b"\xef\xbb\xbf"), 1)
    for number, each in enumerate(said if isinstance(said, list) else [said], 1):
        yield f"entry {number}", each


def _value(content: bytes, line: int) -> Any:
    try:
        return exact.value(content.decode())
    except UnicodeDecodeError as error:
        raise Unread(f"line {line}, byte {error.start + 1}: not UTF-8") from None
    except json.JSONDecodeError as error:
        raise Unread(f"line {line + error.lineno - 1}, column {error.colno}: not JSON: {error.msg}") from None
    except exact.NotExact as error:
        before, value, after = error.parts
        raise Unread(f"line {line}: {before}", value, after) from None
    except ValueError as error:
        raise Unread(f"line {line}: {error}") from None


def _row(said: Any, names: tuple[str, ...], where: str) -> dict[str, Any]:
    if isinstance(said, dict):
        return said
    if not isinstance(said, list):
        raise Unread(f"{where}: ", exact.written(said), " is neither an object nor a list")
    if not names:
        raise Unread(f"{where}: is a list, whose values have no names; declare columns, in order")
    if len(said) != len(names):
        raise Unread(f"{where}: {len(said)} values for {len(names)} declared columns")
    return dict(zip(names, said, strict=True))
