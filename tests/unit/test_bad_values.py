"""Values that tools really print and people really write: kept exactly, told apart, or refused by name."""

import ast
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline import candidates
from drysweep_pipeline.candidates import land_prepared, land_rows, land_table, prepare
from drysweep_pipeline.cli.options import instant
from drysweep_pipeline.errors import DeclarationError, Refused
from drysweep_pipeline.finders.jsonl import Lines
from drysweep_pipeline.fingerprint import Field, fingerprint, identity
from drysweep_pipeline.reports.text import cell, safe_text
from drysweep_pipeline.sandbox import check_query
from drysweep_pipeline.values import CAMPAIGN_ID, SWEEP_NAME

FIELDS = ("service", "failure_mode")
PRODUCT = Path(candidates.__file__).parent


def printed(path: Path, *lines: bytes) -> tuple[candidates.Taken, list[dict[str, Any]]]:
    """Land what a child printed, and return what became of it."""
    end = b'{"drysweep": "end", "count": %d}' % len(lines)
    table = prepare(list(Lines([*lines, end], 100_000)), FIELDS)
    taken = land_prepared(table, "one", FIELDS, path)
    return taken, pq.read_table(path).to_pylist()


@pytest.mark.parametrize("value", [None, "", "   ", "\t\r\n", "\u00a0\u2003"])
def test_a_field_of_the_fingerprint_that_holds_nothing_is_refused_by_name(tmp_path: Path, value: str | None) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"service": ["api", value], "failure_mode": ["m", "m"]})
    for taken in (land_table(table, "one", FIELDS, path), land_rows(table.to_pylist(), "one", FIELDS, path)):
        assert (taken.rows, taken.refused) == (1, 1)
        assert (taken.first_refused[0].row, taken.first_refused[0].reason) == (2, "missing_field: service")


def test_a_field_of_the_fingerprint_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    taken, found = printed(tmp_path / "a.parquet", b'{"failure_mode": "m"}', b'{"service": "api", "failure_mode": "m"}')
    assert [refusal.reason for refusal in taken.first_refused] == ["missing_field: service"]
    assert len(found) == 1


@pytest.mark.parametrize(
    "number", ["9007199254740993", "18446744073709551617", "170141183460469231731687303715884105729", "1" + "0" * 400]
)
def test_a_whole_number_of_any_size_is_one_identity_to_its_last_digit(tmp_path: Path, number: str) -> None:
    line = '{"service": %s, "failure_mode": "m"}'
    neighbour = str(int(number) - 1)
    _, found = printed(tmp_path / "a.parquet", (line % number).encode(), (line % neighbour).encode())
    assert [row["identity"] for row in found] == [f'["fp1",{number},"m"]', f'["fp1",{neighbour},"m"]']
    assert len({row["fp"] for row in found}) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (1, True),
        (1, "1"),
        (0.0, -0.0),
        ("true", True),
        ("Api", "api"),
        ("straße", "strasse"),
        ("\ufb01le", "file"),
        ("\uff41pi", "api"),
        ("a\u200bpi", "api"),
        ("\u202eapi", "api"),
        ("\u0430pi", "api"),
        ("./a", "a"),
        ("a//b", "a/b"),
        ("a/", "a"),
        ("a\\b", "a/b"),
        ("a\0b", "ab"),
    ],
)
def test_what_is_written_differently_is_another_finding(tmp_path: Path, one: Field, other: Field) -> None:
    assert fingerprint([one, "m"]) != fingerprint([other, "m"])
    rows = [{"service": each, "failure_mode": "m"} for each in (one, other)]
    land_rows(rows, "one", FIELDS, tmp_path / "a.parquet")
    assert len(set(pq.read_table(tmp_path / "a.parquet")["fp"].to_pylist())) == 2


@pytest.mark.parametrize(("one", "other"), [("caf\u00e9", "cafe\u0301"), (" api\u00a0", "api"), ("\u212b", "\u00c5")])
def test_what_only_an_encoding_writes_differently_is_one_finding(tmp_path: Path, one: str, other: str) -> None:
    rows = [{"service": each, "failure_mode": "m"} for each in (one, other)]
    land_rows(rows, "one", FIELDS, tmp_path / "a.parquet")
    assert len(set(pq.read_table(tmp_path / "a.parquet")["fp"].to_pylist())) == 1
    assert fingerprint([one, "m"]) == fingerprint([other, "m"])


def test_a_text_of_a_megabyte_counts_to_its_last_letter_and_is_cut_where_it_is_shown_only(tmp_path: Path) -> None:
    long = "x" * (1 << 20)
    rows = [{"service": "api", "failure_mode": long + last, "evidence": long} for last in "ab"]
    land_rows(rows, "one", FIELDS, tmp_path / "a.parquet")
    found = pq.read_table(tmp_path / "a.parquet").to_pylist()
    assert len({row["fp"] for row in found}) == 2
    assert {len(row["evidence"]) for row in found} == {1 << 20}
    assert len(cell(long)) == 160


def test_separators_in_fields_join_no_two_findings() -> None:
    pairs: list[list[Field]] = [["a|b", "c"], ["a", "b|c"], ["a,b", "c"], ["a", "b,c"], ['a","b', "c"], ["a", 'b","c']]
    assert len({identity(pair) for pair in pairs}) == len(pairs)


def test_types_that_drift_between_rounds_land_in_one_schema(tmp_path: Path) -> None:
    drifting: list[dict[str, Any]] = [
        {"service": "api", "failure_mode": "m", "title": "text", "line": 7, "extra": 1},
        {"service": 7, "failure_mode": True, "title": 7, "owner": ["ann"], "extra": {"a": [None]}},
        {"service": "api", "failure_mode": "m"},
    ]

    def columns(path: Path) -> tuple[str, ...]:
        return tuple(f"{field.name} {field.type}" for field in pq.read_schema(path))

    schemas = set()
    for number, row in enumerate(drifting):
        path = tmp_path / f"{number}.parquet"
        assert land_rows([row], "one", FIELDS, path).rows == 1
        schemas.add(columns(path))
    land_table(
        pa.table({"service": [1.5], "failure_mode": [b"m"], "line": ["7"]}), "one", FIELDS, tmp_path / "t.parquet"
    )
    schemas.add(columns(tmp_path / "t.parquet"))
    assert len(schemas) == 1


@pytest.mark.parametrize("text", ["10000-01-01", "2026-13-01", "2026-02-30", "yesterday", "2026-01-01T25:00:00"])
def test_an_instant_that_no_calendar_has_is_refused(text: str) -> None:
    with pytest.raises(DeclarationError, match="no instant"):
        instant(text)


def test_an_instant_without_a_zone_is_utc_and_every_other_one_is_turned_into_it() -> None:
    wanted = datetime(2026, 1, 31, 6, tzinfo=UTC)
    assert {instant(f"2026-01-31T{clock}") for clock in ("06:00:00", "06:00:00Z", "07:00:00+01:00")} == {wanted}


HOSTILE_NAMES = [
    *("", ".", "..", "../a", "a/b", "/etc", "a\0b", "-rf", "--home", "a b", "a\nb", "'; drop table seen;--"),
    *("{{7*7}}", "$(id)", "a" * 300, "caf\u00e9", "\u202ea", "*", "~", "%2e%2e", "a\\b", "<img src=x>"),
]


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_a_name_that_could_lead_elsewhere_is_no_name_of_anything(name: str) -> None:
    assert not SWEEP_NAME.fullmatch(name)
    assert not CAMPAIGN_ID.fullmatch(name)


@pytest.mark.parametrize("name", ["A", "Con", "a.b", "a-b", "1a", "_a"])
def test_names_of_sweeps_and_strategies_differ_by_more_than_their_case(name: str) -> None:
    assert not SWEEP_NAME.fullmatch(name)


@pytest.mark.parametrize(
    "text", ["\x1b[2J", "\x1b]8;;http://x\x07", "\rfoo", "a\nb", "\u202e", "\u200b", "\x9b2J", "\ud800"]
)
def test_whatever_could_steer_a_terminal_is_seen_and_does_nothing(text: str) -> None:
    shown = safe_text(text)
    assert shown.isprintable()
    assert shown != text


@pytest.mark.parametrize(
    "sql",
    [
        "drop table services",
        "insert into services values (1)",
        "copy services to 'x'",
        "attach 'x' as y",
        "set memory_limit = '1TB'",
        "install httpfs",
        "load httpfs",
        "pragma database_list",
        "call pragma_version()",
        "export database 'x'",
        "create table x as select 1",
        "select 1; select 2",
        "select * from read_text('/etc/passwd')",
        "select * from read_parquet('x')",
        "select * from glob('/**')",
        "select getenv('HOME')",
        "selct 1",
    ],
)
def test_sql_that_does_more_than_look_at_its_tables_is_refused(sql: str) -> None:
    with pytest.raises(Refused):
        check_query(sql)


def test_nothing_is_ever_unpickled() -> None:
    unpickle = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
    found = [
        f"{path.relative_to(PRODUCT)}: {name}"
        for path in PRODUCT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [*(each.name for each in node.names), getattr(node, "module", None) or ""]
        if name.partition(".")[0] in unpickle
    ]
    assert found == []
