"""Strategies in child processes: what each says, and what it is taken for."""

from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.engine.journal import budget_of
from tests.finders import command, function, rows, waved

pytestmark = pytest.mark.usefixtures("three_services")

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
