"""Columns of Arrow tables, searched by RE2 as a whole; Python sees only the values in which something was found."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_WORD = re.compile(r"[A-Za-z0-9_]")


def quoted(text: str) -> str:
    """Return a pattern for RE2 that is found where a text is."""
    return "".join(each if _WORD.fullmatch(each) else rf"\x{{{ord(each):x}}}" for each in text)


def is_found(pattern: str, text: str) -> bool:
    """Tell whether RE2 finds a pattern in a text; one that is no UTF-8 is taken to hold anything."""
    try:
        return bool(pc.match_substring_regex(pa.array([text]), pattern)[0].as_py())
    except UnicodeEncodeError:
        return True


def masked(
    column: pa.ChunkedArray, pattern: str, numbers: Sequence[str], mask: Callable[[Any], Any]
) -> pa.ChunkedArray:
    """Return a column with the values masked in which a pattern is found.

    ``numbers`` are missing afterwards from a column of numbers, which has no room for a mark.
    """
    if _is_whole(column.type):
        return _without(column, numbers)
    if not any(_suspicious(chunk, pattern) for chunk in column.chunks):
        return column
    chunks = [_masked(chunk, pattern, mask) for chunk in column.chunks]
    kinds = {chunk.type for chunk in chunks}
    kind = kinds.pop() if len(kinds) == 1 else pa.string()
    return pa.chunked_array([chunk if chunk.type == kind else _as_texts(chunk) for chunk in chunks], type=kind)


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0))


def _without(column: pa.ChunkedArray, numbers: Sequence[str]) -> pa.ChunkedArray:
    if not numbers:
        return column
    found = pc.is_in(pc.cast(column, pa.string()), value_set=pa.array(numbers))
    return pc.if_else(found, pa.scalar(None, column.type), column) if pc.any(found).as_py() else column


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _found(texts: pa.Array, pattern: str) -> pa.Array:
    """Return for each text whether the pattern is found in it; never null."""
    try:
        return pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    except pa.ArrowInvalid:  # a pattern that RE2 does not take is no reason to let a secret pass
        return pc.is_valid(texts)


def _suspicious(array: pa.Array, pattern: str) -> bool:
    """Tell whether a pattern is found anywhere in an array, whatever its values are made of."""
    kind = array.type
    if _is_text(kind):
        return bool(pc.any(_found(array, pattern)).as_py())
    if pa.types.is_dictionary(kind):
        return _suspicious(array.dictionary, pattern)
    if pa.types.is_struct(kind):
        return any(_suspicious(each, pattern) for each in array.flatten())
    if pa.types.is_map(kind):
        return _suspicious(array.keys, pattern) or _suspicious(array.items, pattern)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _suspicious(array.flatten(), pattern)
    if isinstance(array, pa.ExtensionArray):
        return _suspicious(array.storage, pattern)
    # Unions, views, and what else there may be.
    return (kind.num_fields > 0 or "view" in str(kind)) and _suspicious(_as_texts(array), pattern)


def _masked(array: pa.Array, pattern: str, mask: Callable[[Any], Any]) -> pa.Array:
    if _is_text(array.type):
        return _texts_masked(array, pattern, mask)
    if pa.types.is_dictionary(array.type):
        kept = _masked(array.dictionary, pattern, mask)
        # Two entries may be the same now, which not every reader takes.
        return kept.take(array.indices)
    if not _suspicious(array, pattern):
        return array
    values = [mask(each) for each in array.to_pylist()]
    try:
        return pa.array(values, type=array.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return _as_texts(values)


def _texts_masked(array: pa.Array, pattern: str, mask: Callable[[Any], Any]) -> pa.Array:
    found = _found(array, pattern)
    marked = [_one(each, mask) for each in array.filter(found).to_pylist()]
    return pc.replace_with_mask(array, found, pa.array(marked, type=array.type)) if marked else array


def _one(value: Any, mask: Callable[[Any], Any]) -> Any:
    if isinstance(value, bytes):
        return mask(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return mask(value)


def _as_texts(values: Any) -> pa.Array:
    plain = values.to_pylist() if isinstance(values, pa.Array) else values
    return pa.array([None if each is None else str(each) for each in plain], type=pa.string())
