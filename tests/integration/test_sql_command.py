"""What ``drysweep sql`` lets through, what it refuses, in which limits it keeps, and the forms it answers in."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.results import result, to_csv, to_parquet
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.history import query
from drysweep_pipeline.home import Home
from tests.story import tell
from tests.terminals import written_to

SMALL = """
why: A finding whose title is a formula, and one whose title drives a terminal.
budget: {rounds: 1}
campaigns:
  - as_of: 2026-01-01
    rounds:
      - finders: {a: [{subject: s1, kind: k, title: "=1+1"}, {subject: s2, kind: k, title: "a\\e[2Jb"}]}
    expect: {outcome: budget_exceeded, new: [2]}
"""
# Each is one way to a file, the network, the environment, the settings, the catalogue, or to writing.
REFUSED = """
select * from read_text('/etc/passwd')
select * from read_blob('/etc/passwd')
select * from glob('/etc/*')
select * from '/etc/passwd'
select * from 'x.csv'
select * from 'x.parquet'
select * from "x.json"
select * from 'https://example.org/x.csv'
select * from 's3://bucket/x.parquet'
select * from read_csv('/etc/passwd')
select * from read_csv_auto('/etc/passwd')
select * from read_json('/etc/passwd')
select * from read_json_objects('/etc/passwd')
select * from read_ndjson('/etc/passwd')
select * from read_parquet('/etc/passwd')
select * from read_duckdb('/etc/passwd')
select * from parquet_scan('/etc/passwd')
select * from parquet_metadata('/etc/passwd')
select * from parquet_schema('/etc/passwd')
select * from parquet_kv_metadata('/etc/passwd')
select * from sniff_csv('/etc/passwd')
select (select content from read_text('/etc/passwd'))
with x as (from read_text('/etc/passwd')) select * from findings, x
select * from (describe select * from read_csv('/etc/passwd'))
summarize '/etc/passwd'
describe "/etc/passwd"
show "../x.csv"
select getenv('HOME')
select current_setting('temp_directory')
select * from duckdb_settings()
select * from duckdb_secrets()
select * from which_secret('s3://x', 's3')
select * from duckdb_extensions()
select * from duckdb_databases()
select * from duckdb_logs
select * from pragma_version()
select * from pragma_database_list
select * from pragma_storage_info('published.sightings')
select * from pg_catalog.pg_settings
summarize pg_settings
describe pg_settings
show pg_settings
select * from (summarize pg_settings)
select * from (show pg_settings)
from histogram_values('pg_settings', 'setting')
from histogram('pg_settings', 'setting')
select * from query('select 1')
select * from query_table('findings')
select json_serialize_plan('select 1')
select * from json_execute_serialized_sql(json_serialize_sql('select 1'))
from seq_scan('findings')
from arrow_scan(1, 2, 3)
from pandas_scan(1)
from python_map_function()
from checkpoint()
from force_checkpoint()
from enable_logging()
from enable_profiling()
from truncate_duckdb_logs()
from add_grammar_extension('x')
from register_external_resource('a', 'b')
from test_all_types()
select write_log('x')
copy findings to '/tmp/x.csv'
copy (select 1) to '/dev/stdout'
copy findings from '/etc/passwd'
export database '/tmp/x'
import database '/tmp/x'
attach '/tmp/x.db'
attach ':memory:' as m
detach history
use memory
install httpfs
load httpfs
set threads = 1
set lock_configuration = false
set variable a = 1
reset threads
pragma threads = 1
pragma database_list
call pragma_version()
create table x as select 1
create temp table x as select 1
create or replace view findings as select 1
create macro m() as 1
create secret s (type s3)
insert into published.sweeps values ('x', now())
update published.sweeps set sweep = 'y'
delete from published.sweeps
drop view findings
alter table published.sweeps add column x int
truncate published.sweeps
vacuum
checkpoint
begin
prepare p as select 1
execute p
explain analyze select 1
select 1; select 2
select 1; drop view findings
from sql
from connection
from home
from pa
""".strip().splitlines()
ENDLESS = [
    "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t",
    "select count(*) from range(1000000000000)",
    "select sum(a.range * b.range) from range(10000000) a, range(10000000) b",
    "select count(*) from sightings a, range(100000000) b, range(100000000) c",
    "select levenshtein(repeat('a', 200000), repeat('b', 200000))",
]
OPEN = [
    "select count(*) from findings",
    "from findings limit 1",
    "table findings",
    "values (1)",
    "with x as (from findings) select * from x",
    "describe findings",
    "summarize findings",
    "show tables",
    "select table_name from information_schema.tables",
    "from findings_as_of('2026-01-01')",
    "select unnest(strategies) from findings",
    "from range(3)",
    "from json_each('[1]')",
    "select attributes ->> 'x' from findings",
    "select 1 -- ; drop view findings",
    "pivot findings on severity in ('major', 'minor') using count(*) group by status",
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return tell(tmp_path_factory.mktemp("sql"), "small", SMALL)


@pytest.mark.parametrize("sql", REFUSED)
def test_a_query_reaches_nothing_but_the_history_and_changes_nothing(sql: str, home: Home) -> None:
    with pytest.raises(Refused) as refused:
        query(home, sql)
    assert "root:" not in str(refused.value)


@pytest.mark.parametrize("sql", OPEN)
def test_what_only_reads_the_history_is_answered(sql: str, home: Home) -> None:
    assert query(home, sql).num_rows >= 0


@pytest.mark.parametrize("sql", ENDLESS)
def test_a_query_that_does_not_end_is_given_up_in_time(sql: str, home: Home) -> None:
    began = time.monotonic()
    with pytest.raises(Refused, match=r"still running after 0\.2 s"):
        query(home, sql, seconds=0.2)
    assert time.monotonic() - began < 120


@pytest.mark.parametrize("size", [400_000_000, 3_000_000_000])
def test_a_query_that_needs_more_memory_than_it_may_have_is_refused(size: int, home: Home) -> None:
    code = f"""
import resource
from pathlib import Path
from drysweep_pipeline.cli.memory import bounded
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.history import query
from drysweep_pipeline.home import Home
home = Home(Path({str(home.root)!r}))
query(home, "select 1")
before = resource.getrlimit(resource.RLIMIT_DATA)
try:
    with bounded(200 << 20):
        query(home, "select repeat('x', {size})")
except Refused as error:
    print(error.what)
assert resource.getrlimit(resource.RLIMIT_DATA) == before
# Of this program alone: what getrusage tells begins with the most that its parent ever had.
status = open("/proc/self/status").read()
print(int(status.partition("VmHWM:")[2].split()[0]) >> 10)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, check=True)
    said, most = done.stdout.splitlines()
    assert "emory" in said
    assert int(most) < 700


def test_ctrl_c_ends_a_query(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    def once_it_runs() -> None:
        while not any(thread.name == "deadline" for thread in threading.enumerate()):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    typing = threading.Thread(target=once_it_runs, daemon=True)
    typing.start()
    assert main(["sql", ENDLESS[0], "--home", str(home.root), "--seconds", "600"]) == 130
    typing.join()
    assert capsys.readouterr().err == "interrupted; a query changes nothing, so there is nothing to go on with\n"


def test_without_a_query_it_says_what_can_be_asked_a_name_at_a_time(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "--home", str(home.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    said = {line.split("  ")[1]: line for line in lines if line.startswith("  ") and not line.startswith("   ")}
    assert {"findings", "campaign_diff(a, b)", "published()", "fresh_per_round"} <= said.keys()
    assert said["late_tail"].endswith("Which findings came late, when most searches would have been called off?")
    assert max(len(line) for line in lines) <= 120
    assert (
        sum(
            line.endswith(tuple(f"drysweep sql {each}" for each in ("'from findings'", "fresh_per_round")))
            for line in lines
        )
        == 2
    )


@pytest.mark.parametrize(
    ("sql", "what", "help"),
    [
        ("from finding", "Table with name finding does not exist", "did you mean findings?"),
        ("from findings_asof('2026-01-01')", "findings_asof does not exist", "did you mean findings_as_of?"),
        ("from nothing_like_it", "does not exist", "`drysweep sql` alone says what there is"),
        ("select lable from findings", 'column "lable" not found', '"label"'),
        ("selec 1", "syntax error", ""),
        ("select 1; select 2", "2 statements", "exactly one SELECT"),
        ("select error('boom')", "boom", ""),
        ("from range(20)", "more than 10 rows", "--max-rows"),
    ],
)
def test_a_wrong_query_says_what_is_wrong_and_what_may_have_been_meant(
    sql: str, what: str, help: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", sql, "--home", str(home.root), "--max-rows", "10", "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert what in told["error"]
    assert help in (told["help"] or "")


VALUES = """
    select
        sum(rounds) as whole, cast(1.50 as decimal(5, 2)) as part, 1 / 3 as third, cast(null as integer) as nothing,
        true as yes, '' as empty, as_of, interval 3 days as span, [1, 2] as list, {'a': as_of} as nested,
        'x'::blob as bytes, uuid '00000000-0000-0000-0000-000000000001' as id, date '2026-01-02' as day, 1e-9 as tiny
    from campaigns group by as_of
"""


def asked(home: Home, *words: str) -> int:
    return main(["sql", *words, "--home", str(home.root)])


def test_json_has_numbers_as_numbers_and_times_in_utc(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(home, VALUES, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    when = "2026-01-01T00:00:00+00:00"
    [row] = told["rows"]
    assert row[:6] == [1, 1.5, 1 / 3, None, True, ""]
    assert row[6:10] == [when, "3 days", [1, 2], {"a": when}]
    assert row[10:] == ["78", "00000000-0000-0000-0000-000000000001", "2026-01-02", 1e-9]
    assert asked(home, "select 1 as a union all select 2 order by a", "--format", "jsonl") == 0
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [{"a": 1}, {"a": 2}]


def test_a_table_sets_numbers_to_the_right_and_shows_what_is_nothing(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(home, "select * from (values (1, 'a', 0.12345), (200, null, 1e-9)) t(n, s, f) order by n") == 0
    assert capsys.readouterr().out == "  n  s       f\n  1  a  0.1235\n200  -   1e-09\n"
    assert asked(home, "from findings where false") == 0
    assert capsys.readouterr().err == "0 rows\n"
    assert asked(home, "from range(25)") == 0
    assert capsys.readouterr().err == "25 rows\n"


def test_csv_holds_no_formula_unless_it_is_asked_for_raw(home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    sql = """select title as "=title", null as n, '' as e, -5 as m, strategies from findings order by label limit 1"""
    assert asked(home, sql, "--format", "csv") == 0
    assert capsys.readouterr().out == '\'=title,n,e,m,strategies\n\'=1+1,,"",-5,"[""a""]"\n'
    assert asked(home, sql, "--format", "csv", "--raw") == 0
    raw = capsys.readouterr().out
    assert raw.splitlines()[1].startswith("=1+1,")
    assert list(csv.reader(io.StringIO(raw)))[1] == ["=1+1", "", "", "-5", '["a"]']


def on_a_terminal(write: Any, found: Any) -> bytes:
    leader, follower = pty.openpty()
    try:
        with os.fdopen(follower, "wb") as out:
            write(found, out)
        return written_to(leader)
    finally:
        os.close(leader)


def test_csv_on_a_terminal_cannot_steer_it_and_parquet_is_refused_there(home: Home) -> None:
    found = result(query(home, "select title from findings where subject = 's2'"))
    shown = on_a_terminal(to_csv, found)
    assert b"\x1b" not in shown
    assert "a\u241b[2Jb".encode() in shown
    with pytest.raises(Refused, match="nothing to look at"):
        on_a_terminal(to_parquet, found)


def test_parquet_keeps_types_and_goes_to_a_file_or_down_a_pipe(
    home: Home, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert asked(home, VALUES, "--output", str(tmp_path / "a.parquet"), "--json") == 0
    told = json.loads(capsysbinary.readouterr().out)
    assert (told["output"], told["format"], told["rows"]) == (str(tmp_path / "a.parquet"), "parquet", 1)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.field("as_of").type == pa.timestamp("us", tz="UTC")
    assert table.schema.field("list").type == pa.list_(pa.int32())
    assert table.schema.field("day").type == pa.date32()
    assert table.column("span").to_pylist() == ["3 days"]
    assert asked(home, VALUES, "--format", "parquet") == 0
    assert pq.read_table(io.BytesIO(capsysbinary.readouterr().out)) == table


def test_a_file_is_whole_or_as_it_was(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")
    assert asked(home, "select 1 as a", "--output", str(path), "--format", "table") == 2
    assert asked(home, "select nothing", "--output", str(path)) == 2
    assert path.read_text() == "before"
    assert asked(home, "select 1 as a", "--output", str(path)) == 0
    assert path.read_text() == "a\n1\n"
    assert list(tmp_path.iterdir()) == [path]
    assert "wrote 1 row to" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--format", "xml"],
        ["--format", "csv", "--json"],
        ["--output", "rows"],
        ["--output", "rows.txt"],
        ["--output", "rows.csv", "--format", "table"],
        ["--output", "/nowhere/rows.csv"],
        ["--seconds", "-1"],
        ["--max-rows", "0"],
    ],
)
def test_a_form_that_cannot_be_is_refused(words: list[str], home: Home) -> None:
    assert asked(home, "select 1", *words) == 2
