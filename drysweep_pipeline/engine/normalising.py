"""Reported values made alike as the sweep declares, in each of the shapes that findings are reported in.

Where they were reported, before a fingerprint is made of them, so that all that comes after (the judge, the history,
reports) has the same value. Numbers, truth values and dates stay as they are.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from drysweep_pipeline import fingerprint
from drysweep_pipeline.candidates import identity_columns, written
from drysweep_pipeline.finders import Found
from drysweep_pipeline.normalisers import Normalise, Normaliser, normalised


def alike(found: Found, how: Normalise, fields: tuple[str, ...]) -> Found:
    """Return what was reported with the values of its fingerprint's fields normalised."""
    if not how:
        return found
    return replace(
        found,
        table=None if found.table is None else _table(found.table, how),
        prepared=None if found.prepared is None else _prepared(found.prepared, how, fields),
        rows=None if found.rows is None else [_row(row, how) for row in found.rows],
    )


def _value(value: Any, names: Sequence[Normaliser]) -> Any:
    return normalised(value, tuple(names)) if names and isinstance(value, str) else value


def _row(row: Mapping[str, Any], how: Normalise) -> dict[str, Any]:
    return {name: _value(value, how.get(name, ())) for name, value in row.items()}


def _table(table: pa.Table, how: Normalise) -> pa.Table:
    for name, names in how.items():
        for index in table.schema.get_all_field_indices(name):
            before = table.column(index).to_pylist()
            after = [_value(value, names) for value in before]
            # Of what is not text, nothing changed, and the column keeps its type.
            if after != before:
                table = table.set_column(index, name, pa.array(after, pa.string()))
    return table


def _prepared(table: pa.Table, how: Normalise, fields: tuple[str, ...]) -> pa.Table:
    rows = [_prepared_row(row, how, fields) for row in table.to_pylist()]
    return pa.Table.from_pylist(rows, schema=table.schema)


def _prepared_row(row: dict[str, Any], how: Normalise, fields: tuple[str, ...]) -> dict[str, Any]:
    """Return a row of prepared findings normalised: the tokens of its fields, its columns and its attributes."""
    changed = _row(row, how)
    tokens = dict(zip(fields, identity_columns(fields), strict=True))
    for name, column in tokens.items():
        changed[column] = _token(row[column], how.get(name, ()))
    # Both have a field's value where they were not given.
    for column, name in (("subject", fields[0]), ("kind", fields[-1])):
        if name in how and _is_spelled(row[column], row[tokens[name]]):
            changed[column] = _value(row[column], how[name])
    if row["attributes"]:
        changed["attributes"] = written(_row(json.loads(row["attributes"]), how))
    return changed


def _token(token: str | None, names: Sequence[Normaliser]) -> str | None:
    """Return how an identity spells a value once it is normalised; None where nothing is left of it."""
    value = json.loads(token) if token and names else None
    if not isinstance(value, str):
        return token
    after = normalised(value, tuple(names))
    return fingerprint.token(after) if after else None


def _is_spelled(text: str | None, token: str | None) -> bool:
    """Tell whether a text is the one that a token spells."""
    return text is not None and text.strip() != "" and fingerprint.token(text) == token
