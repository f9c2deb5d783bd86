"""``validate --probe``: which strategies find the same twice, and what in their fingerprints does not stay as it is."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer

from drysweep_pipeline.cli import main
from tests.finders import command, declared, function
from tests.model_server import Answer, Asked, ModelServer, found
from tests.models import cites, model
from tests.sweeps import NO_OWNER, declare, registry

# One of every sort; each finds three services, some under other names each time.
SORTS = [
    ("steady", "for n in range(3): say(f's{n}', severity='minor')\nend(3)", {"deterministic": True}),
    ("clock", "for n in range(3): say(f's{n}', failure_mode=f'at {time.time_ns()}')\nend(3)", {"deterministic": True}),
    ("elsewhere", "for n in range(3): say(f's{n}', failure_mode=f'{os.getcwd()}/s{n}')\nend(3)", {}),
    ("chancy", "import uuid\nfor n in range(3): say(str(uuid.uuid4()), failure_mode=str(uuid.uuid4()))\nend(3)", {}),
    ("lying", "import uuid\nsay(str(uuid.uuid4()), failure_mode=str(uuid.uuid4()))\nend(1)", {"deterministic": True}),
    ("silent", "end(0)", {}),
    ("broken", "say()\nsys.exit(3)", {}),
    ("nameless", "say(service=None)\nend(1)", {}),
]


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, dict[str, Any], str]:
    """A folder with a sweep of every sort of strategy, what probing it returned and printed."""
    folder = tmp_path_factory.mktemp("probed")
    registry(folder / "registry", {"api": None, "web": "team"})
    strategies = [command(folder, name, says, **more) for name, says, more in SORTS]
    strategies.append(
        function(folder, "called", "yield {'service': 'api', 'failure_mode': str(rng.random()), 'kind': 'chance'}")
    )
    (folder / "labels.sql").write_text(NO_OWNER)
    (folder / "guess.sql").write_text("select 'api' as service, cast(random() as varchar) as failure_mode")
    strategies += [{"name": name, "kind": "sql", "query": {"file": f"{name}.sql"}} for name in ("labels", "guess")]
    declared(folder, strategies)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        patched.setenv("DRYSWEEP_HOME", str(folder / "home"))
        out, err = _main(["validate", "sweep.yaml", "--probe", "--json"], folder)
    return folder, out["code"], json.loads(out["text"]), err


def _main(words: list[str], folder: Path) -> tuple[dict[str, Any], str]:
    import contextlib
    import io

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    assert out.getvalue().count("\n") == 1, "stdout is exactly one JSON object"
    return {"code": code, "text": out.getvalue()}, err.getvalue()


Probed = tuple[Path, int, dict[str, Any], str]


@pytest.mark.parametrize(
    ("name", "became", "wrong", "fields"),
    [
        ("steady", "stable", False, []),
        ("clock", "unstable", True, ["failure_mode"]),
        ("elsewhere", "unstable", False, ["failure_mode"]),
        ("chancy", "chance", False, []),
        ("lying", "different", True, []),
        ("silent", "empty", False, []),
        ("broken", "failed", True, []),
        ("nameless", "refused", True, []),
        ("called", "stable", False, []),
        ("labels", "stable", False, []),
        ("guess", "chance", False, []),
    ],
)
def test_every_sort_of_strategy_is_told_apart(
    probed: Probed, name: str, became: str, wrong: bool, fields: list[str]
) -> None:
    _, _, told, _ = probed
    [found] = [each for each in told["probe"] if each["strategy"] == name]
    assert (found["became"], found["wrong"], found["fields"]) == (became, wrong, fields), found["sentence"]


def test_a_field_that_differs_is_named_with_what_it_held_and_how_much_pairs_up_but_for_it(probed: Probed) -> None:
    _, _, told, _ = probed
    [clock, elsewhere] = [each for each in told["probe"] if each["strategy"] in ("clock", "elsewhere")]
    assert '`failure_mode` differs: "at ' in clock["sentence"]
    assert "3 of 3 findings pair up but for this" in clock["sentence"]
    first, second = (values[0] for values in elsewhere["example"])
    assert first != second, "a path of one look, such as where it started, is none of the next"
    assert "unless chance" in elsewhere["sentence"]
    assert "unless chance" not in clock["sentence"]


def test_what_a_strategy_reports_and_never_reports_is_told(probed: Probed) -> None:
    _, _, told, _ = probed
    [steady] = [each for each in told["probe"] if each["strategy"] == "steady"]
    assert {"service", "failure_mode", "severity"} <= set(steady["columns"])
    assert "severity" not in steady["missing"]
    assert {"title", "path", "line"} <= set(steady["missing"])
    [called] = [each for each in told["probe"] if each["strategy"] == "called"]
    assert called["columns"] == ["failure_mode", "kind", "service"]
    assert not {"kind", "subject"} & set(steady["columns"]), "what was filled in from the fingerprint it did not give"


def test_what_a_campaign_would_suffer_from_returns_2_and_the_cost_is_said_first(probed: Probed) -> None:
    _, code, told, said = probed
    assert code == 2
    assert told["calls"] == 22
    assert "probing takes 22 calls, 2 looks for each strategy" in said
    assert "missing" in next(each["reason"] for each in told["probe"] if each["strategy"] == "nameless")
    assert "exited with 3" in next(each["reason"] for each in told["probe"] if each["strategy"] == "broken")


def test_only_the_snapshot_is_left_of_a_probe(probed: Probed) -> None:
    folder, _, _, _ = probed
    home = folder / "home"
    left = {path.relative_to(home).parts[:3] for path in home.rglob("*") if path.is_file()}
    assert left == {("sweeps", "small", "snapshots")}
    assert len(list((home / "sweeps" / "small" / "snapshots").iterdir())) == 1


def test_without_probe_nothing_is_run_and_nothing_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry(tmp_path / "registry", {"api": None})
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    path = declared(tmp_path, [command(tmp_path, "steady", "end(0)")])
    assert main(["validate", str(path), "--json"]) == 0
    assert "probe" not in json.loads(capsys.readouterr().out)
    assert not (tmp_path / "home").exists()
    assert main(["validate", str(path), "--probe"]) == 0
    assert "steady: empty, both looks found nothing" in capsys.readouterr().out


def test_models_and_services_are_probed_like_all_others(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    registry(tmp_path / "registry", {"apix": None, "webx": None})
    times = iter(range(100))

    def says_it_anew(asked: Asked) -> Answer:
        again = next(times)
        return found(*(cites(n, row["service"], failure_mode=f"worded {again}") for n, row in enumerate(asked.rows, 1)))

    said = {"findings": [{"service": "apix", "failure_mode": "m"}], "end": True}
    httpserver.expect_request("/find").respond_with_json(said)
    with ModelServer().answering(says_it_anew) as server:
        service = {"name": "served", "kind": "http", "url": httpserver.url_for("/find"), "retries": 0}
        path = declared(tmp_path, [model(tmp_path, server), service])
        assert main(["validate", str(path), "--probe", "--json"]) == 0
        assert len(server.asked) == 2
    worded, served = json.loads(capsys.readouterr().out)["probe"]
    assert (worded["became"], worded["fields"], worded["pairs"]) == ("unstable", ["failure_mode"], 2), worded[
        "sentence"
    ]
    assert worded["tokens"] > 0
    assert (served["became"], served["calls"]) == ("stable", 2)


# Says when a query of a probe is about to be run.
TELLING = """
import sys
from drysweep_pipeline import sandbox
from drysweep_pipeline.cli import main

real = sandbox.Running.__enter__
def told(self):
    print("ASKED", file=sys.stderr, flush=True)
    return real(self)
sandbox.Running.__enter__ = told
sys.exit(main())
"""
# DuckDB counts this in workers of its own, which do not look for signals.
SLOW = """
    select service, 'slow' as failure_mode
    from services
    where (select count(*) from range(6000000) a, range(9000000) b where hash(a.range + b.range) = 8) > 0
"""


def test_an_interruption_ends_the_query_that_a_probe_asks(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    path = declare(tmp_path, {"slow": SLOW}, slow={"timeout_s": 1200})
    command = [sys.executable, "-c", TELLING, "validate", str(path), "--probe"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        assert any("ASKED" in line for line in iter(process.stderr.readline, ""))
        # So that it is well under way; nothing depends on that it is.
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        try:
            said = process.communicate(timeout=300)[1]
        finally:
            process.kill()
    assert process.returncode == 130, said
    assert "Traceback" not in said
