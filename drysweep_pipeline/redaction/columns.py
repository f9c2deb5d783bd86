"""Tables, searched for secrets by RE2 a row at a time; Python sees only the values in which something was found."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

Mask: TypeAlias = Callable[[Any], Any]
_WORD = re.compile(r"[A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: a pattern for RE2, how a value is masked, numbers that are secrets themselves.

    ``inside``: the columns whose texts are JSON, each with what masks one of them.
    """

    pattern: str
    mask: Mask
    numbers: Sequence[str]
    inside: Mapping[str, Mask]


def quoted(text: str) -> str:
    """Return a pattern for RE2 that is found where a text is."""
    return "".join(each if _WORD.fullmatch(each) else rf"\x{{{ord(each):x}}}" for each in text)


def is_found(pattern: str, text: str) -> bool:
    """Tell whether RE2 finds a pattern in a text.

    A text that is no UTF-8 is taken to hold anything, and a pattern that RE2 does not take to be anywhere.
    """
    try:
        return bool(pc.match_substring_regex(pa.array([text]), pattern)[0].as_py())
    except (UnicodeEncodeError, pa.ArrowInvalid):
        return True


def masked(table: pa.Table, wanted: Wanted) -> pa.Table:
    """Return a table with its secrets masked.

    Secret numbers are missing afterwards from a column of numbers, which has no room for a mark.
    """
    table = _decoded(table)
    batches = [_masked(batch, wanted) for batch in table.to_batches()]
    columns = [
        _joined(chunks, field.type) for chunks, field in zip(_by_column(table, batches), table.schema, strict=True)
    ]
    return pa.table(columns, names=table.column_names)


def _decoded(table: pa.Table) -> pa.Table:
    """Return a table whose dictionaries hold texts only, since values are left out where they stand."""
    for index, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and not _is_text(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(field.type.value_type))
    return table


def _by_column(table: pa.Table, batches: Sequence[Sequence[pa.Array]]) -> list[list[pa.Array]]:
    return [[batch[index] for batch in batches] for index in range(table.num_columns)]


def _joined(chunks: Sequence[pa.Array], kind: pa.DataType) -> pa.ChunkedArray:
    """Return chunks as one column, of texts where one of them could not stay what it was."""
    kinds = [chunk.type for chunk in chunks] or [kind]
    if all(each == kinds[0] for each in kinds):
        return pa.chunked_array(chunks, type=kinds[0])
    return pa.chunked_array([_as_texts(chunk) for chunk in chunks], type=pa.string())


def _masked(batch: pa.RecordBatch, wanted: Wanted) -> list[pa.Array]:
    """Return the columns of a batch; the rows in which something was found are looked at value by value."""
    found = _rows(batch, rf"\\|{wanted.pattern}" if wanted.inside else wanted.pattern)
    return [
        _column(column, wanted, wanted.inside.get(name), found)
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]


def _rows(batch: pa.RecordBatch, pattern: str) -> pa.Array | None:
    """Return for each row whether a pattern is found in one of its texts, None where it is in no row."""
    texts = [pc.cast(column, pa.large_string()) for column in batch.columns if _is_text(column.type)]
    if not texts or not batch.num_rows:
        return None
    # A line end stands for the beginning and the end of a text in all that detectors look for.
    rows = pc.binary_join_element_wise(*texts, _line_end(), null_handling="replace")
    found = _found(rows, pattern)
    return found if pc.any(found).as_py() else None


@cache
def _line_end() -> pa.Scalar:
    # The first value that pyarrow makes has it load pandas where that is installed: not before there is a table.
    return pa.scalar("\n", pa.large_string())


def _column(column: pa.Array, wanted: Wanted, inside: Mask | None, found: pa.Array | None) -> pa.Array:
    if _is_text(column.type):
        if found is None:
            return column
        pattern = wanted.pattern if inside is None else rf"\\|{wanted.pattern}"
        return _texts_masked(column, found, pattern, inside or wanted.mask)
    if _is_number(column.type):
        found = _secret_numbers(column, wanted.numbers)
        return column if found is None else pc.if_else(found, pa.scalar(None, column.type), column)
    return _others_masked(column, wanted) if _suspicious(column, wanted) else column


def _is_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain))


def _found(texts: pa.Array, pattern: str) -> pa.Array:
    """Return for each text whether the pattern is found in it; never null."""
    try:
        return pc.fill_null(pc.match_substring_regex(texts, pattern), False)
    except pa.ArrowInvalid:  # a pattern that RE2 does not take is no reason to let a secret pass
        return pc.is_valid(texts)


def _texts_masked(texts: pa.Array, rows: pa.Array, pattern: str, mask: Mask) -> pa.Array:
    """Return texts masked in some rows, wherever a pattern is found in them."""
    plain = pc.cast(texts, pa.large_string())
    held = plain.filter(rows)
    found = _found(held, pattern)
    marked = pa.array([mask(each) for each in held.filter(found).to_pylist()], type=pa.large_string())
    whole = pc.replace_with_mask(plain, rows, pc.replace_with_mask(held, found, marked))
    # Two entries of a dictionary may be the same once they are masked, which not every reader takes.
    return pc.cast(whole, texts.type.value_type if pa.types.is_dictionary(texts.type) else texts.type)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_floating(kind))


def _secret_numbers(column: pa.Array, numbers: Sequence[str]) -> pa.Array | None:
    """Return for each number whether it is a secret, with either sign; None where none is."""
    if not numbers:
        return None
    if pa.types.is_floating(column.type):
        # As much as a float of that size keeps of a secret; the shortest ones hold none.
        wide = pc.abs(pc.cast(column, pa.float64()))
        secrets = pa.array([float(number) for number in numbers], pa.float64())
        if pa.types.is_float32(column.type):
            secrets = secrets.cast(pa.float32(), safe=False).cast(pa.float64())
        found = pc.is_in(wide, value_set=secrets)
    else:
        written = pc.replace_substring_regex(pc.cast(column, pa.string()), r"^-|\.0*$", "")
        found = pc.is_in(written, value_set=pa.array(numbers))
    return found if pc.any(found).as_py() else None


def _suspicious(array: pa.Array, wanted: Wanted) -> bool:
    """Tell whether there may be a secret anywhere in an array, whatever its values are made of."""
    kind, pattern = array.type, wanted.pattern
    if _is_number(kind):
        return _secret_numbers(array, wanted.numbers) is not None
    if pa.types.is_dictionary(kind) and not _is_text(kind):
        return _suspicious(array.dictionary, wanted)
    if _is_text(kind):
        return bool(pc.any(_found(pc.cast(array, pa.large_string()), pattern)).as_py())
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bool(pc.any(_found(array, pattern)).as_py())
    if pa.types.is_struct(kind):
        names = any(is_found(pattern, field.name) for field in kind)
        return names or any(_suspicious(each, wanted) for each in array.flatten())
    if pa.types.is_map(kind):
        return _suspicious(array.keys, wanted) or _suspicious(array.items, wanted)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _suspicious(array.flatten(), wanted)
    if isinstance(array, pa.ExtensionArray):
        return _suspicious(array.storage, wanted)
    # Unions, views, and what else there may be; numbers and times hold no text.
    return (kind.num_fields > 0 or "view" in str(kind)) and _suspicious(_as_texts(array), wanted)


def _others_masked(array: pa.Array, wanted: Wanted) -> pa.Array:
    secrets = frozenset(map(int, wanted.numbers))
    values = [_one(_left_out(each, secrets), wanted.mask) for each in array.to_pylist()]
    for kind in (array.type, None):
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            made = pa.array(values, type=kind)
            # What a type has no place for, such as a name in an object, is otherwise left out without a word.
            if kind is None or made.to_pylist() == values:
                return made
    return _as_texts(values)


def _left_out(value: Any, secrets: frozenset[int]) -> Any:
    """Return a value without the numbers in it that are secrets: among numbers there is no room for a mark."""
    if isinstance(value, dict):
        return {key: _left_out(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_left_out(each, secrets) for each in value])
    number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return None if number and abs(value) in secrets else value


def _one(value: Any, mask: Mask) -> Any:
    if isinstance(value, bytes):
        return mask(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    return mask(value)


def _as_texts(values: Any) -> pa.Array:
    plain = values.to_pylist() if isinstance(values, pa.Array) else values
    return pa.array([None if each is None else str(each) for each in plain], type=pa.string())
