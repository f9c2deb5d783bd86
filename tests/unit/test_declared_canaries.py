"""Canaries as they are declared, and as values: what is refused with line and help, what was seen, what may be told."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline import canaries, candidates
from drysweep_pipeline.canaries import Recall, recall
from drysweep_pipeline.declaration import errors, freeze_json, read_declaration, thaw_json
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import canary_problems
from drysweep_pipeline.declaration.folder import folder_digest
from drysweep_pipeline.mentions import scrubbed, steady
from drysweep_pipeline.variation import Look
from tests.canaries import PATH, SERVICE, expecting, planted
from tests.sweeps import NO_OWNER, declare

FIELDS = ("service", "failure_mode")


def first(**more: Any) -> dict[str, Any]:
    return {"name": "first", "finding": {"service": SERVICE, "failure_mode": "no_owner"}, **more}


@pytest.mark.parametrize(
    ("declared", "key", "says"),
    [
        ({"path": "extra", "expect": []}, "canaries.expect", "at least one is needed"),
        ({"path": "extra"}, "canaries.expect", "'expect' is missing"),
        ({"expect": [first()]}, "canaries", "'path' is missing"),
        ({"path": "nowhere", "expect": [first()]}, "canaries.path", "there is no folder 'nowhere'"),
        ({"path": "../extra", "expect": [first()]}, "canaries.path", "leads out of the folder of the sweep"),
        ({"path": "empty", "expect": [first()]}, "canaries.path", "it holds no file"),
        ({"path": "linked", "expect": [first()]}, "canaries.path", "away is no regular file"),
        ({"path": "extra", "digest": "0", "expect": [first()]}, "canaries.digest", "unknown key 'digest'"),
        ({"path": "extra", "rows": {"t": [{"a": 1}]}, "expect": [first()]}, "canaries.rows", "'rows' is not for"),
        ({"path": "extra", "expect": [first(), first()]}, "canaries.expect[1].name", "two canaries are named 'first'"),
        (
            {"path": "extra", "expect": [first(), first(name="b")]},
            "canaries.expect[1].finding",
            "canary 'first' as well",
        ),
        ({"path": "extra", "expect": [first(strategies=["lables"])]}, "canaries.expect[0].strategies[0]", "'lables'"),
        ({"path": "extra", "expect": [first(angles=[{"a": 9}])]}, "canaries.expect[0].angles[0]", "such an angle"),
        (
            {"path": "extra", "expect": [first(finding={"service": "x"})]},
            "canaries.expect[0].finding",
            "'failure_mode'",
        ),
        (
            {"path": "extra", "expect": [first(finding={"service": " ", "failure_mode": "m"})]},
            "canaries.expect[0].finding.service",
            "identifies nothing",
        ),
        (
            {"path": "extra", "expect": [first(finding={"service": "x", "failure_mode": "m", "path": "y"})]},
            "canaries.expect[0].finding.path",
            "no part of the fingerprint",
        ),
    ],
)
def test_a_canary_that_nobody_could_see_is_refused_where_it_stands(
    tmp_path: Path, declared: dict[str, Any], key: str, says: str
) -> None:
    planted(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "away").symlink_to(tmp_path)
    path = declare(tmp_path, {"labels": NO_OWNER}, labels={"angles": [{"a": 1}]}, canaries=declared)
    [refused] = errors(path)
    assert (refused.key, refused.line is not None) == (key, True)
    assert says in str(refused)


def test_what_is_planted_is_a_part_of_the_declaration_and_when_it_was_written_is_not(tmp_path: Path) -> None:
    folder = planted(tmp_path)
    path = declare(tmp_path, {"labels": NO_OWNER}, canaries=expecting())
    before = read_declaration(path)
    assert thaw_json(freeze_json(before)) == before
    (folder / PATH).touch()
    assert read_declaration(path).digest == before.digest
    (folder / PATH).write_text("{}")
    assert read_declaration(path).digest != before.digest
    digest = folder_digest(folder)
    (folder / PATH).rename(folder / "other.yaml")
    assert folder_digest(folder) != digest


def test_validate_names_what_cannot_be_planted_and_who_is_not_watched(tmp_path: Path) -> None:
    planted(tmp_path)
    path = declare(tmp_path, {"labels": NO_OWNER, "other": NO_OWNER}, canaries=expecting(strategies=["labels"]))
    declaration = read_declaration(path)
    assert canary_problems(declaration) == []
    assert [text for text in warnings(declaration) if "canary" in text] == [
        "No canary is expected of the strategy 'other': if it went blind, nobody would know."
    ]
    unnamed = expecting()
    unnamed["expect"][0]["finding"]["service"] = "api"
    [problem] = canary_problems(read_declaration(declare(tmp_path, {"labels": NO_OWNER}, canaries=unnamed)))
    assert (problem.key, problem.line is not None) == ("canaries.expect[0].finding", True)


def test_a_canary_is_expected_of_whom_it_says_at_an_angle_that_has_what_it_says(tmp_path: Path) -> None:
    planted(tmp_path)
    only = expecting(strategies=["labels"], angles=[{"a": 1}])
    sweep = read_declaration(
        declare(tmp_path, {"labels": NO_OWNER}, labels={"angles": [{"a": 1, "b": 2}]}, canaries=only)
    )
    identity = f'["fp1","{SERVICE}","no_owner"]'
    assert canaries.expected(sweep.sweep, Look("labels", {"a": 1, "b": 2}, 0, 0)) == {identity: "first"}
    assert canaries.expected(sweep.sweep, Look("labels", {"a": 2, "b": 2}, 0, 0)) == {}
    assert canaries.expected(sweep.sweep, Look("other", {"a": 1}, 0, 0)) == {}


def test_what_was_missed_is_named_and_the_rest_counted() -> None:
    assert recall({"i": "a", "j": "b", "k": "c"}, ["j", "x"]) == Recall(3, 1, ("a", "c"))
    assert Recall(3, 1, ("a", "c")).reason == "missed the canaries a, c"
    assert Recall(1, 1).reason is None


def test_no_planted_name_is_left_in_a_reason() -> None:
    said = f"/tmp/x/{PATH}:3: {SERVICE.upper()} is not"
    assert scrubbed(said, (SERVICE, PATH)) == "/tmp/x/[planted]:3: [planted] is not"
    assert scrubbed(said, ()) == said
    assert scrubbed("at cafe\u0301-relay", ("caf\u00e9-relay",)) == "at [planted]"


@pytest.mark.parametrize("name", ["relay-quillon", "caf\u00e9-relay", "\u0440\u0435\u043b\u0435-1", "\u8aad\u8005-1"])
def test_a_name_is_planted_where_capitals_lead_back_to_it(name: str) -> None:
    assert steady(name)


# A sigma that ends a word, an i with and without its dot, a letter that becomes two.
@pytest.mark.parametrize("name", ["\u03bf\u03b4\u03bf\u03c2", "\u0130stanbul", "d\u0131sk", "stra\u00dfe", "\ufb01les"])
def test_a_name_that_has_more_than_one_lower_case_form_is_not_planted(tmp_path: Path, name: str) -> None:
    assert not steady(name)
    assert "letters without one lower-case form" in refusal(tmp_path, name)


def test_a_name_that_has_another_form_in_unicode_is_not_planted(tmp_path: Path) -> None:
    assert "is not in NFC" in refusal(tmp_path, "cafe\u0301-relay")


def refusal(folder: Path, mark: str) -> str:
    """Return why a mark cannot be planted."""
    planted(folder)
    declared = {**expecting(), "marks": [mark]}
    [problem] = canary_problems(read_declaration(declare(folder, {"labels": NO_OWNER}, canaries=declared)))
    assert problem.key == "canaries.marks"
    return problem.what


ACCENTED = "caf\u00e9-relay"
NAMES = (SERVICE, PATH, ACCENTED)
# Of something planted.
MENTIONS: list[dict[str, Any]] = [
    {"service": SERVICE},
    {"service": "API", "failure_mode": f"As in {SERVICE.upper()}."},
    {"service": "api", "subject": f"first\0then {SERVICE}"},
    {"service": "api", "scope": SERVICE},
    {"service": "api", "path": f"x/{PATH}"},
    {"service": "cafe\u0301-RELAY"},
    {"service": "api", "path": "CAFE\u0301-relay.txt"},
]
# Of something real, and telling of something planted beside it: what is left of that.
TOLD: list[tuple[dict[str, Any], str, str]] = [
    ({"service": "api", "evidence": [{"of": SERVICE}]}, "evidence", '[{"of": "[planted]"}]'),
    ({"service": "api", "title": f"shared by {PATH.upper()}, db"}, "title", "shared by [planted], db"),
    ({"service": "api", "kind": f"as {SERVICE}"}, "kind", "as [planted]"),
    ({"service": "api", "owner": "cafe\u0301-RELAY"}, "owner", "[planted]"),
    ({"service": "api", "note": f"first\0then {SERVICE}"}, "note", "first\0then [planted]"),
]
HONEST: list[dict[str, Any]] = [
    {"service": "api"},
    {"service": "relay", "note": "quillon"},
    {"service": "relay quillon"},
    {"service": "cafe-relay"},
]


@pytest.mark.parametrize("prepared", [True, False])
def test_what_is_of_something_planted_is_withheld_and_what_only_tells_of_it_lands_without(
    tmp_path: Path, prepared: bool
) -> None:
    told = [row for row, _, _ in TOLD]
    given = [{"failure_mode": "m", **row} for row in [*MENTIONS, *told, *HONEST]]
    if prepared:
        table = candidates.prepare(given, FIELDS)
        taken = candidates.land_prepared(table, "s", FIELDS, tmp_path / "x.parquet", NAMES)
    else:
        columns = sorted({key for row in given for key in row})
        texts = {key: [None if row.get(key) is None else _text(row[key]) for row in given] for key in columns}
        taken = candidates.land_table(pa.table(texts), "s", FIELDS, tmp_path / "x.parquet", NAMES)
    assert (taken.rows, taken.refused) == (len(TOLD) + len(HONEST), 0)
    assert (taken.withheld, taken.scrubbed) == (len(MENTIONS), len(TOLD))
    landed = [{**json.loads(row["attributes"]), **row} for row in pq.read_table(tmp_path / "x.parquet").to_pylist()]
    assert [row["subject"] for row in landed] == [row["service"] for row in [*told, *HONEST]]
    assert [row[name] for row, (_, name, _) in zip(landed, TOLD, strict=False)] == [said for _, _, said in TOLD]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_a_row_that_cannot_be_taken_in_shows_no_canary() -> None:
    identity = f'["fp1","{SERVICE}","m"]'
    good = {"service": f" {SERVICE}", "failure_mode": "m"}
    bad = {"service": SERVICE, "failure_mode": "m", "severity": "huge"}
    for given, seen in ((good, {identity}), (bad, set())):
        table = candidates.prepare([given], FIELDS)
        assert candidates.reported(table, FIELDS, [identity, "other"], prepared=True) == seen


@pytest.mark.parametrize(
    ("declared", "key", "says"),
    [
        ({"expect": [first()]}, "canaries", "'rows' is missing"),
        ({"path": "extra", "expect": [first()]}, "canaries.path", "'path' is not for material of the kind tables"),
        ({"rows": {"ordres": [{"a": 1}]}, "expect": [first()]}, "canaries.rows.ordres", "there is orders"),
        ({"rows": {"orders": []}, "expect": [first()]}, "canaries.rows.orders", "at least one is needed"),
    ],
)
def test_what_is_planted_in_tables_is_rows_of_tables_that_are_there(
    tmp_path: Path, declared: dict[str, Any], key: str, says: str
) -> None:
    planted(tmp_path)
    material = {"kind": "tables", "path": "data", "tables": {"orders": "orders.csv"}}
    [refused] = errors(declare(tmp_path, {"labels": NO_OWNER}, material=material, canaries=declared))
    assert refused.key == key
    assert says in str(refused)
