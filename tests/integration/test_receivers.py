"""Receivers over real sockets: what they are told, once, and that nothing they do becomes of the campaign."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Response

from drysweep_pipeline.cli.app import main
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Campaign, Overrides
from drysweep_pipeline.engine.looking_again import again
from drysweep_pipeline.engine.looking_again import begin as look_again
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.verifying import verify
from drysweep_pipeline.notifications import record
from drysweep_pipeline.notifications.sending import mute, notify
from drysweep_pipeline.orchestration.inprocess import InProcess
from drysweep_pipeline.reports.contents import contents
from drysweep_pipeline.reports.markdown import render
from drysweep_pipeline.reports.summary import summary
from tests.services import raw, seconds_since
from tests.sweeps import begin, declare, registry, run_to_its_end

TOKEN = "gh0st-token-0f-nobody"
SECRET_PATH = "T0/B0/s3cr3t-0f-nobody"
# Finds every service without an owner; one of a name that Slack would obey is as bad as it gets.
FINDS = """
    select
        s.service, 'no_owner' as failure_mode, s.path, 'team:edge' as owner,
        case when s.service like '%edge%' then 'blocker' else 'major' end as severity
    from services s
    where not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""
REJECTS = "select fp, if(service like 'known%', 'rejected', 'confirmed') as verdict, 'r' as reason from findings"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer) -> Path:
    monkeypatch.setenv("HOOK_TOKEN", TOKEN)
    monkeypatch.setenv("SLACK_WEBHOOK", httpserver.url_for(f"/{SECRET_PATH}") + "\n")
    (tmp_path / "judge.sql").write_text(REJECTS)
    registry(tmp_path / "registry", {"api": None, "<!channel> edge": None, "known edge": None})
    return tmp_path


def telling(place: Path, *receivers: dict[str, Any], **more: Any) -> Path:
    judge = {"kind": "sql", "query": {"file": "judge.sql"}}
    return declare(place, {"labels": FINDS}, judge=judge, notify=list(receivers), **more)


def hook(server: HTTPServer, name: str = "hook", **more: Any) -> dict[str, Any]:
    headers = {"Authorization": "Bearer {env.HOOK_TOKEN}"}
    return {"kind": "webhook", "url": server.url_for(f"/{name}"), "headers": headers, **more}


def campaign(place: Path, day: int = 1, **options: Any) -> Campaign:
    as_of = datetime(2026, 1, day, tzinfo=UTC)
    return run_to_its_end(begin(place / "sweep.yaml", Home(place / "home"), as_of=as_of, **options))


def posted(server: HTTPServer, name: str = "hook") -> list[dict[str, Any]]:
    return [request.get_json() for request, _ in server.log if request.path == f"/{name}"]


def test_receivers_are_told_once_of_what_they_asked_for_and_first_of_the_difference(
    place: Path, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/hook").respond_with_data("", status=204)
    httpserver.expect_request(f"/{SECRET_PATH}").respond_with_data("ok")
    telling(place, hook(httpserver), {"kind": "slack", "url_env": "SLACK_WEBHOOK", "on": ["new_blocker"]})
    first = campaign(place)
    assert notify(first) == ()
    assert notify(first) == (), "asked again, nobody is told again"
    [told], [shown] = posted(httpserver), posted(httpserver, SECRET_PATH)
    assert httpserver.log[0][0].headers["User-Agent"] == "drysweep"
    assert (told["events"], told["outcome"], told["k"], told["rounds"]) == (
        ["outcome", "new_blocker"],
        "converged",
        2,
        3,
    )
    assert [row["label"] for row in told["new_blockers"]] == ["<!channel> edge/no_owner"], "and none that was rejected"
    assert "known" not in json.dumps([told, shown])
    assert told["lines"][0] == "since: no campaign before it"
    assert told["lines"][1].startswith(f"small/{first.id}: CONVERGED after 3 rounds (K=2)")
    assert "&lt;!channel&gt; edge/no_owner (team:edge)" in json.dumps(shown, ensure_ascii=False)
    assert "<!" not in json.dumps(shown)

    same = campaign(place, 2)
    assert notify(same) == ()
    assert len(httpserver.log) == 2, "the same outcome and nothing new is no news"

    registry(place / "registry", {"edge2": None})
    capped = campaign(place, 9, overrides=Overrides(rounds=1))
    assert notify(capped) == ()
    told = posted(httpserver)[-1]
    assert (told["events"], told["since"]["campaign"]) == (["outcome", "new_blocker"], same.id)
    assert told["lines"][0].startswith(f"since {same.id} (7 days, converged): 1 fresh (1 blocker: team:edge)")
    first_said = posted(httpserver, SECRET_PATH)[-1]["blocks"][1]["text"]["text"]
    assert first_said.startswith(f"since {same.id} (7 days, converged): 1 fresh"), "right after the name"
    assert told["why"]["sentence"] in "".join(told["lines"])
    assert f"  drysweep resume small/{capped.id} --rounds 3 --home {place / 'home'}" in told["lines"]
    assert "drysweep resume" in told["why"]["lever"]
    for text in ("\n".join(told["lines"]), json.dumps(posted(httpserver, SECRET_PATH)[-1])):
        assert text.count("drysweep resume") == 1, "once, where it can be pasted"
    people.answer(capped, Answer("resume", "ann", rounds=9))
    run_to_its_end(capped)
    assert notify(capped) == ()
    assert posted(httpserver)[-1]["events"] == ["outcome"], "it is another one now; its blocker is known"
    assert len({each["id"] for each in posted(httpserver)}) == 3


def test_who_has_to_decide_is_sent_the_commands_that_answer(place: Path, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/hook").respond_with_data("")
    httpserver.expect_request(f"/{SECRET_PATH}").respond_with_data("ok")
    asked = {"on": ["needs_decision"]}
    slack = {"kind": "slack", "url_env": "SLACK_WEBHOOK", **asked}
    telling(place, hook(httpserver, **asked), slack, turns="manual")
    waiting = campaign(place, campaign="mine")
    assert notify(waiting) == ()
    [told], [shown] = posted(httpserver), posted(httpserver, SECRET_PATH)
    assert (told["events"], told["outcome"], told["reason"]) == (["needs_decision"], "needs_decision", "turn")
    command = f"drysweep go small/mine --home {place / 'home'}"
    assert command in told["waits_for"]["commands"]
    assert f"  {command}" in told["lines"]
    assert any(command in block.get("text", {}).get("text", "") for block in shown["blocks"])
    people.answer(waiting, Answer("go", "ann"))
    run_to_its_end(waiting)
    notify(waiting)
    assert [each["rounds"] for each in posted(httpserver)] == [1, 2], "each time that it waits"
    people.answer(waiting, Answer("stop", "ann"))
    notify(waiting)
    assert len(posted(httpserver)) == 2, "that it ended was not asked for"


FAILING = {
    "broken": (Response("oops", 500), "answered 500 with text/plain; charset=utf-8: oops, 2 times", 2),
    "busy": (Response("", 503), "answered 503", 2),
    "moved": (Response("", 302, {"Location": "/hook"}), "declare the address where it is answered", 1),
    "elsewhere": (Response("", 307, {"Location": "https://other.example/"}), "nothing was sent there", 1),
    "gone": (Response("no_service: gh0st-token-0f-nobody", 404), "answered 404", 1),
}


def test_a_receiver_that_fails_is_named_everywhere_and_changes_nothing_else(
    place: Path, httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, (says, _, _) in FAILING.items():
        httpserver.expect_request(f"/{name}").respond_with_response(says)
    httpserver.expect_request("/hook").respond_with_data("")
    more = [hook(httpserver, name, retries=1) for name in FAILING]
    unset = {"kind": "slack", "url_env": "NOT_SET_HERE"}
    nobody = {"kind": "webhook", "url": "http://127.0.0.1:1/", "retries": 0}
    with raw([], then=600) as silent:
        hanging = {"kind": "webhook", "url": silent.url, "timeout_s": 1}
        telling(place, *more, unset, nobody, hanging, hook(httpserver))
        made = campaign(place)
        before = read_state(made.state_path)
        began = time.monotonic()
        untold = {each.receiver: each.why or "" for each in notify(made)}
        assert seconds_since(began) < 120
    for number, (name, (_, why, tries)) in enumerate(FAILING.items()):
        assert why in untold[number], untold
        assert len(posted(httpserver, name)) == tries
    assert "the variable NOT_SET_HERE is not set" in untold[5]
    assert "cannot be connected to" in untold[6]
    assert "timeout: no whole answer after 1 s" in untold[7]
    assert len(posted(httpserver)) == 1, "the one that works is told whoever fails"
    assert read_state(made.state_path) == before
    facts = summary(made.home.home, "small", made.id)
    assert facts["outcome"] == "converged"
    assert [each["status"] for each in facts["notifications"]] == ["failed"] * 8 + ["sent"]
    assert "**Not told:** slack (notify\\[5\\]): the variable NOT" in render(contents(made.home.home, "small", made.id))
    assert main(["status", made.id, "--home", str(place / "home"), "--json"]) == 0
    shown = capsys.readouterr()
    assert json.loads(shown.out)["notifications"] == facts["notifications"]
    assert "not told: slack (notify[5]): the variable NOT_SET_HERE is not set" in shown.err


def test_what_was_not_taken_is_sent_again_under_its_id_until_the_campaign_stands_elsewhere(
    place: Path, httpserver: HTTPServer
) -> None:
    httpserver.expect_oneshot_request("/hook").respond_with_data("", status=500)
    httpserver.expect_oneshot_request("/hook").respond_with_data("")
    httpserver.expect_oneshot_request("/hook").respond_with_data("", status=500)
    httpserver.expect_request("/hook").respond_with_data("")
    telling(place, hook(httpserver, retries=0))
    made = campaign(place, overrides=Overrides(rounds=1))
    assert [each.times for each in notify(made)] == [1]
    assert notify(made) == ()
    one, two = posted(httpserver)
    assert one == two
    other = campaign(place, 2)
    [failed] = notify(other)
    people.answer(made, Answer("resume", "ann", rounds=9))
    run_to_its_end(made)
    assert notify(made) == ()
    assert posted(httpserver)[-1]["outcome"] == "converged"
    assert failed.id == posted(httpserver)[2]["id"]


DIES = """
import os, signal, sys
from pathlib import Path
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.home import Home
from drysweep_pipeline.notifications import sending

posted = sending.Postbox.post
def post(*given):
    posted(*given)
    os.kill(os.getpid(), signal.SIGKILL)
sending.Postbox.post = post
sending.notify(load(Home(Path(sys.argv[1])), "small", sys.argv[2]))
"""


def test_a_process_that_dies_between_sending_and_recording_sends_the_same_message_again(
    place: Path, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/hook").respond_with_data("")
    telling(place, hook(httpserver))
    made = campaign(place)
    died = subprocess.run([sys.executable, "-c", DIES, str(place / "home"), made.id], env=os.environ, check=False)
    assert died.returncode == -signal.SIGKILL
    assert [each.status for each in record.read(made.home.landing(made.id)).due] == ["due"]
    assert notify(made) == ()
    one, two = posted(httpserver)
    assert one["id"] == two["id"], "so that who got it can tell"
    assert notify(made) == ()
    assert len(posted(httpserver)) == 2


def test_no_secret_of_a_receiver_is_kept_or_shown(
    place: Path, httpserver: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    httpserver.expect_request("/hook").respond_with_data(f"I know {TOKEN}", status=403)
    httpserver.expect_request(f"/{SECRET_PATH}").respond_with_data(
        f"no {SECRET_PATH} at {httpserver.url_for('/')}", 403
    )
    telling(place, hook(httpserver), {"kind": "slack", "url_env": "SLACK_WEBHOOK"})
    made = campaign(place)
    untold = notify(made)
    assert [each.status for each in untold] == ["failed", "failed"]
    assert httpserver.log[0][0].headers.get("Authorization") in (f"Bearer {TOKEN}", None)
    assert main(["status", made.id, "--home", str(place / "home"), "--json"]) == 0
    shown = capsys.readouterr()
    kept = b"".join(path.read_bytes() for path in (place / "home").rglob("*") if path.is_file())
    for secret in (TOKEN, httpserver.url_for(f"/{SECRET_PATH}")):
        assert secret.encode() not in kept
        assert secret not in shown.out + shown.err


def test_nobody_is_told_of_the_past_and_of_who_looked_again_or_goes_on(place: Path, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/hook").respond_with_data("")
    path = telling(place, hook(httpserver))
    filled = campaign(place)
    mute(filled, "backfill")
    assert notify(filled) == ()
    stored = again(filled.home.home, read_declaration(path), ["labels"], None, None)
    looked = run_to_its_end(look_again(filled.home.home, stored, stored.stored[0]))
    assert notify(looked) == ()
    going_on = begin(path, filled.home.home, as_of=datetime(2026, 1, 2, tzinfo=UTC))
    assert notify(going_on) == ()
    assert httpserver.log == []


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def test_the_report_tells_whoever_drives_the_campaign_and_its_check_says_who_did_not_take_it(
    place: Path, httpserver: HTTPServer, instance: dg.DagsterInstance
) -> None:
    httpserver.expect_oneshot_request("/hook").respond_with_data("", status=500)
    httpserver.expect_request("/hook").respond_with_data("")
    path = telling(place, hook(httpserver, retries=0))
    made = campaign(place, driver="sensor")
    jobs = InProcess(read_declaration(path), made.home.home, instance)
    jobs.report(made)
    state = read_state(made.state_path)
    assert state is not None
    assert state.reported, "no receiver keeps a report from having been written"
    key = dg.AssetCheckKey(dg.AssetKey(["small", "report"]), "receivers_told")
    [check] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    assert check.status.value == "FAILED"
    written = made.home.report(made.id, ".md").read_text()
    assert "**Not told:** webhook (notify\\[0\\]): answered 500" in written, "written again, so that it says so"
    jobs.report(made)
    [check] = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
    assert check.status.value == "SUCCEEDED"
    one, two = posted(httpserver)
    assert one["id"] == two["id"]
    assert one["report"] == str(made.home.report(made.id, ".md")) or one["report"].endswith((".html", ".md"))


def test_a_record_that_was_changed_is_said_to_be_so_and_holds_no_report_up(place: Path, httpserver: HTTPServer) -> None:
    telling(place, hook(httpserver))
    made = campaign(place)
    (made.home.landing(made.id) / record.FILE).write_text('{"stops": [')
    [untold] = notify(made)
    assert "not readable as JSON" in (untold.why or "")
    assert "**Not told:** everybody under notify" in render(contents(made.home.home, "small", made.id))


def test_what_was_told_is_part_of_what_is_verified(place: Path, httpserver: HTTPServer) -> None:
    httpserver.expect_request("/hook").respond_with_data("")
    telling(place, hook(httpserver))
    made = campaign(place)
    notify(made)
    assert list(verify(made.home.home, "small")) == []
    told = made.home.landing(made.id) / record.FILE
    told.write_bytes(told.read_bytes().replace(b'"sent"', b'"lost"'))
    assert told in [Path(fault.file) for fault in verify(made.home.home, "small")]
