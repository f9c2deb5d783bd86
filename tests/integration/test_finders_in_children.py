"""Strategies in child processes, in the waves and rounds of real campaigns: what they find, and how they fail."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from drysweep_pipeline.children.program import environment
from drysweep_pipeline.engine import churn, deeds
from drysweep_pipeline.engine.journal import budget_of, standing
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import read_manifest
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.material.copy import Copy
from drysweep_pipeline.reports.summary import summary
from tests.finders import command, declared, function, rows, waved
from tests.repositories import commit, needs_git, repository
from tests.sweeps import begin, registry, run_to_its_end, steps

FIELDS = {"fields": ["service", "failure_mode"]}


@pytest.fixture(autouse=True)
def _material(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})


# What a program does, its status, what its reason says, how many rows of it are kept, and how often it was tried.
COMMANDS: dict[str, tuple[str, str, str, int, int]] = {
    "finds": ("say(); say('db'); end(2)", "ok", "", 2, 1),
    "nothing": ("end(0)", "ok", "", 0, 1),
    "silent": ("pass", "failed", "without the mark", 0, 2),
    "unmarked": ("say()", "failed", "without the mark", 1, 2),
    "miscounts": ("say(); end(2)", "failed", "counts 2 findings, and 1 were printed", 1, 2),
    "goes_on": ("say(); end(1); say('db')", "failed", "follows the mark", 1, 2),
    "exits": (
        "say(); end(1); print('it broke', file=sys.stderr); sys.exit(3)",
        "failed",
        "exited with 3: it broke",
        1,
        2,
    ),
    "raises": ("say(); raise LookupError('no such rule')", "failed", "LookupError: no such rule", 1, 2),
    "dies": ("say(); os.kill(os.getpid(), 11)", "failed", "died of SIGSEGV", 1, 2),
    "torn": (
        'say(); sys.stdout.write(\'{"service": "d\'); sys.stdout.flush(); os.kill(os.getpid(), 9)',
        "failed",
        "SIGKILL",
        1,
        2,
    ),
    "garbage": ("say(); print('Scanning ...'); end(2)", "refused", "row 2: line 2, column 1", 1, 1),
    "html": ("print('<html>'); print('502'); print('</html>')", "failed", "without the mark", 0, 2),
    "marks_wrongly": ("end(0, usage={'calls': -1})", "failed", "the usage of -1 calls cannot be", 0, 2),
    "claims": ("say(strategy='other'); say('db'); end(2)", "refused", "strategy: not accepted from a finder", 1, 1),
    "claims_fp": (
        "say(fingerprint='x'); say('db', verdict='confirmed'); say('web'); end(3)",
        "refused",
        "2 rows refused",
        1,
        1,
    ),
    "claims_state": ("say(state='fixed', round=3); say('db'); end(2)", "refused", "not accepted", 1, 1),
    "lacks": ("say(None); say(' '); say('db'); end(3)", "refused", "missing_field: service", 1, 1),
    "nested": ("say(['api']); say({'a': 1}); say('db'); end(3)", "refused", "nested_field: service", 1, 1),
    "severe": ("say(severity='critical'); say('db'); end(2)", "refused", "bad_severity: critical", 1, 1),
    "misspelt": ("say(Severity='nit'); say('db'); end(2)", "refused", "did you mean 'severity'", 1, 1),
    "no_line": (
        "say(line=True); say(line=2**70); say(line='x'); say(line=7); end(4)",
        "refused",
        "3 rows refused",
        1,
        1,
    ),
    "twice": ('say(); print(\'{"service": "a", "service": "b"}\'); end(2)', "refused", "is there twice", 1, 1),
    "many": ("[say(str(i)) for i in range(9)]; end(9)", "truncated", "more than 5 rows", 5, 1),
    "deep": ("print('{\"a\": ' + '[' * 100000); end(1)", "truncated", "levels", 0, 1),
    "long_line": ("say('x' * 5_000_000); end(1)", "truncated", "a line of more than", 0, 1),
    "floods": ("sys.stderr.write('x' * 3_000_000); say(); end(1)", "ok", "", 1, 1),
    "reads_nothing": ("os.close(0); say(); end(1)", "ok", "", 1, 1),
    "leaves": ("os.system('sleep 600 & sleep 600 &'); say(); end(1)", "ok", "", 1, 1),
    "repeats": ("[say() for i in range(1000)]; end(1000)", "ok", "", 1000, 1),
}
OPTIONS: dict[str, dict[str, Any]] = {"many": {"max_rows": 5}}


def test_a_program_is_taken_at_its_word_only_where_it_says_that_this_is_all(tmp_path: Path) -> None:
    strategies = [command(tmp_path, name, case[0], **OPTIONS.get(name, {})) for name, case in COMMANDS.items()]
    campaign, runs = waved(tmp_path, strategies)
    for name, (says, status, why, kept, tries) in COMMANDS.items():
        run = runs[name]
        assert run.attempts[-1].status == status, (says, run)
        assert (run.status == "ok") is (status == "ok"), says
        assert why in (run.reason or ""), (says, run.reason)
        assert (len(rows(campaign, run)), len(run.attempts)) == (kept, tries), (says, run)
    assert budget_of(campaign, 1).used.calls == sum(case[4] for case in COMMANDS.values())


API = "yield {'service': 'api', 'failure_mode': 'm'}"
# The same for functions.
FUNCTIONS: dict[str, tuple[str, str, str, int, int]] = {
    "finds": ("yield {'service': 'api', 'failure_mode': 'm'}", "ok", "", 1, 1),
    "lists": (
        "return [{'service': 'api', 'failure_mode': 'm', 'seen': __import__('datetime').date(2026, 1, 2)}]",
        "ok",
        "",
        1,
        1,
    ),
    "nothing": ("return ()", "ok", "", 0, 1),
    "forgets": ("pass", "failed", "TypeError: returned None", 0, 2),
    "one": ("return {'service': 'api', 'failure_mode': 'm'}", "failed", "TypeError: returned {", 0, 2),
    "text": ("return 'api'", "failed", "TypeError: returned 'api'", 0, 2),
    "raises": (
        "yield {'service': 'api', 'failure_mode': 'm'}\nraise LookupError('no rule')",
        "failed",
        "LookupError: no rule (raises.py:",
        1,
        2,
    ),
    "exits": ("yield {'service': 'api', 'failure_mode': 'm'}\nsys.exit(0)", "failed", "SystemExit: 0", 1, 2),
    "exits_hard": ("yield {'service': 'api', 'failure_mode': 'm'}\nos._exit(0)", "failed", "without the mark", 1, 2),
    "killed": (
        "yield {'service': 'api', 'failure_mode': 'm'}\nos.kill(os.getpid(), 9)",
        "failed",
        "died of SIGKILL",
        1,
        2,
    ),
    "endless": ("while True: yield {'service': 'api', 'failure_mode': 'm'}", "truncated", "more than 50 rows", 50, 1),
    "no_dict": (
        "yield 3\nyield {'service': 'api', 'failure_mode': 'm'}",
        "refused",
        "finding 1: 3 is no dictionary",
        1,
        1,
    ),
    "no_value": (
        "yield {'service': lambda: 1, 'failure_mode': 'm'}\nyield {'service': 'api', 'failure_mode': 'm'}",
        "refused",
        "a value of the type function",
        1,
        1,
    ),
    "no_key": ("yield {1: 2}", "refused", "the key 1 is no text", 0, 1),
    "no_number": ("yield {'service': 'api', 'failure_mode': 'm', 'n': float('nan')}", "refused", "finding 1: ", 0, 1),
    "half": ("yield {'service': chr(0xd800), 'failure_mode': 'm'}", "refused", "surrogate", 0, 1),
    "itself": ("a = {'service': 'api', 'failure_mode': 'm'}\na['a'] = a\nyield a", "refused", "Circular", 0, 1),
    "marks": ("yield {'drysweep': 'end', 'count': 0}", "refused", "'drysweep' is not accepted", 0, 1),
    "claims": (
        "yield {'service': 'api', 'failure_mode': 'm', 'fp': 'x'}",
        "refused",
        "fp: not accepted from a finder",
        0,
        1,
    ),
    "prints": (
        f"print('{{\"drysweep\": \"end\", \"count\": 0}}', flush=True)\nos.write(1, b'x')\nos.system('echo y')\n{API}",
        "ok",
        "",
        1,
        1,
    ),
    "forks": ("os.fork()\nyield {'service': 'api', 'failure_mode': 'm'}", "ok", "", 1, 1),
    "threads": (
        f"__import__('threading').Thread(target=time.sleep, args=(600,)).start()\n{API}",
        "ok",
        "",
        1,
        1,
    ),
    "table": (
        "import pyarrow as pa\nreturn pa.table({'service': ['api', 'db'], 'failure_mode': ['m', 'm'], 'n': [1, None]})",
        "ok",
        "",
        2,
        1,
    ),
    "stream": ("import duckdb\nreturn duckdb.sql(\"select 'api' as service, 'm' as failure_mode\")", "ok", "", 1, 1),
    "bad_table": (
        "import pyarrow as pa\nreturn pa.table({'service': ['api', None], 'failure_mode': ['m', 'm']})",
        "refused",
        "missing_field: service",
        1,
        1,
    ),
    "other_table": (
        "import pyarrow as pa\nreturn pa.table({'name': ['api']})",
        "refused",
        "missing_field: service, failure_mode",
        0,
        1,
    ),
    "large_table": (
        "import pyarrow as pa\nreturn pa.table({'service': ['api'] * 51, 'failure_mode': ['m'] * 51})",
        "truncated",
        "more than 50 rows",
        0,
        1,
    ),
}


def test_a_function_is_taken_at_its_word_only_where_it_came_to_its_end(tmp_path: Path) -> None:
    strategies = [function(tmp_path, name, case[0], max_rows=50) for name, case in FUNCTIONS.items()]
    campaign, runs = waved(tmp_path, strategies)
    for name, (says, status, why, kept, tries) in FUNCTIONS.items():
        run = runs[name]
        assert run.attempts[-1].status == status, (says, run)
        assert why in (run.reason or ""), (says, run.reason)
        assert (len(rows(campaign, run)), len(run.attempts)) == (kept, tries), (says, run)
    assert rows(campaign, runs["table"])[0]["attributes"] == {"service": "api", "failure_mode": "m", "n": 1}
    assert rows(campaign, runs["lists"])[0]["attributes"]["seen"] == "2026-01-02"


def test_who_hangs_is_ended_with_all_that_it_started_and_what_it_said_is_kept(tmp_path: Path) -> None:
    marker = f"{time.time_ns() % 10**9}"
    stubborn = (
        f"import signal; signal.signal(15, signal.SIG_IGN); say(); os.system('sleep 6{marker} &'); time.sleep(600)"
    )
    hangs = "yield {'service': 'api', 'failure_mode': 'm'}\ntime.sleep(600)"
    strategies = [
        command(tmp_path, "stubborn", stubborn, timeout_s=4),
        function(tmp_path, "hangs", hangs, timeout_s=4),
    ]
    campaign, runs = waved(tmp_path, strategies)
    for run in runs.values():
        assert [attempt.status for attempt in run.attempts] == ["timeout", "timeout"]
        assert "still running after 4 s" in (run.reason or "")
        assert len(rows(campaign, run)) == 1
    left = [each for each in psutil.process_iter(["cmdline"]) if f"6{marker}" in (each.info["cmdline"] or [])]
    assert left == []


def test_a_second_attempt_adds_to_what_the_first_had_found_before_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that it may leave a note about its first attempt.
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    gone = tmp_path / "was_here"
    says = f"""
if not os.path.exists({str(gone)!r}):
    open({str(gone)!r}, "w").close()
    say('api'); say('db'); print('torn'); sys.exit(1)
say('db'); say('web'); end(2)
"""
    campaign, runs = waved(tmp_path, [command(tmp_path, "one", says)])
    assert (runs["one"].status, [attempt.status for attempt in runs["one"].attempts]) == ("ok", ["failed", "ok"])
    assert [row["subject"] for row in rows(campaign, runs["one"])] == ["api", "db", "web"]


def test_a_program_is_told_its_task_by_all_three_ways_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "not yours")
    monkeypatch.setenv("TOKEN", "yours")
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    says = """
known = {k: v for k, v in os.environ.items() if k.startswith(("DRYSWEEP_", "DAGSTER_")) or k in ("SECRET", "TOKEN")}
say(told=json.load(sys.stdin), known=known, argv=sys.argv, cwd=os.getcwd(), home=os.environ["HOME"])
end(1, usage={"calls": 2, "tokens": 30, "cost_usd": 0.25})
"""
    angle = {"k": "a b", "n": 1.5, "flag": True, "rules": "rules.toml"}
    mine = command(tmp_path, "mine", says, env=["TOKEN"], angles=[angle])
    (tmp_path / "rules.toml").touch()
    mine["argv"] += ["{material}/x", "{angle.k}", "{angle.n}{angle.flag}", "{seed}", "{campaign}/{round}", "{}"]
    mine["argv"] += ["rules.toml", "--config={angle.rules}", "registry", "registry/services"]
    campaign, runs = waved(tmp_path, [mine])
    [row] = rows(campaign, runs["mine"])
    said = row["attributes"]
    told, seed = said["told"], runs["mine"].seed
    copy = told.pop("material")
    assert told == {
        "sweep": "small",
        "campaign": campaign.id,
        "round": 1,
        "strategy": "mine",
        "angle": angle,
        "seed": seed,
    }
    assert said["known"] == {
        "DRYSWEEP_SWEEP": "small",
        "DRYSWEEP_CAMPAIGN": campaign.id,
        "DRYSWEEP_ROUND": "1",
        "DRYSWEEP_STRATEGY": "mine",
        "DRYSWEEP_ANGLE": json.dumps(angle),
        "DRYSWEEP_SEED": str(seed),
        "DRYSWEEP_MATERIAL": copy,
        "TOKEN": "yours",
    }
    beside = str(tmp_path / "rules.toml")
    assert said["argv"][1:] == [
        f"{copy}/x",
        "a b",
        "1.5true",
        str(seed),
        f"{campaign.id}/1",
        "{}",
        beside,
        f"--config={beside}",
        "registry",
        str(tmp_path / "registry" / "services"),
    ]
    assert said["cwd"] == said["home"] != str(tmp_path)
    assert not Path(copy).exists()
    assert not Path(said["cwd"]).exists()
    spent = runs["mine"].usage
    assert (spent.calls, spent.tokens, spent.cost_usd) == (2, 30, 0.25)


def test_no_child_is_handed_a_way_to_the_ledger(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    look = f"home = {home!r}\nhow = repr((dict(os.environ), os.getcwd(), sys.argv, "
    strategies = [
        command(tmp_path, "program", f"{look} json.load(sys.stdin)))\nsay(leaks=home in how)\nend(1)"),
        function(
            tmp_path,
            "call",
            f"{look} vars(material), str(material.path), angle))\n"
            "at = '/proc/self/fd/'\n"
            "files = [os.readlink(at + n) for n in os.listdir(at) if os.path.exists(at + n)]\n"
            "yield {'service': 'api', 'failure_mode': 'm', 'leaks': home in how or home in repr(files)}",
        ),
    ]
    campaign, runs = waved(tmp_path, strategies)
    assert [rows(campaign, run)[0]["attributes"]["leaks"] for run in runs.values()] == [False, False]


def test_the_copy_of_the_material_is_the_snapshot_and_not_what_lies_there_now(tmp_path: Path) -> None:
    (tmp_path / "registry" / "picture.bin").write_bytes(b"\0\xff")
    (tmp_path / "registry" / "ends.txt").write_bytes("é\r\nb".encode())
    looks = """
root = sys.argv[1]
found = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)
text = open(os.path.join(root, "ends.txt"), "rb").read().decode()
say(path=os.path.join(root, "ends.txt"), found=found, text=text, mode=oct(os.stat(root).st_mode)[-3:])
end(1)
"""
    mine = command(tmp_path, "mine", looks)
    mine["argv"].append("{material}")
    body = "yield {'service': 'api', 'failure_mode': 'm', 'text': (material.path / 'ends.txt').read_bytes().decode()}"
    path = declared(tmp_path, [mine, function(tmp_path, "call", body)], fingerprint=FIELDS)
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    (tmp_path / "registry" / "ends.txt").write_text("moved on")
    (tmp_path / "registry" / "new.txt").write_text("new")
    steps(campaign, 2)
    manifest = read_manifest(campaign.folder(2))
    assert manifest is not None
    runs = {run.strategy: run for run in manifest.runs}
    [row] = rows(campaign, runs["mine"], 2)
    said = row["attributes"]
    assert said["found"] == ["ends.txt", "services/api.yaml", "services/db.yaml", "services/web.yaml"]
    assert (said["text"], said["mode"], row["path"]) == ("é\r\nb", "500", "ends.txt")
    [row] = rows(campaign, runs["call"], 2)
    assert row["attributes"]["text"] == "é\r\nb"


def test_who_changes_the_copy_of_the_material_did_not_search_it(tmp_path: Path) -> None:
    says = """
os.chmod(sys.argv[1], 0o700)
open(os.path.join(sys.argv[1], "planted.py"), "w").close()
say(); end(1)
"""
    mine = command(tmp_path, "mine", says)
    mine["argv"].append("{material}")
    table = f"path = material._database\nos.chmod(path, 0o600)\nopen(path, 'ab').write(b'x')\n{API}"
    _, runs = waved(tmp_path, [mine, function(tmp_path, "call", table)])
    for run in runs.values():
        assert (run.status, run.file) == ("not_run", None)
        assert "was changed while it was searched" in (run.reason or "")


def test_a_copy_is_made_once_and_anew_after_it_was_changed(tmp_path: Path) -> None:
    campaign, _ = waved(tmp_path, [command(tmp_path, "one", "end(0)")])
    planned = read_plan(campaign, 1)
    assert planned is not None
    with Copy(campaign.home.snapshots / planned.snapshot) as copy:
        first = copy.files()
        assert first is not None
        assert copy.files() == first
        copy.check(first)
        (first / "services" / "api.yaml").chmod(0o600)
        with pytest.raises(Exception, match="was changed"):
            copy.check(first)
        second = copy.files()
        assert second is not None
        assert second != first
        copy.check(second)
    assert not first.exists()
    assert not second.exists()


def test_a_strategy_that_needs_a_binary_file_is_not_run_rather_than_blind_to_it(tmp_path: Path) -> None:
    (tmp_path / "registry" / "logo.png").write_bytes(b"\0\xff")
    strategies = [
        command(tmp_path, "needs", "end(0)", needs=["*.png"]),
        command(tmp_path, "does_not", "end(0)", needs=["services/*"]),
    ]
    _, runs = waved(tmp_path, strategies)
    assert runs["needs"].reason == "needs logo.png, which is binary: only text is in the copy of the material"
    assert runs["does_not"].status == "ok"


def test_the_seed_of_a_function_is_that_of_its_place_in_the_order(tmp_path: Path) -> None:
    body = "import random\nyield {'service': 'api', 'failure_mode': 'm', 'n': [rng.random(), random.random()]}"
    campaign, runs = waved(tmp_path, [function(tmp_path, "one", body), function(tmp_path, "two", body)])
    for run in runs.values():
        expected = random.Random(run.seed).random()
        assert rows(campaign, run)[0]["attributes"]["n"] == [expected, expected]


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = {"name": "missing", "kind": "command", "argv": ["no-such-linter"]}
    module = {"name": "module", "kind": "python", "call": "nowhere:find"}
    broken = function(tmp_path, "broken", "return 3 +")
    other = {**function(tmp_path, "other", "return []"), "call": "other:search"}
    _, runs = waved(tmp_path, [missing, module, broken, other])
    assert "no-such-linter cannot be started: No such file" in (runs["missing"].reason or "")
    assert "nowhere:find cannot be called: ModuleNotFoundError" in (runs["module"].reason or "")
    assert "broken:find cannot be called: SyntaxError" in (runs["broken"].reason or "")
    assert "other:search cannot be called: AttributeError" in (runs["other"].reason or "")


LOG = (
    "place = {'physicalLocation': {'artifactLocation': {'uri': 'a.py'}}}; "
    "result = {'ruleId': 'm', 'message': {'text': 't'}, 'locations': [place]}; "
    "print(json.dumps({'version': '2.1.0', 'runs': [{'results': [result]%s}]}))"
)
LOGS: dict[str, tuple[str, dict[str, Any], str, str, int]] = {
    "well": (LOG % ", 'invocations': [{'executionSuccessful': True}]", {}, "ok", "", 1),
    "exit_one": (
        LOG % ", 'invocations': [{'executionSuccessful': True}]" + "; sys.exit(1)",
        {"ok_exit_codes": [0, 1]},
        "ok",
        "",
        1,
    ),
    "exit_two": (
        LOG % ", 'invocations': [{'executionSuccessful': True}]" + "; sys.exit(2)",
        {"ok_exit_codes": [0, 1]},
        "failed",
        "exited with 2",
        0,
    ),
    "bare": (LOG % "", {}, "failed", "without invocations", 1),
    "allowed": (LOG % "", {"allow_bare": True}, "ok", "", 1),
    "failed": (
        LOG % ", 'invocations': [{'executionSuccessful': False}]",
        {"allow_bare": True},
        "failed",
        "was not successful",
        1,
    ),
    "silent": ("pass", {"allow_bare": True}, "failed", "printed no SARIF log", 0),
    "older": ('print(\'{"version": "1.0.0", "runs": []}\')', {}, "refused", "of version", 0),
    "too_many": (
        LOG.replace("[result]", "[result] * 9") % "",
        {"allow_bare": True, "max_rows": 5},
        "truncated",
        "more than 5 rows",
        5,
    ),
}


def test_a_program_may_print_a_sarif_log(tmp_path: Path) -> None:
    strategies = [command(tmp_path, name, case[0], format="sarif", **case[1]) for name, case in LOGS.items()]
    campaign, runs = waved(tmp_path, strategies, fingerprint={"fields": ["path", "kind"]})
    for name, (says, _, status, why, kept) in LOGS.items():
        assert runs[name].attempts[-1].status == status, (says, runs[name])
        assert why in (runs[name].reason or ""), (says, runs[name].reason)
        assert len(rows(campaign, runs[name])) == kept, (says, runs[name])
    assert len(runs["older"].attempts) == 1


def test_rounds_of_finders_in_children_converge_and_a_round_that_one_missed_is_not_quiet(tmp_path: Path) -> None:
    says = """
told = json.load(sys.stdin)
say('api'); say('db') if told["round"] > 1 else None
if told["round"] != 3: end(1 + (told["round"] > 1))
"""
    body = """
sql = "select service from services anti join (from labels where key = ?) using (service)"
for row in material.query(sql, "owner"):
    yield {"service": row["service"], "failure_mode": "no_owner"}
"""
    strategies = [command(tmp_path, "program", says), function(tmp_path, "call", body)]
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(declared(tmp_path, strategies), home))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["new"], told["repeats"]) == ("converged", [3, 1, 0, 0, 0], 0)
    assert [(event["name"], event["round"]) for event in told["events"]] == [("finder_not_run", 3)]
    assert told["calls"] == 2 * 5 + 1


@pytest.mark.parametrize("deterministic", [False, True])
def test_rounds_are_repeats_only_where_a_finder_is_declared_deterministic(tmp_path: Path, deterministic: bool) -> None:
    home = Home(tmp_path / "home")
    mine = command(tmp_path, "mine", "say(); end(1)", deterministic=deterministic)
    campaign = run_to_its_end(begin(declared(tmp_path, [mine]), home))
    assert summary(home, "small", campaign.id)["repeats"] == (2 if deterministic else 0)


@pytest.mark.parametrize(
    ("declares", "state"),
    [
        ({}, "open"),
        ({"deterministic": True}, "open"),
        ({"proves_absence": True}, "open"),
        ({"deterministic": True, "proves_absence": True}, "fixed"),
    ],
)
def test_what_a_child_no_longer_sees_is_fixed_only_where_all_that_it_takes_is_declared(
    tmp_path: Path, declares: dict[str, Any], state: str
) -> None:
    home = Home(tmp_path / "home")
    body = """
for row in material.table("services"):
    if "owner" not in material.text(row["path"]):
        yield {"service": row["service"], "failure_mode": "m"}
"""
    path = declared(tmp_path, [function(tmp_path, "mine", body, **declares)], fixed_by="evidence")
    run_to_its_end(begin(path, home))
    registry(tmp_path / "registry", {"api": "team"})
    second = run_to_its_end(begin(path, home, as_of=datetime(2026, 2, 1, tzinfo=UTC)))
    with history(home) as connection:
        found = connection.execute("select state from findings where subject = 'api'").fetchall()
    assert found == [(state,)]
    assert standing(second).due is None


LENGTH = """
for file in material.table("files"):
    lines = len((file["text"] or "").splitlines())
    if not 3 <= lines <= 8:
        kind = "too_long" if lines > 8 else "too_short"
        yield {"subject": file["path"], "scope": file["path"], "path": file["path"], "kind": kind}
"""


@needs_git
@pytest.mark.parametrize("deterministic", [False, True])
def test_a_revert_test_is_made_only_with_who_finds_the_same_again(tmp_path: Path, deterministic: bool) -> None:
    docs = repository(tmp_path / "docs", {"guide.md": "x\n" * 9})
    path = declared(
        tmp_path,
        [function(tmp_path, "length", LENGTH, deterministic=deterministic)],
        material={"kind": "files", "path": "docs"},
        fingerprint={"fields": ["subject", "kind"]},
        convergence={"rule": "clean", "k": 2},
    )
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    commit(docs, {"guide.md": "x\n"})
    deeds.act(campaign, [deeds.Asked("guide.md/too_long", Deed(Act.FIX, "ann"))])
    steps(campaign, 2)
    found = churn.read(campaign, 2)
    assert found is not None
    [test] = found.tests
    assert test.answer == ("resolves" if deterministic else "untested")
    assert deterministic or "length is not declared deterministic" in test.reason
    assert budget_of(campaign, 2).used.calls == (2 if deterministic else 1)


STEPS = """
import sys
from pathlib import Path
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay.pipeline import steps
steps(load(Home(Path(sys.argv[1])), "small", sys.argv[2]), 1)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_wave_that_is_killed_or_interrupted_leaves_no_child(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the children may say outside their own folder that they are there.
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    started = tmp_path / "started"
    says = (
        f"import signal; signal.signal(15, signal.SIG_IGN); open({str(started)!r}, 'a').write('x\\n'); time.sleep(600)"
    )
    strategies = [command(tmp_path, "program", says), function(tmp_path, "call", says.replace("; ", "\n") + "\nyield")]
    home = Home(tmp_path / "home")
    campaign = begin(declared(tmp_path, strategies), home)
    argv = [sys.executable, "-c", STEPS, str(home.root), campaign.id]
    running = subprocess.Popen(argv, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while (started.read_bytes().count(b"\n") if started.exists() else 0) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    children = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(number)
    assert running.wait(60) != 0
    psutil.wait_procs(children, timeout=10)
    assert len(children) >= 2
    assert [each for each in children if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert not (campaign.folder(1) / "manifest.json").exists()


RUFF = Path(sys.executable).with_name("ruff")


@pytest.mark.skipif(not RUFF.exists(), reason="ruff is not installed beside this interpreter")
def test_a_real_linter_is_a_strategy(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("import os\nprint(undefined)\n")
    (tmp_path / "code" / "b c.py").write_text("import sys\n")
    argv = [
        str(RUFF),
        "check",
        "--isolated",
        "--no-cache",
        "--output-format",
        "sarif",
        "--select",
        "{angle.rules}",
        "{material}",
    ]
    ruff = {
        "name": "ruff",
        "kind": "command",
        "argv": argv,
        "format": "sarif",
        "allow_bare": True,
        "ok_exit_codes": [0, 1],
        "deterministic": True,
        "angles": [{"rules": "F4"}, {"rules": "F8"}],
    }
    path = declared(
        tmp_path, [ruff], material={"kind": "files", "path": "code"}, fingerprint={"fields": ["path", "kind"]}
    )
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(path, home))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["new"], told["repeats"]) == ("converged", [2, 1, 0, 0], 2)
    assert sorted(told["states"]) == ["a.py/F401", "a.py/F821", "b c.py/F401"]


def test_a_child_is_given_no_variable_of_ours() -> None:
    assert not [name for name in environment(Path("/"), (), {}) if name.startswith(("DRYSWEEP_", "DAGSTER_"))]
    assert os.environ["PATH"] == environment(Path("/"), (), {})["PATH"]


def test_a_function_may_give_a_frame_of_pandas_and_numbers_of_numpy(tmp_path: Path) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed; sweeps need it only where they use it")
    frame = """
import pandas as pd
columns = {"service": ["api", "db"], "failure_mode": ["m", "m"], "n": [1.5, float("nan")]}
return pd.DataFrame(columns, index=[7, 8])
"""
    figures = "import numpy as np\nyield {'service': 'api', 'failure_mode': np.int64(3), 'n': np.array([1, 2])}"
    mixed = "import pandas as pd\nreturn pd.DataFrame({'service': ['api', 3], 'failure_mode': ['m', 'm']})"
    strategies = [function(tmp_path, "frame", frame), function(tmp_path, "figures", figures)]
    campaign, runs = waved(tmp_path, [*strategies, function(tmp_path, "mixed", mixed)])
    kept = [row["attributes"] for row in rows(campaign, runs["frame"])]
    assert kept == [
        {"service": "api", "failure_mode": "m", "n": 1.5},
        {"service": "db", "failure_mode": "m", "n": None},
    ]
    assert rows(campaign, runs["figures"])[0]["attributes"] == {"service": "api", "failure_mode": 3, "n": [1, 2]}
    assert "Arrow" in (runs["mixed"].reason or "")
