"""Declaring services as strategies and judges: which addresses and headers are refused, and what is warned of."""

from pathlib import Path

import pytest

from drysweep_pipeline.declaration import errors, freeze_json, read_declaration, thaw_json
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.declaration.model import HttpJudge, HttpStrategy
from drysweep_pipeline.engine.repeats import by_chance, cuts_off, repeatable
from drysweep_pipeline.values import Usage

SWEEP = """type: drysweep_pipeline.Sweep
attributes:
  name: endpoints
  material: {{kind: files, path: files}}
  fingerprint: {{fields: [subject, kind]}}
  judge: {{kind: http, {judge}}}
  budget: {{rounds: 20, calls: 100}}
  strategies:
    - {{name: other, kind: sql, query: {{file: one.sql}}}}
    - {{name: mine, kind: http, {strategy}}}
"""
HERE = "url: 'https://lint.example/find'"
SENDS = {
    "rows.sql": "select path, text from files",
    "angled.sql": "select path from files where ends_with(path, $suffix)",
    "drawn.sql": "select path from files where hash(path, $seed) % 2 = 0",
    "first.sql": "select path from files order by path limit 10",
    "wrong.sql": "select path from file",
    "two.sql": "select 1; select 2",
}


def declared(folder: Path, strategy: str, judge: str = HERE) -> Path:
    (folder / "one.sql").write_text("select path as subject, 'k' as kind from files order by hash(path || $seed)")
    for name, text in SENDS.items():
        (folder / name).write_text(text)
    path = folder / "defs.yaml"
    path.write_text(SWEEP.format(strategy=strategy, judge=judge))
    return path


@pytest.mark.parametrize(
    ("declares", "key", "says"),
    [
        ("timeout_s: 5", "url", "'url' is missing"),
        ("url: lint.example", "url", "does not begin with https://"),
        ("url: 'ftp://lint.example/'", "url", "does not begin with https://"),
        ("url: 'https:///find'", "url", "names no host"),
        ("url: 'https://lint.example:99999/'", "url", "Port out of range"),
        ("url: 'https://lint.example/a b'", "url", "is no address"),
        ("url: 'https://lint.example/ü'", "url", "in ASCII"),
        ("url: 'https://{env.HOST}/'", "url", "an address is written out"),
        ("url: 'https://lint.example/{angle.k}'", "url", "an address is written out"),
        ("url: 'https://lint.example/#top'", "url", "has a fragment"),
        ("url: 'https://ann:hunter2@lint.example/'", "url", "holds a name or a password"),
        ("url: 'ssh://ann:hunter2@lint.example/'", "url", "does not begin with"),
        ("url: 'https://ann:hunter2@lint.example/a b'", "url", "is no address"),
        ("url: 'https://lint.example/?api_key=hunter2'", "url", "'api_key', which looks like a secret"),
        ("url: 'https://lint.example/?Access-Token=hunter2'", "url", "send it in a header"),
        ("url: 'http://lint.example/'", "url", "allow_plain_http: true"),
        ("url: 'http://localhost.evil.example/'", "url", "plain http to another machine"),
        ("url: 'http://10.0.0.1/'", "url", "plain http to another machine"),
        (f"{HERE}, headers: {{Authorization: Bearer hunter2}}", "headers.Authorization", "'Bearer {env.TOKEN}'"),
        (f"{HERE}, headers: {{authorization: hunter2}}", "headers.authorization", "a secret that is written down"),
        (f"{HERE}, headers: {{X-Api-Key: hunter2}}", "headers.X-Api-Key", "a secret that is written down"),
        (f"{HERE}, headers: {{Cookie: a=hunter2}}", "headers.Cookie", "a secret that is written down"),
        (f"{HERE}, headers: {{X-Team: Basic hunter2}}", "headers.X-Team", "a secret that is written down"),
        (f"{HERE}, headers: {{X-Team: '{{env.A-B}}'}}", "headers.X-Team", "is no placeholder of a header"),
        (f"{HERE}, headers: {{X-Team: '{{angle.k}}'}}", "headers.X-Team", "there is {env.NAME}"),
        (f"{HERE}, headers: {{X-Home: '{{env.DRYSWEEP_HOME}}'}}", "headers", "not passed on"),
        (f"{HERE}, headers: {{Host: other.example}}", "headers.Host", "drysweep writes it itself"),
        (f"{HERE}, headers: {{Content-Length: '7'}}", "headers.Content-Length", "drysweep writes it itself"),
        (f"{HERE}, headers: {{'X Team': a}}", "headers", "not the name of a header"),
        (f'{HERE}, headers: {{X-Team: "a\\r\\nX-Evil: b"}}', "headers.X-Team", "one line of plain ASCII"),
        (f"{HERE}, headers: {{X-Team: a, x-team: b}}", "headers", "is there twice"),
        (f"{HERE}, headers: {{X-Team: 7}}", "headers.X-Team", "text"),
        (f"{HERE}, retries: -1", "retries", "0 or more"),
        (f"{HERE}, retries: 11", "retries", "10"),
        (f"{HERE}, argv: [x]", "argv", "unknown key"),
        (f"{HERE}, verify: false", "verify", "unknown key"),
    ],
)
@pytest.mark.parametrize("who", ["strategy", "judge"])
def test_a_service_that_cannot_be_taken_as_written_is_refused_and_no_secret_is_repeated(
    tmp_path: Path, who: str, declares: str, key: str, says: str
) -> None:
    path = declared(tmp_path, declares) if who == "strategy" else declared(tmp_path, HERE, declares)
    above = "strategies[1]" if who == "strategy" else "judge"
    # What looks like a secret may be refused as one as well.
    found = errors(path)
    assert any((error.key or "").startswith(f"{above}.{key}") and says in str(error) for error in found)
    assert {error.line for error in found} == {10 if who == "strategy" else 6}
    assert not any("hunter2" in str(error) for error in found)


@pytest.mark.parametrize(
    "declares",
    [
        HERE,
        "url: 'http://localhost:8400/find?mode=fast'",
        "url: 'http://127.0.0.1/'",
        "url: 'http://[::1]:8400/'",
        "url: 'http://lint.example/', allow_plain_http: true",
        "url: 'https://[2001:db8::1]/find', ca_file: ca.pem, retries: 0",
        f"{HERE}, headers: {{Authorization: 'Bearer {{env.TOKEN}}', X-Team: platform}}",
        f"{HERE}, headers: {{Authorization: '{{env.KIND}} {{env.TOKEN}}', Accept-Language: en}}",
    ],
)
def test_a_service_is_frozen_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declares: str) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    path = declared(tmp_path, declares, declares)
    assert errors(path) == []
    declaration = read_declaration(path)
    assert thaw_json(freeze_json(declaration)) == declaration
    assert "hunter2" not in freeze_json(declaration)


def test_what_one_call_may_use_and_the_variables_it_needs_are_those_declared() -> None:
    headers = {"Authorization": "{env.KIND} {env.TOKEN}", "X-Again": "{env.TOKEN}"}
    at_most = {"calls": 3, "tokens": 100}
    strategy = HttpStrategy(name="a", kind="http", url="https://x.example", headers=headers, at_most=at_most)
    judge = HttpJudge(kind="http", url="https://x.example", headers=headers, at_most=at_most)
    for service in (strategy, judge):
        assert (service.worst, service.env) == (Usage(3, 100), ("KIND", "TOKEN"))


def test_a_variable_and_a_file_that_are_not_here_are_warned_of(tmp_path: Path) -> None:
    service = f"{HERE}, headers: {{Authorization: '{{env.NOBODY_SET_THIS}}'}}, ca_file: ca.pem"
    found = warnings(read_declaration(declared(tmp_path, service, service)))
    for who in ("The strategy 'mine'", "The judge"):
        assert any(each.startswith(f"{who} is to be given the variable NOBODY_SET_THIS") for each in found)
        assert any(each.startswith(f"{who} trusts the authorities in ca.pem, which is no file") for each in found)
    (tmp_path / "ca.pem").touch()
    assert "ca.pem" not in " ".join(warnings(read_declaration(declared(tmp_path, service, service))))


@pytest.mark.parametrize(
    ("declares", "chance", "again", "cut"),
    [
        (HERE, True, False, False),
        (f"{HERE}, deterministic: true", False, True, False),
        (f"{HERE}, deterministic: true, send: {{query: {{file: rows.sql}}}}", False, True, False),
        (f"{HERE}, deterministic: true, send: {{query: {{file: drawn.sql}}}}", True, True, False),
        (f"{HERE}, deterministic: true, send: {{query: {{file: first.sql}}}}", False, True, True),
    ],
)
def test_a_service_is_left_to_chance_unless_it_is_declared_not_to_be_and_is_sent_nothing_that_is(
    tmp_path: Path, declares: str, chance: bool, again: bool, cut: bool
) -> None:
    declaration = read_declaration(declared(tmp_path, declares))
    mine = declaration.sweep.strategies[1]
    assert (by_chance(mine), repeatable(mine), cuts_off(mine), mine.proves_absence) == (chance, again, cut, False)
    assert ("Nothing varies in the strategy 'mine'" not in " ".join(warnings(declaration))) is chance


def test_the_query_that_says_what_is_sent_is_checked_like_any_other(tmp_path: Path) -> None:
    def problems(file: str, more: str = "") -> list[str]:
        path = declared(tmp_path, f"{HERE}, send: {{query: {{file: {file}}}}}{more}")
        return [str(each) for each in sql_problems(read_declaration(path))]

    assert problems("rows.sql") == []
    assert problems("angled.sql", ", angles: [{suffix: .py}]") == []
    assert "no angle binds it" in problems("angled.sql")[0]
    assert "does not bind $suffix" in problems("angled.sql", ", angles: [{sufix: .py}]")[0]
    assert "Table with name file does not exist" in problems("wrong.sql")[0]
    assert "2 statements" in problems("two.sql")[0]
    [missing] = errors(declared(tmp_path, f"{HERE}, send: {{query: {{file: row.sql}}}}"))
    assert "did you mean 'rows.sql'?" in str(missing)
