"""The identity of a finding: golden vectors, as the documentation prints them, hold Python and SQL to one rule."""

import hashlib
import json
import re
from pathlib import Path
from uuid import UUID

import duckdb
import pytest

from drysweep_pipeline.fingerprint import (
    Field,
    fingerprint,
    identity,
    label,
    of_identity,
    sql_fingerprint,
    sql_identity,
    sql_label,
    sql_token,
    token,
)

DOCS = Path(__file__).parents[2] / "docs" / "fingerprint.md"
ROW = re.compile(r"^\| `(\[.*\])` \| `(\[.*\])` \| `([0-9a-f-]{36})` \|", re.MULTILINE)
VECTORS = [(json.loads(fields), text, UUID(fp)) for fields, text, fp in ROW.findall(DOCS.read_text(encoding="utf-8"))]
TYPES = {str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}


def test_the_documentation_prints_the_vectors() -> None:
    assert len(VECTORS) >= 11
    assert (["api", "no_owner"], '["fp1","api","no_owner"]', UUID("d44f0bf9-6ad3-72db-f545-32e7c48d04c9")) in VECTORS


@pytest.mark.parametrize(("fields", "text", "fp"), VECTORS)
def test_a_vector_holds_in_python(fields: list[Field], text: str, fp: UUID) -> None:
    assert identity(fields) == text
    assert fingerprint(fields) == of_identity(text) == fp
    assert hashlib.sha256(text.encode()).hexdigest()[:32] == fp.hex


@pytest.mark.parametrize(("fields", "text", "fp"), VECTORS)
def test_a_vector_holds_in_sql(fields: list[Field], text: str, fp: UUID) -> None:
    names = [f"field{n}" for n in range(len(fields))]
    whole = sql_identity([sql_token(name, TYPES[type(value)]) for name, value in zip(names, fields, strict=True)])
    given = ", ".join(f"cast(? as {TYPES[type(value)]}) as {name}" for name, value in zip(names, fields, strict=True))
    with duckdb.connect() as connection:
        rows = connection.execute(f"select {whole}, {sql_fingerprint(whole)} from (select {given})", fields).fetchall()
    assert rows == [(text, fp)]


def test_every_vector_is_a_finding_of_its_own_but_for_space_around_it() -> None:
    assert len({fp for _, _, fp in VECTORS}) == len(VECTORS) - 1


@pytest.mark.parametrize("nothing", ["", "  ", "\t\u00a0\u3000", float("nan"), float("inf"), float("-inf")])
def test_nothing_is_no_identity(nothing: Field) -> None:
    with pytest.raises(ValueError, match=r"empty|no identity"):
        token(nothing)
    kind = TYPES[type(nothing)]
    with duckdb.connect() as connection:
        query = f"select {sql_token('given', kind)} from (select cast(? as {kind}) as given)"
        assert connection.execute(query, [nothing]).fetchall() == [(None,)]


def test_one_missing_field_leaves_no_identity_in_sql() -> None:
    whole = sql_identity([sql_token("a", "VARCHAR"), sql_token("b", "VARCHAR")])
    with duckdb.connect() as connection:
        assert connection.execute(f"select {whole} from (select 'x' as a, null as b)").fetchall() == [(None,)]


def test_a_label_joins_the_values_as_people_write_them() -> None:
    assert label(identity(["api", "no_owner"])) == "api/no_owner"
    assert label(identity(["a/b", 1, 1.0, True, "true"])) == "a/b/1/1.0/true/true"


@pytest.mark.parametrize(
    ("value", "spelled"),
    [
        (1e300, "1e+300"),
        (1e16, "1e+16"),
        (-1e-5, "-1e-05"),
        (1.5e-10, "1.5e-10"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (10**40, "1" + 40 * "0"),
        (-7, "-7"),
        (True, "true"),
        ("1e300", "1e300"),
    ],
)
def test_a_number_is_spelled_alike_in_labels_of_the_history_and_everywhere_else(value: Field, spelled: str) -> None:
    text = identity(["api", value])
    assert label(text) == f"api/{spelled}"
    with duckdb.connect() as connection:
        assert connection.execute(f"select {sql_label('?')}", [text]).fetchall() == [(f"api/{spelled}",)]


def test_order_of_the_fields_is_part_of_the_identity() -> None:
    assert fingerprint(["a", "b"]) != fingerprint(["b", "a"])
    assert fingerprint(["a", "b"]) != fingerprint(["a,b"])
