"""Material of the kind ``tables``: what is read and how, what is not read and says so, and strategies over both."""

import gzip
import json
import os
import sqlite3
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.children.confinement import is_confining
from drysweep_pipeline.declaration import errors, read_declaration
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.declaration.model import TablesMaterial, TableSource
from drysweep_pipeline.engine.closings import Compared
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material import Snapshot, freeze, tabular
from drysweep_pipeline.redaction import Redactor, remember
from tests.finders import command, declared, function, rows, waved
from tests.real_data import real_data

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)
DAY = datetime(2026, 1, 2, tzinfo=UTC).date()


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def tables(declared: dict[str, Any], path: str = "r", **more: Any) -> TablesMaterial:
    return TablesMaterial.model_validate({"kind": "tables", "path": path, "tables": declared, **more})


def frozen(folder: Path, material: TablesMaterial) -> Snapshot:
    return freeze(material, folder, NOON, folder / "snapshots")


def asked(snapshot: Snapshot, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(snapshot.database), read_only=True) as connection:
        return connection.execute(query).fetchall()


def types(snapshot: Snapshot, table: str) -> dict[str, str]:
    return {name: kind for name, kind, *_ in asked(snapshot, f'describe "{table}"')}


def database(path: Path, *statements: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect(str(path)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def sqlite(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


PEOPLE = {"born": "DATE", "seen": "TIMESTAMPTZ", "ok": "BOOLEAN"}


@pytest.fixture(scope="module")
def every_kind(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """One snapshot of a table of every kind that is read."""
    home = tmp_path_factory.mktemp("kinds")
    folder = written(
        home / "r",
        {
            "people.csv": '\ufeffid,name,version,hash,born,seen,ok\r\n007,"a\nb",1.1,12e34,2026-01-02,'
            "2026-01-02T03:04:05+02:00,true\r\n8,,1.10,1234,2025-01-01,2026-01-02 03:04,FALSE\r\n",
            "tabs.tsv": "a\tb\n1\t2.5\n2\t3\n",
            "odd.txt": "a;b\n'1';x\n",
            "lines.jsonl": '{"a": 1, "b": [1, "x"], "n": 12345678901234567890123, "m": 1, "i": 1}\n'
            '{"a": 2.5, "c": "x", "m": 1.0, "i": 7.0}\n{"m": "x", "w": 8080, "r": 0.5}\n',
            "blank.csv": "\na\nx\n\ny\n",
            "tokens.jsonl.gz": gzip.compress(b'["p.py", 3, ["x", "y"]]\n["q.py", 4, []]\n'),
            "list.json": '[{"a": null},\n {"a": 7}]',
            "order.ndjson": '{"a": 1}\n',
            "parts/1.csv": "a,b\n1,x\n",
            "parts/2.csv": "a,b\ny,z\n",
        },
    )
    sqlite(
        folder / "mesh.db",
        "create table nodes (id text, load); insert into nodes values ('a', 1), ('b', 'high'); create table none (x);"
        "create table plain (id, load); insert into plain values ('a', 1), (null, 2);",
    )
    database(
        folder / "duck.db",
        "create table t as select 170141183460469231731687303715884105727::hugeint h, timestamp '2026-01-02' at_, "
        "{'a': 1} s, interval 1 day i, 1.50::decimal(5, 2) d, timestamp_ns '2026-01-02 00:00:00.123456789' ns, "
        "{'a': timestamp_ns '2026-01-02 00:00:00.123456789'} sns, union_value(u := 1)::union(u int, v varchar) un, "
        "[timetz '12:00:00+01'] zoned",
    )
    wide = pa.array(["x", "x"]).dictionary_encode()
    pq.write_table(pa.table({"a": [1, 2], "w": wide, "none": pa.nulls(2)}), folder / "p.parquet")
    nanoseconds = pa.array([1, 2], pa.timestamp("ns"))
    digits = pa.array([Decimal(10**45), Decimal(10**45 + 1)], pa.decimal256(50, 0))
    few = pa.array([Decimal("1.50"), Decimal("1.51")], pa.decimal256(5, 2))
    whole = pa.array([0, 1000], pa.timestamp("ns"))
    pq.write_table(pa.table({"ns": nanoseconds, "digits": digits, "few": few, "whole": whole}), folder / "wide.parquet")
    material = tables(
        {
            "people": "people.csv",
            "typed": {"file": "people.csv", "columns": PEOPLE},
            "tabs": {"file": "tabs.tsv", "columns": {"a": "BIGINT", "b": "DOUBLE"}},
            "blank": "blank.csv",
            "odd": {"file": "odd.txt", "format": "csv", "delimiter": ";"},
            "lines": {"file": "lines.jsonl", "columns": {"a": "DOUBLE", "n": "VARCHAR", "m": "VARCHAR", "i": "BIGINT"}},
            "tokens": {"file": "tokens.jsonl.gz", "columns": {"path": "VARCHAR", "line": "BIGINT", "w": "VARCHAR[]"}},
            "list": "list.json",
            "order": {"file": "order.ndjson", "columns": {"a": "DOUBLE"}},
            "parts": "parts/*.csv",
            "nodes": {"file": "mesh.db", "table": "nodes", "columns": {"load": "VARCHAR"}},
            "plain": {"file": "mesh.db", "table": "plain"},
            "nobody": {"file": "mesh.db", "table": "none"},
            "duck": {"file": "duck.db", "table": "t"},
            "parquet": "p.parquet",
            "wide": {"file": "wide.parquet", "columns": {"whole": "TIMESTAMPTZ"}},
        }
    )
    return frozen(home, material)


def test_everything_that_is_declared_is_a_table_under_its_name(every_kind: Snapshot) -> None:
    assert every_kind.unreadable() == []
    assert len(every_kind.tables) == 16
    assert dict(every_kind.tables)["people"] == 2
    assert asked(every_kind, "select path, text from files where path like 'p%'") == [
        ("p.parquet", None),
        ("parts/1.csv", None),
        ("parts/2.csv", None),
        ("people.csv", None),
    ]
    assert asked(every_kind, "select count(*) from settings") == [(0,)]


def test_delimited_text_is_text_and_what_is_declared_for_it(every_kind: Snapshot) -> None:
    # Neither 007 and 7 nor the versions 1.1 and 1.10 are one, and a hash is no number.
    assert set(types(every_kind, "people").values()) == {"VARCHAR"}
    assert asked(every_kind, "select id, name, version, ok from people") == [
        ("007", "a\nb", "1.1", "true"),
        ("8", None, "1.10", "FALSE"),
    ]
    declared = {"born": "DATE", "seen": "TIMESTAMP WITH TIME ZONE", "ok": "BOOLEAN"}
    assert types(every_kind, "typed") == {**dict.fromkeys(("id", "name", "version", "hash"), "VARCHAR"), **declared}
    assert asked(every_kind, "select born, ok from typed") == [(DAY, True), (DAY.replace(2025, 1, 1), False)]
    # A time without a zone is UTC.
    assert asked(every_kind, "select cast(epoch(seen) as bigint) % 86400 from typed") == [(3845,), (11040,)]
    assert asked(every_kind, "from tabs") == [(1, 2.5), (2, 3.0)]
    assert asked(every_kind, "from odd") == [("'1'", "x")]


def test_an_empty_line_is_a_row_where_there_is_one_column(every_kind: Snapshot) -> None:
    assert asked(every_kind, "from blank") == [("x",), (None,), ("y",)]


def test_values_of_json_and_sqlite_keep_their_types_and_what_differs_is_as_declared(every_kind: Snapshot) -> None:
    assert types(every_kind, "lines") == {
        **{"a": "DOUBLE", "n": "VARCHAR", "m": "VARCHAR", "i": "BIGINT", "b": "VARCHAR", "c": "VARCHAR"},
        **{"w": "BIGINT", "r": "DOUBLE"},
    }
    assert asked(every_kind, "from lines") == [
        (1.0, "12345678901234567890123", "1", 1, '[1, "x"]', None, None, None),
        (2.5, None, "1.0", 7, None, "x", None, None),
        (None, None, "x", None, None, None, 8080, 0.5),
    ]
    assert asked(every_kind, "from tokens") == [("p.py", 3, ["x", "y"]), ("q.py", 4, [])]
    assert asked(every_kind, 'from "list"') == [(None,), (7,)]
    assert asked(every_kind, 'from "order"') == [(1.0,)]
    assert asked(every_kind, "from nodes") == [("a", "1"), ("b", "high")]
    assert asked(every_kind, "from plain") == [("a", 1), (None, 2)]
    assert asked(every_kind, "from nobody") == []


def test_what_a_snapshot_has_no_type_for_is_text(every_kind: Snapshot) -> None:
    assert types(every_kind, "duck") == {
        "h": "VARCHAR",
        "at_": "TIMESTAMP WITH TIME ZONE",
        "s": "STRUCT(a INTEGER)",
        "i": "VARCHAR",
        "d": "DECIMAL(5,2)",
        "ns": "VARCHAR",
        "sns": "VARCHAR",
        "un": "VARCHAR",
        "zoned": "VARCHAR",
    }
    nanoseconds = "2026-01-02 00:00:00.123456789"
    told = (nanoseconds, f'{{"a":"{nanoseconds}"}}', '{"u":1}', '["12:00:00+01"]')
    assert asked(every_kind, "select ns, sns, un, zoned from duck") == [told]
    assert asked(every_kind, "select h from duck") == [("170141183460469231731687303715884105727",)]
    assert asked(every_kind, "from parquet") == [(1, "x", None), (2, "x", None)]
    assert asked(every_kind, "select ns, digits, few, cast(epoch_us(whole) as bigint) from wide") == [
        ("1970-01-01 00:00:00.000000001", str(10**45), Decimal("1.50"), 0),
        ("1970-01-01 00:00:00.000000002", str(10**45 + 1), Decimal("1.51"), 1),
    ]


def test_files_that_a_pattern_names_are_one_table(every_kind: Snapshot) -> None:
    assert asked(every_kind, "from parts") == [("1", "x"), ("y", "z")]


def of(kind: str, format: str | None = None) -> dict[str, Any]:
    return {"columns": {"a": kind}, "format": format}


UNREAD: dict[str, tuple[str | bytes, dict[str, Any], str]] = {
    "ragged.csv": ("a,b\n1,2\n3\n", {}, "line 3: 1 fields, and the header has 2"),
    "longer.csv": ("a,b\n1,2,3\n", {}, "line 2: 3 fields, and the header has 2"),
    "quote.csv": ('a,b\n1,"2\n', {}, "line 2: unexpected end of data"),
    "quoted.csv": ('a,b\n1,"2"3\n', {}, "line 2: ',' expected after"),
    "empty.csv": ("", {}, "has no header"),
    "twice.csv": ("a,A\n1,2\n", {}, "two columns are called 'A'"),
    "nameless.csv": ("a,\n1,2\n", {}, "column 2 has no name"),
    "wide.csv": ("a,b\n1,2\n".encode("utf-16"), {}, "not UTF-8, after line 0"),
    "latin.csv": (b"a\n" + b"x" * 100_000 + b"\ncaf\xe9\n", {}, "not UTF-8, after line 1"),
    "typed.csv": ("a,line\nx,1\ny,1.5\n", {"columns": {"line": "BIGINT"}}, 'row 2: line is "1.5", which is no BIGINT'),
    "columns.csv": ("a\n1\n", {"columns": {"b": "DATE"}}, "no column 'b': there is a"),
    "twice.jsonl": ('{"a": 1}\n{"a": 1, "a": 2}\n', {}, 'line 2: the key "a" is there twice'),
    "cut.jsonl": ('{"a": 1}\n{"a"', {}, "line 2, column 5: not JSON"),
    "nan.jsonl": ('{"a": NaN}\n', {}, "line 1: NaN is no number"),
    "deep.jsonl": ("[" * 100_000 + "\n", {}, "line 1: a value of more than 64 levels"),
    "list.jsonl": ("[1]\n", {}, "line 1: is a list, whose values have no names"),
    "short.jsonl": ("[1]\n", {"columns": {"a": "BIGINT", "b": "BIGINT"}}, "line 1: 1 values for 2 declared columns"),
    "empty.jsonl": ("", {}, "holds no row, so that its columns are not known"),
    "text.parquet": ("PAR1", {}, "Parquet"),
    "torn.jsonl.gz": (gzip.compress(b'{"a": 1}\n')[:-4], {}, "cannot be unpacked"),
    "bomb.jsonl.gz": (gzip.compress(b" " * 5_000_000), {}, "more than max_bytes (300500) bytes, once unpacked"),
    "large.csv": ("a\n" + "x" * 300_500, {}, "300502 bytes, more than max_bytes (300500)"),
    "rows.csv": ("a\n" + "1\n" * 1_001, {}, "more than max_rows (1000) rows"),
    "other.db": ("x" * 100, {"table": "t"}, "is neither a SQLite nor a DuckDB database"),
    # What would make two of them one, round them, or make all of them others for the sake of one.
    "kinds.jsonl": ('{"a": 1}\n{"a": 2.5}\n', {}, "'a' holds whole numbers (row 1) and numbers with a point"),
    "texts.jsonl": ('{"a": 1}\n{"a": "1"}\n', {}, "'a' holds whole numbers (row 1) and text (row 2)"),
    "huge.jsonl": ('{"a": 9223372036854775808}\n', {}, "'a' holds whole numbers of more than 64 bits (row 1)"),
    "same.jsonl": (
        '{"a": 1}\n{"a": "1"}\n',
        of("VARCHAR"),
        'row 2: a is the text "1", which in another row is no text',
    ),
    "true.jsonl": ('{"a": "true"}\n{"a": true}\n', of("VARCHAR"), 'row 1: a is the text "true", which in'),
    "digits.jsonl": ('{"a": 9007199254740993.0}\n', {}, "line 1: 9007199254740993.0 says more than a number can hold"),
    "wide.jsonl": ('{"a": 9007199254740993}\n', of("DOUBLE"), 'row 1: a is "9007199254740993", which is no DOUBLE'),
    "point.jsonl": ('{"a": 1}\n{"a": 1.5}\n', of("BIGINT"), "row 2: a is 1.5, which is no BIGINT"),
    "mixed.jsonl": ('{"a": 0.5}\n{"a": 9007199254740993}\n', of("DOUBLE"), "row 2: a is 9007199254740993, which is no"),
    "bit.jsonl": ('{"a": 1}\n{"a": 2}\n', of("BOOLEAN"), 'row 1: a is "1", which is no BOOLEAN'),
    "bits.jsonl": ('{"a": true}\n', of("BIGINT"), 'row 1: a is "true", which is no BIGINT'),
    "half.jsonl": ('{"a": [1]}\n{"a": [1.5]}\n', of("BIGINT[]"), 'row 2: a is "[1.5]", which is no BIGINT[]'),
    "items.jsonl": ('{"a": ["1"]}\n{"a": [1]}\n', of("VARCHAR[]"), 'row 2: a is "[1]", which is no VARCHAR[]'),
    "wide.csv2": (
        "a\n1\n9007199254740993\n",
        of("DOUBLE", "csv"),
        'row 2: a is "9007199254740993", which is no DOUBLE',
    ),
    "zeros.csv": ("a\n1.1\n1.10\n", of("DOUBLE"), 'a holds "1.1" and "1.10", which would be the same DOUBLE'),
    "padded.csv": ("a\n7\n007\n", of("BIGINT"), 'row 2: a is "007", which is no BIGINT'),
    "cases.csv": ("a\ntrue\nTrue\n", of("BOOLEAN"), 'a holds "True" and "true", which would be the same BOOLEAN'),
    "time.csv": ("a\n2026-01-01\n2026-01-01 12:00\n", of("DATE"), 'row 2: a is "2026-01-01 12:00", which is no DATE'),
    "fine.csv": ("a\n2026-01-01T00:00:00.1234567\n", of("TIMESTAMPTZ"), "which is no TIMESTAMPTZ"),
    "missing.csv": ("", {"file": "nowhere.csv"}, "there is no such file"),
}


@pytest.fixture(scope="module")
def nothing_read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Why each file of a material of which little can be read was not read, by the declared name."""
    home = tmp_path_factory.mktemp("unread")
    folder = written(home / "r", {name: content for name, (content, _, _) in UNREAD.items()})
    (folder / "link.csv").symlink_to("/etc/passwd")
    written(folder, {"good.csv": "a\n1\n", "mix/1.csv": "a\n1\n", "mix/2.csv": "b\n1\n"})
    sqlite(folder / "lite.db", "create table t (a);")
    written(folder, {"lite.db-wal": "x"})
    database(folder / "duck.db", "create view spy as select * from read_csv('/etc/passwd', sep = ':', header = false)")
    # As many rows as no file of that size can hold.
    pq.write_table(pa.table({"a": pa.repeat("x", 1_000_000)}), folder / "rows.parquet")
    declared: dict[str, Any] = {
        f"t{number}": {"file": name, **more} for number, (name, (_, more, _)) in enumerate(UNREAD.items())
    }
    others = {"link": "link.csv", "mixed": "mix/*.csv", "good": "good.csv", "rows": "rows.parquet"}
    spy = {"spy": {"file": "duck.db", "table": "spy"}, "busy": {"file": "lite.db", "table": "t"}}
    gone = {"gone": {"file": "good.csv", "format": "csv", "columns": {"b": "BIGINT"}}}
    material = tables({**declared, **others, **spy, **gone}, max_bytes=300_500, max_rows=1_000)
    snapshot = frozen(home, material)
    assert snapshot.tables == (("good", 1),)
    assert asked(snapshot, "select table_name from duckdb_tables() order by 1") == [
        ("files",),
        ("good",),
        ("settings",),
        ("unreadable",),
    ]
    return dict(snapshot.unreadable())


@pytest.mark.parametrize("name", UNREAD)
def test_a_file_that_cannot_be_read_as_its_table_is_listed_with_the_reason(
    nothing_read: dict[str, str], name: str
) -> None:
    _, more, why = UNREAD[name]
    assert why in nothing_read[more.get("file", name)]


def test_links_mixed_columns_and_files_being_written_are_listed_too(nothing_read: dict[str, str]) -> None:
    assert nothing_read["link.csv"] == "a link, not followed"
    assert "its files have different columns: a; others: b" in nothing_read["mix/*.csv"]
    assert "lite.db-wal lies beside it: somebody is writing to it" in nothing_read["lite.db"]
    assert "1000000 rows, more than max_rows (1000)" in nothing_read["rows.parquet"]
    assert "no column 'b'" in nothing_read["good.csv"]


def test_of_a_secret_in_a_value_that_does_not_fit_no_half_is_told(tmp_path: Path) -> None:
    secret = "swordfish-and-tuna"
    twice = "{" + ", ".join([f'"{"z" * 50}{secret}": 1'] * 2) + "}\n"
    remember("here", Redactor([secret], mode="mask"))
    written(tmp_path / "r", {"a.csv": "a\n" + "z" * 50 + f"{secret}\n", "b.jsonl": twice})
    declared = {"a": {"file": "a.csv", **of("BIGINT")}, "b": "b.jsonl"}
    unread = dict(frozen(tmp_path, tables(declared, allow_empty=True)).unreadable())
    one, other = unread["a.csv"], unread["b.jsonl"]
    assert "which is no BIGINT" in one
    assert "is there twice" in other
    assert "swordf" not in one + other


def test_a_view_in_a_database_reaches_no_file(nothing_read: dict[str, str]) -> None:
    assert "file system operations are disabled" in nothing_read["duck.db"]


def test_a_file_that_unpacks_to_more_than_there_is_room_for_refuses_the_campaign(tmp_path: Path) -> None:
    # One text of a megabyte, named a hundred thousand times: a small file, and a hundred gigabytes.
    value = pa.array(["x" * (1 << 20)])
    indices = pa.array([0] * 100_000, pa.int32())
    bomb = pa.table({"a": pa.DictionaryArray.from_arrays(indices, value)})
    (tmp_path / "r").mkdir()
    pq.write_table(bomb, tmp_path / "r" / "bomb.parquet")
    assert (tmp_path / "r" / "bomb.parquet").stat().st_size < 5_000_000
    with pytest.raises(MaterialError, match="the table bomb was not read"):
        frozen(tmp_path, tables({"bomb": "bomb.parquet"}))


@pytest.mark.skipif(not is_confining(), reason="this kernel has no Landlock")
def test_the_child_that_reads_reaches_nothing_but_its_copies(tmp_path: Path) -> None:
    folder = written(tmp_path / "r", {"a.csv": "a\n1\n"})
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    out.mkdir()
    scratch.mkdir()
    source = TableSource(file="a.csv", format="csv")
    given = [tabular.task("t", source, [folder / "a.csv"], 10, 100)]
    with pytest.raises(MaterialError, match=r"the table t was not read: .*Permission denied"):
        tabular.read_files(given, out, scratch, 60)


def test_reading_that_takes_too_long_refuses_the_campaign_and_leaves_no_snapshot(tmp_path: Path) -> None:
    written(tmp_path / "r", {"a.csv": "a\n1\n"})
    with pytest.raises(MaterialError, match=r"the table a was not read: timeout"):
        frozen(tmp_path, tables({"a": "a.csv"}, timeout_s=0.001))
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_the_same_bytes_read_alike_are_one_snapshot_and_one_byte_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path / "r", {"a.csv": "a,b\n1,2\n", "beside.txt": "x"})
    first = frozen(tmp_path, tables({"t": "a.csv"}))
    os.utime(folder / "a.csv", (0, 0))
    written(folder, {"beside.txt": "y"})
    with monkeypatch.context() as patch:
        patch.setattr(tabular, "read_files", None)
        assert frozen(tmp_path, tables({"t": "a.csv"}, allow_empty=True, timeout_s=5)) == first
    other = frozen(tmp_path, tables({"t": {"file": "a.csv", "delimiter": ";"}}))
    written(folder, {"a.csv": "a,b\n1,3\n"})
    changed = frozen(tmp_path, tables({"t": "a.csv"}))
    assert len({first.digest, other.digest, changed.digest}) == 3
    assert len(list((tmp_path / "snapshots").iterdir())) == 3


@pytest.mark.parametrize("path", ["r", "r/a.db"])
def test_what_was_written_to_a_database_and_not_yet_into_its_file_is_no_unchanged_material(
    tmp_path: Path, path: str
) -> None:
    whole = tables({"t": {"file": "a.db" if path == "r" else "", "table": "t"}}, path, allow_empty=True)
    writer = sqlite3.connect(sqlite(tmp_path / "r" / "a.db", "create table t (a); insert into t values (1);"))
    writer.execute("pragma journal_mode = wal")
    first = frozen(tmp_path, whole)
    assert first.tables == (("t", 1),)
    writer.execute("insert into t values (2)")
    writer.commit()
    between = frozen(tmp_path, whole)
    assert between.tables == ()
    assert between.unreadable() == [("a.db", "a.db-wal lies beside it: somebody is writing to it")]
    writer.close()
    after = frozen(tmp_path, whole)
    assert (after.tables, after.unreadable()) == ((("t", 2),), [])
    assert len({first.digest, between.digest, after.digest}) == 3


def test_a_database_that_somebody_begins_to_write_to_while_it_is_frozen_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite(tmp_path / "r" / "a.db", "create table t (a); insert into t values (1);")
    whole = tabular.list_sources

    def list_then_write(*args: Any) -> Any:
        listing = whole(*args)
        written(tmp_path / "r", {"a.db-journal": "x"})
        return listing

    monkeypatch.setattr("drysweep_pipeline.material.snapshot.list_sources", list_then_write)
    with pytest.raises(MaterialError, match=r"changed while it was being frozen: a\.db-journal lies beside it"):
        frozen(tmp_path, tables({"t": {"file": "a.db", "table": "t"}}))
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_a_file_that_changes_while_it_is_frozen_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / "r", {"a.csv": "a\n1\n"})
    whole = tabular.list_files

    def list_then_change(*args: Any, **more: Any) -> Any:
        listing = whole(*args, **more)
        written(folder, {"a.csv": "a\n2\n"})
        return listing

    monkeypatch.setattr(tabular, "list_files", list_then_change)
    with pytest.raises(MaterialError, match="changed while it was being frozen"):
        frozen(tmp_path, tables({"t": "a.csv"}))


def test_tables_without_a_row_are_refused_unless_allowed(tmp_path: Path) -> None:
    written(tmp_path / "r", {"a.csv": "a\n"})
    with pytest.raises(MaterialError, match="holds no row in any table"):
        frozen(tmp_path, tables({"t": "a.csv"}))
    assert frozen(tmp_path, tables({"t": "a.csv"}, allow_empty=True)).tables == (("t", 0),)
    written(tmp_path / "r", {"a.csv": ""})
    with pytest.raises(MaterialError, match=r"no row .*not read: a.csv: table t: has no header"):
        frozen(tmp_path, tables({"t": "a.csv"}))


def test_path_may_be_the_one_file(tmp_path: Path) -> None:
    sqlite(tmp_path / "mesh.db", "create table nodes (id); insert into nodes values (1); create table e (a, b);")
    declared = {"nodes": {"table": "nodes"}, "edges": {"table": "e"}}
    assert frozen(tmp_path, tables(declared, path="mesh.db")).tables == (("edges", 0), ("nodes", 1))
    with pytest.raises(MaterialError, match=r"tables.nodes: names a file, and path is one already"):
        frozen(tmp_path, tables({"nodes": "mesh.db"}, path="mesh.db"))
    with pytest.raises(MaterialError, match="does not say which table of the database"):
        frozen(tmp_path, tables({"nodes": {}}, path="mesh.db"))
    written(tmp_path, {"data.bin": ""})
    with pytest.raises(MaterialError, match=r"'data\.bin' does not say what it holds"):
        frozen(tmp_path, tables({"t": "data.bin"}, path="."))


@pytest.mark.parametrize(
    ("declared_tables", "says"),
    [
        ({}, "tables"),
        ({"Bad": "a.csv"}, "'Bad' is no name of a table"),
        ({"files": "a.csv"}, "the name 'files' is taken"),
        ({"findings": "a.csv"}, "the name 'findings' is taken"),
        ({"t": "../a.csv"}, "lies outside the material"),
        ({"t": {"file": "../a.csv"}}, "lies outside the material"),
        ({"t": {"file": "a.csv", "column": {}}}, "unknown key 'column'"),
        ({"t": {"file": "a.csv", "columns": {"a": "BIGNT"}}}, "BIGINT"),
    ],
)
def test_tables_that_cannot_be_are_refused_when_the_sweep_is_read(
    tmp_path: Path, declared_tables: dict[str, Any], says: str
) -> None:
    material = {"kind": "tables", "path": "r", "tables": declared_tables}
    path = declared(tmp_path, [command(tmp_path, "one", "end(0)")], material=material)
    found = errors(path)
    assert len(found) == 1
    assert says in str(found[0])
    assert "tables" in str(found[0].key)


NODES = {
    "kind": "tables",
    "path": "data",
    "tables": {"nodes": "nodes.csv", "edges": {"file": "edges.jsonl"}},
}
SQL = "select id as service, 'down' as failure_mode from nodes where state = 'down'"


def test_every_kind_of_strategy_searches_tables_and_only_those_over_what_was_read_run(tmp_path: Path) -> None:
    written(tmp_path / "data", {"nodes.csv": "id,state\na,up\nb,down\n", "edges.jsonl": "{"})
    (tmp_path / "found.sql").write_text(SQL)
    (tmp_path / "lost.sql").write_text("select source as service, 'x' as failure_mode from edges")
    body = "for row in material.query(\"from nodes where state = 'down'\"):\n"
    body += "    yield {'service': row['id'], 'failure_mode': 'm'}"
    says = """
import pyarrow.parquet as pq
nodes = pq.read_table(os.path.join(os.environ["DRYSWEEP_MATERIAL"], "nodes.parquet")).to_pylist()
for node in nodes:
    if node["state"] == "down":
        say(node["id"])
end(1)
"""
    strategies = [
        {"name": "sql", "kind": "sql", "query": {"file": "found.sql"}},
        {"name": "lost", "kind": "sql", "query": {"file": "lost.sql"}},
        {"name": "needing", "kind": "sql", "query": {"file": "found.sql"}, "needs": ["edges.jsonl"]},
        function(tmp_path, "function", body),
        command(tmp_path, "program", says, needs=["nodes.csv"]),
    ]
    campaign, runs = waved(tmp_path, strategies, material=NODES)
    for name in ("sql", "function", "program"):
        assert runs[name].reason is None
        assert [row["subject"] for row in rows(campaign, runs[name])] == ["b"]
    assert runs["lost"].status == runs["needing"].status == "not_run"
    assert "Table with name edges does not exist" in str(runs["lost"].reason)
    assert "(not read: edges.jsonl: table edges: line 1, column 2: not JSON" in str(runs["lost"].reason)
    assert "needs edges.jsonl, which is unreadable: table edges: line 1" in str(runs["needing"].reason)


def test_sql_over_tables_is_no_error_before_their_columns_are_known(tmp_path: Path) -> None:
    (tmp_path / "found.sql").write_text(SQL)
    strategies = [{"name": "sql", "kind": "sql", "query": {"file": "found.sql"}}]
    assert sql_problems(read_declaration(declared(tmp_path, strategies, material=NODES))) == []


def test_a_table_that_lost_its_rows_hides_what_was_in_it(tmp_path: Path) -> None:
    material = tables({"a": "a.csv", "b": "b.csv"}, allow_empty=True)
    folder = written(tmp_path / "r", {"a.csv": "x\n" + "1\n" * 10, "b.csv": "x\n1\n2\n3\n"})
    then = frozen(tmp_path, material)
    written(folder, {"a.csv": "x\n1\n", "b.csv": "x\n1\n2\n"})
    assert Compared(then, frozen(tmp_path, material), material).hidden() == ["a (lost most of its rows)"]
    written(folder, {"a.csv": "x\n" + "1\n" * 9, "b.csv": ""})
    assert Compared(then, frozen(tmp_path, material), material).hidden() == ["b (not read)"]


@pytest.mark.soak
def test_a_real_index_of_code_is_tables(tmp_path: Path) -> None:
    folder = real_data("certbot_six")
    columns = {"path": "VARCHAR", "line": "BIGINT", "tokens": "VARCHAR[]"}
    material = tables(
        {
            "truth": {"file": "truth.csv", "columns": {"line": "BIGINT"}},
            "imports": "imports.csv",
            "tokens": {"file": "line_tokens.jsonl.gz", "columns": columns},
            "commits": "commits.jsonl.gz",
            "about": "meta.json",
        },
        path=str(folder),
    )
    snapshot = frozen(tmp_path, material)
    assert snapshot.unreadable() == []
    assert asked(snapshot, "select count(*), count(distinct path) from truth") == [(192, 70)]
    assert types(snapshot, "truth")["line_sha1_12"] == "VARCHAR"
    known = "select count(*) from truth join tokens using (path, line) where list_contains(tokens, 'six')"
    assert asked(snapshot, known) == [(56,)]
    assert types(snapshot, "about")["stages"] == "VARCHAR"
    assert json.loads(asked(snapshot, "select stages from about")[0][0])
