"""Secrets in the material, in the environment and in what people say are nowhere under the home once a campaign ran."""

import contextlib
import io
import json
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from tests.finders import command, declared, function

AWS = "AKIA" + "Q7ZX4M2KD9WB5TJR"
GITHUB = "ghp_" + "x8Kd02mPq7Zt" * 3
BODY = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", "AgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4ha7", "fakefakefakefake=="]
KEY = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *BODY, "-----END RSA PRIVATE KEY-----"])
KNOWN = 'swordfish & "tuna"/42'
PASSWORD = "hunter2secret"
HALF = KNOWN[:9]
SECRETS = [HALF, AWS, GITHUB, *BODY[:2], "RSA PRIVATE KEY"]
SECRETS += [KNOWN, quote(KNOWN, safe=""), json.dumps(KNOWN)[1:-1], PASSWORD]
FIELDS = ("title", "evidence", "scope", "owner", "note", "path")

# Every setting that holds something, in every field; {each} is what makes a strategy's findings the same ones.
SQL = """
    select file as service, value as failure_mode, 'minor' as severity, value as title, value as evidence,
        'at ' || value as scope, value as owner, [value] as notes, {'inside': value} as part,
        value || '.yaml' as path
    from settings
    where key = 'holds'
"""
SQL_FAILS = "select file as service, cast(value as integer) as failure_mode from settings where key = 'holds'"
SQL_REFUSED = "select file as service, 'm' as failure_mode, value as severity from settings where key = 'holds'"
READ = """
import glob, pathlib
held = [
    (p, json.loads(pathlib.Path(p).read_text())["holds"])
    for p in sorted(glob.glob(os.environ["DRYSWEEP_MATERIAL"] + "/services/*.yaml"))
    if "broken" not in p
]
"""
COMMAND = (
    READ
    + """
for path, value in held:
    say(path, failure_mode=value, title=value, evidence=value, scope="at " + value, owner=value, note=value,
        path=value + ".yaml", deep={"list": [value], value: 1})
end(len(held))
"""
)
STEERS = "\x1b[2J\u202eno"
FAILS = READ + f"print('go on?', *[v for _, v in held], {STEERS!r}, sep='\\n', file=sys.stderr); sys.exit(3)"
FUNCTION = """
for row in material.query("select file, value from settings where key = 'holds' order by file"):
    yield {"service": row["file"], "failure_mode": row["value"], "title": row["value"], "evidence": row["value"],
           "scope": "at " + row["value"], "owner": row["value"], "note": row["value"]}
"""
RAISES = """
held = [row["value"] for row in material.query("select value from settings where key = 'holds'")]
raise ValueError("no good: " + " ".join(held))
yield
"""
# Where a text is made shorter, so that half a secret would be left of it, which is not known for one.
CUT = {
    "raises_long": 'raise ValueError("x" * 1960 + os.environ["API_TOKEN"])\nyield',
    "yields_a_line": 'yield "y" * 80 + os.environ["API_TOKEN"]',
    "gives_a_text": 'return "z" * 80 + os.environ["API_TOKEN"]',
}
JUDGE = """
import os
def rule(finding, material):
    held = [row["value"] for row in material.query("select value from settings where key = 'holds'")]
    if member_of(finding):
        return "confirmed", "r" * 1975 + os.environ["API_TOKEN"]
    return "confirmed", " ".join([*held, os.environ["API_TOKEN"]])
def member_of(finding):
    return "aws" in str(finding["path"]) or "aws" in str(finding["subject"])
"""


@dataclass(frozen=True)
class Ran:
    """A campaign after all that people did with it: its home, what was printed, where temporary files lay."""

    home: Home
    codes: list[int]
    printed: str
    scratch: Path


def said(*arguments: str) -> tuple[int, str]:
    """Run a command and return its exit code and all that it printed."""
    raw = io.BytesIO()
    # Reports are written as bytes, and go where text goes.
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(list(arguments))
    return code, raw.getvalue().decode()


def material(folder: Path) -> Path:
    services = folder / f"registry-{AWS}" / "services"
    services.mkdir(parents=True)
    for name, value in {"aws": AWS, "github": f"token {GITHUB}", "key": KEY, "known": KNOWN}.items():
        (services / f"{name}.yaml").write_text(json.dumps({"name": name, "holds": value}))
    url = f"postgres://app:{PASSWORD}@db/x"
    (services / "url.yaml").write_text(json.dumps({"name": "url", "holds": url}))
    (services / f"broken-{GITHUB}.yaml").write_bytes(b"a: [\xff")
    return services.parent


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    folder = tmp_path_factory.mktemp("redaction")
    home, scratch = Home(folder / "home"), folder / "scratch"
    scratch.mkdir()
    place = material(folder)
    for name, text in {"sees": SQL, "sees_not": SQL_FAILS, "refused": SQL_REFUSED}.items():
        (folder / f"{name}.sql").write_text(text)
    (folder / "judging.py").write_text(JUDGE)
    path = declared(
        folder,
        [
            *({"name": n, "kind": "sql", "query": {"file": f"{n}.sql"}} for n in ("sees", "sees_not", "refused")),
            command(folder, "prints", COMMAND),
            command(folder, "fails", FAILS, env=["API_TOKEN"]),
            function(folder, "yields", FUNCTION),
            function(folder, "raises", RAISES),
            *(function(folder, name, text, env=["API_TOKEN"]) for name, text in CUT.items()),
        ],
        material={"kind": "registry", "path": "{env.REGISTRY}", "map": {"services": "services/*.yaml"}},
        judge={"kind": "python", "call": "judging:rule", "env": ["API_TOKEN"]},
        budget={"rounds": 1, "calls": 200},
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("API_TOKEN", KNOWN)
        patched.setenv("REGISTRY", str(place))
        patched.setattr(tempfile, "tempdir", str(scratch))
        at = ("--home", str(home.root))
        codes, printed = [], []

        def also(*arguments: str) -> str:
            code, text = said(*arguments, *at)
            codes.append(code)
            printed.append(text)
            return text

        also("run", str(path), "--campaign", "c1")
        told = json.loads(also("findings", "list", "--json").splitlines()[0])
        fps = [row["fp"] for row in told["findings"]]
        why = ("--by", f"Ann {AWS}", "--reason", f"known: {KNOWN}")
        also("findings", "contest", fps[0], *why, "--evidence", f"https://ann:{PASSWORD}@host.example/{GITHUB}")
        also("findings", "contest", fps[1], *why, "--evidence", f"https://host.example/{AWS}", "--json")
        also("findings", "contest", f"no/{GITHUB}", *why, "--evidence", "https://host.example/x")
        also("stop", "c1", "--reason", KNOWN)
        also("status", "c1", "--json")
        also("report", "c1", "--format", "json")
        also("report", "c1", "--format", ",".join(FORMATS), "--rejected")
        also("sql", "from all_findings", "--json")
        also("sql", f"select cast('{GITHUB}' as integer)")
        also("sql", f"select {AWS}", "--json")
        yield Ran(home, codes, "\n".join(printed), scratch)


def texts_in(path: Path) -> Iterator[str]:
    """Yield what a file says: its bytes as text, and what only its own reader can tell."""
    content = path.read_bytes()
    yield content.decode("utf-8", "replace")
    if path.suffix == ".parquet":
        yield str(pq.read_table(path).to_pylist())
    elif path.suffix == ".duckdb":
        yield from in_duckdb(path)
    elif content.startswith(b"SQLite format 3"):
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            yield "\n".join(connection.iterdump())


def in_duckdb(path: Path) -> Iterator[str]:
    with duckdb.connect(str(path), read_only=True) as connection:
        tables = "select schema_name, table_name from duckdb_tables() where not internal"
        for schema, table in connection.execute(tables).fetchall():
            yield str(connection.execute(f'from "{schema}"."{table}"').fetchall())


def kept(home: Home) -> list[Path]:
    return sorted(p for p in home.root.rglob("*") if p.is_file() and "snapshots" not in p.parts)


def found_in(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def test_no_file_under_the_home_holds_a_secret_but_the_private_snapshots(ran: Ran) -> None:
    leaks = {str(p): found for p in kept(ran.home) if (found := found_in("\n".join(texts_in(p))))}
    assert leaks == {}
    kinds = {path.suffix for path in kept(ran.home)}
    assert {".parquet", ".duckdb", ".json", ".jsonl", ".md", ".db"} <= kinds
    snapshots = ran.home.sweep("small").snapshots
    assert stat.S_IMODE(snapshots.stat().st_mode) == 0o700
    assert any(found_in("\n".join(texts_in(p))) for p in snapshots.rglob("*.parquet")), "the material held them"


def test_nothing_that_was_printed_holds_a_secret(ran: Ran) -> None:
    assert found_in(ran.printed) == []
    assert ran.codes == [3, 0, 0, 0, 2, 2, 0, 0, 0, 0, 2, 2]


def test_nothing_that_steers_a_terminal_or_turns_a_line_around_is_shown(ran: Ran) -> None:
    assert STEERS in manifest(ran)["fails"]["reason"], "it is kept as it came"
    report = ran.home.sweep("small").report("c1", ".md").read_text()
    assert not {"\x1b", "\u202e"} & set(report)
    # JSON escapes what steers, and keeps what turns around, for programs to read.
    assert "\x1b" not in ran.printed
    events = "\n".join(text for p in kept(ran.home) if "dagster" in p.parts for text in texts_in(p))
    assert "␛[2J" in events or "\\u241b[2J" in events
    assert "\\u001b[2J" not in events
    assert "\x1b[2J" not in events


def test_nothing_is_left_where_temporary_copies_lay(ran: Ran) -> None:
    assert [p for p in ran.scratch.rglob("*") if p.is_file()] == []


def manifest(ran: Ran) -> dict[str, dict[str, Any]]:
    path = ran.home.sweep("small").landing("c1") / "r001" / "manifest.json"
    return {run["strategy"]: run for run in json.loads(path.read_text())["runs"]}


def test_reasons_keep_what_is_no_secret(ran: Ran) -> None:
    runs = manifest(ran)
    assert {name for name, run in runs.items() if run["status"] == "ok"} == {"sees", "prints", "yields"}
    for name in ("sees_not", "refused", "fails", "raises"):
        assert "[secret:" in runs[name]["reason"], runs[name]
    assert "exited with 3" in runs["fails"]["reason"]
    assert "ValueError: no good:" in runs["raises"]["reason"]


def test_a_secret_that_three_kinds_of_strategies_report_is_one_finding(ran: Ran) -> None:
    landed = {}
    for name, run in manifest(ran).items():
        if run["status"] == "ok":
            rows = pq.read_table(ran.home.sweep("small").landing("c1") / "r001" / run["file"]["name"]).to_pylist()
            landed[name] = {row["fp"]: row for row in rows}
    assert len(landed["sees"]) == 5
    assert set(landed["sees"]) == set(landed["prints"]) == set(landed["yields"])
    for fp, row in landed["sees"].items():
        for name in ("title", "evidence", "scope", "owner", "kind", "subject"):
            assert row[name] == landed["prints"][fp][name] == landed["yields"][fp][name]
            assert name == "subject" or "[secret:" in row[name]


def test_the_key_of_a_home_is_its_users_alone(ran: Ran) -> None:
    assert stat.S_IMODE(ran.home.redaction_key.stat().st_mode) == 0o600
    assert len(ran.home.redaction_key.read_bytes()) == 32


def test_what_leaves_a_step_of_dagster_is_masked_and_still_the_same_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / AWS
    empty.mkdir()
    monkeypatch.setenv("REGISTRY", str(empty))
    (tmp_path / "sees.sql").write_text(SQL)
    path = declared(
        tmp_path,
        [{"name": "sees", "kind": "sql", "query": {"file": "sees.sql"}}],
        material={"kind": "registry", "path": "{env.REGISTRY}", "map": {"services": "services/*.yaml"}},
    )
    home = Home(tmp_path / "home")
    code, printed = said("run", str(path), "--home", str(home.root))
    assert code == 2, printed
    assert "[secret" in printed
    assert found_in(printed) == []
    told = {str(p): "\n".join(texts_in(p)) for p in kept(home)}
    assert {name: found for name, text in told.items() if (found := found_in(text))} == {}
    assert any("MaterialError" in text for name, text in told.items() if name.endswith(".db"))
