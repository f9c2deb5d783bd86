"""Rows of the snapshot for who cannot read it: whole and visible, or refused; never cut, never more than allowed."""

import json
from pathlib import Path

import duckdb
import pytest

from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Query, Send
from drysweep_pipeline.errors import FinderError, RowsRefused
from drysweep_pipeline.finders.sent import Sent, as_json, sent


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sent") / "snapshot.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("create table files as select 'f' || i as path, i as bytes from range(10) t(i)")
    return path


def asked(database: Path | None, sql: str, seconds: float = 200, **declared: int) -> Sent:
    send = Send(query=Query(file="rows.sql", text=sql), **declared)
    return sent(send, database, {"page": 1, "seed": 7}, seconds, Children())


def test_rows_are_sent_as_values_and_as_lines_of_json_with_what_the_query_names_bound(database: Path) -> None:
    found = asked(database, "select path, bytes from files order by path limit 2 offset 2 * $page")
    assert found.rows == [{"path": "f2", "bytes": 2}, {"path": "f3", "bytes": 3}]
    assert [json.loads(line) for line in found.lines] == found.rows
    assert found.characters == sum(len(line) + 1 for line in found.lines)


@pytest.mark.parametrize(
    ("sql", "caps", "says"),
    [
        ("select * from files", {"max_rows_sent": 9}, "more than 9 rows"),
        ("select * from files", {"max_chars": 40}, "more than 40 characters"),
        ("select 'nan'::double as x", {}, "cannot be sent as JSON"),
        ("select 1; select 2", {}, "2 statements"),
        ("select * from read_text('/etc/passwd')", {}, "not allowed"),
    ],
)
def test_what_cannot_be_sent_whole_is_refused_and_asking_again_would_not_help(
    database: Path, sql: str, caps: dict[str, int], says: str
) -> None:
    with pytest.raises(RowsRefused, match=says):
        asked(database, sql, **caps)


def test_no_rows_are_sent_only_where_there_may_be_none(database: Path) -> None:
    with pytest.raises(RowsRefused, match=r"rows\.sql gives no rows to send: nobody was asked"):
        asked(database, "select path from files where path = 'renamed'")
    assert asked(database, "select path from files where path = 'renamed'", allow_empty=True).rows == []


def test_a_query_that_fails_or_hangs_or_has_nothing_to_read_is_a_failure(database: Path) -> None:
    with pytest.raises(FinderError, match=r"rows\.sql: Binder Error"):
        asked(database, "select nothing from files")
    with pytest.raises(FinderError) as hangs:
        asked(database, "select sum(a.i * b.i) from range(1000000) a(i), range(1000000) b(i)", seconds=0.2)
    assert hangs.value.status == "timeout"
    with pytest.raises(FinderError, match="no tables"):
        asked(None, "select 1")


@pytest.mark.parametrize("text", ["a\u200bb", "a\u202eb", "a\U000e0041b", "a\x1b[2Jb", "a\nb", "a\x85b", "\ufeffa"])
def test_nothing_that_is_sent_is_invisible_and_all_of_it_is_there(text: str) -> None:
    written = as_json({"text": text})
    assert written.isprintable()
    assert json.loads(written) == {"text": text}
