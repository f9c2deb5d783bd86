"""What is made alike before findings are told apart, and that it is the same however they are reported."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drysweep_pipeline import candidates, fingerprint
from drysweep_pipeline.declaration import errors
from drysweep_pipeline.declaration.model import SqlStrategy
from drysweep_pipeline.engine.asking import land
from drysweep_pipeline.engine.normalising import alike
from drysweep_pipeline.finders import Found
from drysweep_pipeline.normalisers import Normaliser, normalised
from tests.sweeps import NO_OWNER, declare

FIELDS = ("path", "service", "kind")
HOW: dict[str, tuple[Normaliser, ...]] = {"path": ("path",), "service": ("casefold", "digits"), "kind": ("casefold",)}
STRATEGY = SqlStrategy.model_validate({"name": "some", "kind": "sql", "query": {"file": "x.sql"}})
HOSTILE = st.text(st.sampled_from("\x00\t\xa0 ./\\aA0\u0660\u00dfΣς\u0130\u0345e\u0301\u212b"), max_size=8)


@pytest.mark.parametrize(
    ("names", "text", "left"),
    [
        (["path"], "./a//b/./c/", "a/b/c"),
        (["path"], "a\\b\\c.py", "a/b/c.py"),
        (["path"], "/a/../b", "/a/../b"),
        (["path"], "//a", "/a"),
        (["path"], "./", ""),
        (["path"], " ./ a ", "a"),
        (["path"], "0\\ \\", "0"),
        (["path"], "./ /a", "a"),
        (["casefold"], "Straße", "strasse"),
        (["casefold"], "ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        (["casefold"], "API\u00a0", "api"),
        (["digits"], "node-017 of 3", "node-# of #"),
        (["digits"], "\u0661", "\u0661"),
        (["casefold", "digits"], "Node-7", "node-#"),
        ([], " cafe\u0301 ", "caf\u00e9"),
    ],
)
def test_a_text_is_left_as_the_page_says(names: list[Normaliser], text: str, left: str) -> None:
    assert normalised(text, tuple(names)) == left


@given(HOSTILE, st.sampled_from([("path",), ("digits",), ("path", "digits")]))
def test_what_was_made_alike_once_stays_as_it_is(text: str, names: tuple[Normaliser, ...]) -> None:
    once = normalised(text, names)
    assert normalised(once, names) == once


def landed(found: Found, folder: Path) -> list[tuple[Any, ...]]:
    path = folder / "found.parquet"
    taken = land(alike(found, HOW, FIELDS), STRATEGY, FIELDS, path)
    query = "select identity, path, subject, kind, attributes from read_parquet(?) order by row"
    with duckdb.connect() as connection:
        rows = connection.execute(query, [str(path)]).fetchall()
    return [*((*row[:-1], json.loads(row[-1])) for row in rows), (taken.refused,)]


def test_findings_are_the_same_in_whichever_shape_they_are_reported(tmp_path: Path) -> None:
    rows = [
        {"path": "./A//b.py", "service": "API-7", "kind": "Left_Out", "note": "Kept 7"},
        {"path": "A/b.py", "service": "api-12", "kind": "left_out", "note": "Kept 7"},
        {"path": "\u00e4/B", "service": "Straße", "kind": "x", "note": "Kept 7"},
        {"path": "./", "service": "nothing is left of its path", "kind": "x", "note": "Kept 7"},
    ]
    shapes = [
        Found(rows=rows),
        Found(table=pa.Table.from_pylist(rows)),
        Found(prepared=candidates.prepare(rows, FIELDS)),
    ]
    ways = [landed(found, tmp_path) for found in shapes]
    assert ways[0] == ways[1] == ways[2]
    identities = [row[0] for row in ways[0][:-1]]
    assert identities[0] == identities[1] == fingerprint.identity(["A/b.py", "api-#", "left_out"])
    assert ways[0][0][1:4] == ("A/b.py", "A/b.py", "left_out")
    assert ways[0][0][4] == {"service": "api-#", "note": "Kept 7"}
    assert ways[0][-1] == (1,)


@given(st.lists(st.tuples(HOSTILE, HOSTILE, HOSTILE), min_size=1, max_size=8))
def test_a_fingerprint_is_that_of_the_values_that_are_left(values: list[tuple[str, str, str]]) -> None:
    rows = [dict(zip(FIELDS, each, strict=True)) for each in values]
    prepared = alike(Found(prepared=candidates.prepare(rows, FIELDS)), HOW, FIELDS).prepared
    assert prepared is not None
    for row, given_values in zip(prepared.to_pylist(), values, strict=True):
        for column, name, value in zip(candidates.identity_columns(FIELDS), FIELDS, given_values, strict=True):
            left = normalised(value, HOW[name])
            assert row[column] == (fingerprint.token(left) if left else None)


def test_numbers_truth_values_and_what_is_not_declared_stay_as_they_are() -> None:
    row = {"path": 7, "service": True, "kind": None, "title": "./A 7"}
    found = alike(Found(rows=[row], table=pa.Table.from_pylist([row])), HOW, FIELDS)
    assert found.rows == [row]
    assert found.table is not None
    assert found.table.to_pylist() == [row]
    assert found.table.schema.field("path").type == pa.int64()


def test_a_sweep_without_normalisers_is_left_alone() -> None:
    found = Found(rows=[{"path": "./A"}])
    assert alike(found, {}, ("path",)) is found


@pytest.mark.parametrize(
    ("normalise", "what"),
    [
        ({"path": ["path"]}, "'path' is no field of the fingerprint"),
        ({"service": ["casefolded"]}, "expected path, casefold or digits"),
        ({"service": []}, "is empty"),
    ],
)
def test_what_cannot_be_made_alike_is_refused(tmp_path: Path, normalise: dict[str, Any], what: str) -> None:
    fields = {"fields": ["service", "failure_mode"], "normalise": normalise}
    [error] = errors(declare(tmp_path, {"labels": NO_OWNER}, fingerprint=fields))
    assert what in str(error)


def test_canaries_are_refused_where_their_names_may_be_rewritten(tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "x.yaml").write_text("a: b")
    expect = [{"name": "one", "finding": {"service": "x", "failure_mode": "no_owner"}}]
    fields = {"fields": ["service", "failure_mode"], "normalise": {"service": ["digits"]}}
    canaries = {"path": "planted", "expect": expect}
    [error] = errors(declare(tmp_path, {"labels": NO_OWNER}, fingerprint=fields, canaries=canaries))
    assert "canaries are not for a sweep whose fingerprint has normalise" in str(error)
