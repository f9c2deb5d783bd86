"""Judges in child processes, through the rounds of real campaigns: what they say, and what they fail to say."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.engine import deeds, rounds
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.votes import FILE as VOTES
from drysweep_pipeline.engine.votes import Votes
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import Busy, FinderError
from drysweep_pipeline.home import Home
from drysweep_pipeline.judges import JUDGES, Question, Ruling
from drysweep_pipeline.judges.python import PARALLEL
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Usage, Verdict
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end, steps

# Notes each call beside itself, and then says what it was written to say.
PROGRAM = """#!{python} -I
import json, os, sys, time
asked = json.load(sys.stdin)
finding = asked["finding"]
with open({calls!r}, "a") as out:
    out.write(json.dumps([finding["service"], asked["member"], asked["round"], asked["seed"]]) + "\\n")
def say(verdict, **more):
    print(json.dumps({{"verdict": verdict, **more}}))
{says}
"""
NOTES = """
import json, os, sys, time
def noted(finding, member):
    with open({calls!r}, "a") as out:
        out.write(json.dumps([finding["service"], member, int(os.environ["DRYSWEEP_ROUND"]), 0]) + "\\n")
{says}
"""


@pytest.fixture(autouse=True)
def _unconfined(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the judges keep count beside themselves, where a confined one may not write; those are in test_blindness."""
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")


@pytest.fixture
def confined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRYSWEEP_ISOLATION")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})
    return Home(tmp_path / "home")


def command(folder: Path, says: str, **more: Any) -> dict[str, Any]:
    """A judge that is a program beside the declaration."""
    path = folder / "judging"
    path.write_text(PROGRAM.format(python=sys.executable, calls=str(folder / "calls"), says=says))
    path.chmod(0o700)
    return {"kind": "command", "argv": ["judging"], **more}


def python(folder: Path, says: str, **more: Any) -> dict[str, Any]:
    """A judge that is a function beside the declaration."""
    (folder / "judging.py").write_text(NOTES.format(calls=str(folder / "calls"), says=says))
    return {"kind": "python", "call": "judging:rule", **more}


def calls(folder: Path) -> list[list[Any]]:
    path = folder / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def campaign_of(folder: Path, home: Home, judge: dict[str, Any], **more: Any) -> Campaign:
    return begin(declare(folder, {"labels": NO_OWNER}, judge=judge, **more), home)


def one_round(folder: Path, home: Home, judge: dict[str, Any], **more: Any) -> dict[str, Any]:
    campaign = campaign_of(folder, home, judge, **more)
    steps(campaign, 1)
    return summary(home, "small", campaign.id)


def verdicts(home: Home, round: int = 1) -> dict[str, dict[str, Any]]:
    """Return what landed of a round's judging, by service."""
    [folder] = (home.root / "sweeps" / "small" / "landing").glob(f"*/r{round:03d}")
    rows = pq.read_table(folder / "verdicts.parquet").to_pylist()
    names = {
        str(row["fp"]): row["subject"]
        for path in folder.glob("*.a1.parquet")
        for row in pq.read_table(path).to_pylist()
    }
    return {names[row["fp"]]: row for row in rows}


def reason(home: Home, service: str = "api", round: int = 1) -> str:
    return verdicts(home, round)[service]["reason"] or ""


BY_NAME = "say('confirmed' if finding['service'] == 'api' else 'rejected', reason='it is ' + finding['service'])"
RULE_BY_NAME = """
def rule(finding, material):
    noted(finding, 1)
    return ("confirmed" if finding["service"] == "api" else "rejected"), "it is " + finding["service"]
"""


@pytest.mark.parametrize("kind", ["command", "python"])
def test_a_judge_in_a_child_rules_once_on_each_finding_of_a_campaign(tmp_path: Path, home: Home, kind: str) -> None:
    judge = command(tmp_path, BY_NAME) if kind == "command" else python(tmp_path, RULE_BY_NAME)
    campaign = run_to_its_end(campaign_of(tmp_path, home, judge))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["confirmed"], told["rejected"], told["rounds"]) == ("converged", 1, 1, 3)
    assert told["states"] == {"api/no_owner": "open", "db/no_owner": "rejected"}
    assert told["calls"] == 3 + 2
    assert sorted(call[0] for call in calls(tmp_path)) == ["api", "db"]
    assert reason(home) == "it is api"
    assert {row["calls"] for row in verdicts(home).values()} == {1}


@pytest.mark.parametrize("kind", ["command", "python"])
def test_an_undecided_finding_is_asked_about_again_next_round(tmp_path: Path, home: Home, kind: str) -> None:
    if kind == "command":
        judge = command(tmp_path, "say('undecided' if asked['round'] == 1 else 'confirmed')")
    else:
        says = "def rule(finding, material):\n    noted(finding, 1)\n    return None if 'ROUND' in os.environ else "
        judge = python(tmp_path, says + "{'1': 'undecided'}.get(os.environ['DRYSWEEP_ROUND'], 'confirmed')")
    campaign = run_to_its_end(campaign_of(tmp_path, home, judge))
    assert summary(home, "small", campaign.id)["confirmed"] == 2
    assert sorted((call[0], call[2]) for call in calls(tmp_path)) == [("api", 1), ("api", 2), ("db", 1), ("db", 2)]


def test_a_command_is_told_all_about_one_finding(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "not yours")
    monkeypatch.setenv("TOKEN", "yours")
    monkeypatch.setenv("DRYSWEEP_HOME", "not yours")
    says = """
with open(os.environ["HOME"] + "/x", "w"): pass
known = {k: v for k, v in os.environ.items() if k.startswith("DRYSWEEP_") or k in ("SECRET", "TOKEN")}
say("confirmed", reason=json.dumps([asked, known, sys.argv[1:], os.getcwd()]))
"""
    judge = command(tmp_path, says, env=["TOKEN", "NOT_SET"])
    judge["argv"] += ["{campaign}/{round}", "{member}", "{seed}", "{other} {{round}}"]
    assert one_round(tmp_path, home, judge)["confirmed"] == 2
    asked, known, argv, folder = json.loads(reason(home))
    assert (asked["sweep"], asked["round"], asked["member"], asked["fields"]) == (
        "small",
        1,
        1,
        ["service", "failure_mode"],
    )
    finding = asked["finding"]
    assert (finding["service"], finding["failure_mode"], finding["severity"]) == ("api", "no_owner", "major")
    assert finding["path"] == "services/api.yaml"
    assert finding["attributes"] == {"service": "api", "failure_mode": "no_owner"}
    assert known == {
        "DRYSWEEP_SWEEP": "small",
        "DRYSWEEP_CAMPAIGN": asked["campaign"],
        "DRYSWEEP_ROUND": "1",
        "DRYSWEEP_MEMBER": "1",
        "DRYSWEEP_SEED": str(asked["seed"]),
        "TOKEN": "yours",
    }
    assert argv == [f"{asked['campaign']}/1", "1", str(asked["seed"]), "{other} {1}"]
    assert Path(folder) == tmp_path


def test_a_command_may_read_the_material_as_files(tmp_path: Path, home: Home) -> None:
    (tmp_path / "registry" / "picture.bin").write_bytes(b"\0\xff")
    (tmp_path / "registry" / "ends.txt").write_bytes("é\r\nb".encode())
    says = """
root = sys.argv[1]
found = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)
text = open(os.path.join(root, "ends.txt"), newline="").read()
say("confirmed", reason=json.dumps([found, text, oct(os.stat(root).st_mode)[-3:], root]))
"""
    judge = command(tmp_path, says)
    judge["argv"].append("{material}")
    assert one_round(tmp_path, home, judge)["confirmed"] == 2
    found, text, mode, root = json.loads(reason(home))
    assert found == ["ends.txt", "services/api.yaml", "services/db.yaml", "services/web.yaml"]
    assert (text, mode) == ("é\r\nb", "500")
    assert not Path(root).exists()


# What a program does over one finding, and what the reason of its being undecided says.
NO_VERDICTS = [
    ("print('well, yes')", "which is not one JSON object"),
    ("say('confirmed'); say('confirmed')", "which is not one JSON object"),
    ("say('confirmed'); print('and so on')", "which is not one JSON object"),
    ("print('[\"confirmed\"]')", "no JSON object"),
    ('print(\'{"verdict": "rejected", "verdict": "confirmed"}\')', "a key is there twice"),
    ("say('Confirmed')", "the judge said 'Confirmed'; a verdict is confirmed, rejected or undecided"),
    ("say('unjudged')", "the judge said 'unjudged'"),
    ("say(['confirmed'])", "a verdict is confirmed"),
    ("say(None)", "gave no verdict"),
    ("say('rejected', error='cannot read api.yaml')", "the judge reports an error: cannot read api.yaml"),
    ("say('confirmed', fp='d44f0bf9-6ad3-72db-f545-32e7c48d04c9')", "answered for another finding"),
    ("pass", "gave no answer"),
    ("print('[' * 100000)", "which is not one JSON object"),
    ("say('confirmed'); sys.exit(3)", "exited with 3"),
    ("say('confirmed'); sys.stdout.flush(); os.kill(os.getpid(), 11)", "died of SIGSEGV"),
    ("raise RuntimeError('it broke')", "RuntimeError: it broke"),
    ("print('x' * 2_000_000)", "truncated"),
    ("os.write(1, b'\\xff{}')", "which is not one JSON object"),
]


def test_what_is_no_verdict_leaves_its_finding_undecided_and_no_other(tmp_path: Path, home: Home) -> None:
    registry(tmp_path / "registry", {f"case{index:02d}": None for index in range(len(NO_VERDICTS))})
    cases = {f"case{index:02d}": says for index, (says, _) in enumerate(NO_VERDICTS)}
    says = f"exec({cases!r}.get(finding['service'], \"say('rejected')\"))"
    told = one_round(tmp_path, home, command(tmp_path, says, timeout_s=200))
    assert (told["confirmed"], told["rejected"], told["undecided"]) == (0, 2, len(NO_VERDICTS))
    landed = verdicts(home)
    for index, (says, why) in enumerate(NO_VERDICTS):
        assert why in landed[f"case{index:02d}"]["reason"], says
    assert told["calls"] == 1 + len(landed)


@pytest.mark.parametrize("says", ["pass", "say('confirmed'); sys.stdout.flush()"], ids=["nothing", "a verdict"])
def test_a_program_that_goes_on_past_its_deadline_gave_no_verdict_whatever_it_said(
    tmp_path: Path, home: Home, says: str
) -> None:
    told = one_round(tmp_path, home, command(tmp_path, f"{says}\ntime.sleep(600)", timeout_s=1))
    assert (told["undecided"], told["calls"]) == (2, 1 + 2)
    assert {row["reason"] for row in verdicts(home).values()} == {"timeout: still running after 1 s"}


def test_a_reason_is_kept_whatever_is_in_it(tmp_path: Path, home: Home) -> None:
    judge = command(tmp_path, "say('confirmed', reason=chr(0xd800) + chr(0) + chr(27) + 'x' * 100000)")
    assert one_round(tmp_path, home, judge)["confirmed"] == 2
    assert reason(home).startswith("??\x1bxxx")
    assert len(reason(home)) == 2000


@pytest.mark.usefixtures("confined")
def test_a_program_that_is_not_there_is_named_and_the_round_goes_on(tmp_path: Path, home: Home) -> None:
    told = one_round(tmp_path, home, {"kind": "command", "argv": ["no-such-judge"]})
    assert told["undecided"] == 2
    assert "no-such-judge cannot be started: No such file" in reason(home)
    assert [event["name"] for event in told["events"]] == ["judge_failed"]


# What a function does over one finding, the verdict that follows, and what its reason says.
ANSWERS = [
    ("return 'confirmed'", "confirmed", ""),
    ("return ['rejected', 7]", "rejected", "7"),
    ("return {'verdict': 'rejected', 'reason': 'so'}", "rejected", "so"),
    ('print(\'{"id": 1, "verdict": "confirmed"}\', flush=True); return \'rejected\'', "rejected", ""),
    ('os.write(1, b\'{"id": 1, "verdict": "confirmed"}\\n\'); return \'rejected\'', "rejected", ""),
    ("os.system('echo confirmed'); return 'rejected'", "rejected", ""),
    ("return sys.stdin.read() or 'rejected'", "rejected", ""),
    ("return 'rejected' if os.fork() else 'confirmed'", "rejected", ""),
    ("return None", "undecided", "gave no verdict"),
    ("return 'maybe'", "undecided", "the judge said 'maybe'"),
    ("return True", "undecided", "TypeError: returned True"),
    ("return 'confirmed', 'a', 'b'", "undecided", "TypeError"),
    ("return {'verdict': 'confirmed', 'fp': 'another'}", "undecided", "answered for another finding"),
    ("raise LookupError('no such owner')", "undecided", "LookupError: no such owner (judging.py:"),
    ("raise KeyboardInterrupt", "undecided", "KeyboardInterrupt"),
    ("sys.exit('no more')", "undecided", "SystemExit: no more"),
    ("os._exit(0)", "undecided", "exited without an answer"),
    ("os.kill(os.getpid(), 9)", "undecided", "died of SIGKILL"),
]


def test_what_a_function_does_over_one_finding_is_its_answer_on_that_one_alone(tmp_path: Path, home: Home) -> None:
    registry(tmp_path / "registry", {f"case{index:02d}": None for index in range(len(ANSWERS))})
    functions = "".join(f"def case{index:02d}():\n    {says}\n" for index, (says, *_) in enumerate(ANSWERS))
    rule = "def rule(finding, material):\n    case = globals().get(finding['service'])\n"
    rule += "    return case() if case else 'confirmed'\n"
    told = one_round(tmp_path, home, python(tmp_path, functions + rule, timeout_s=200))
    landed = verdicts(home)
    for index, (says, verdict, why) in enumerate(ANSWERS):
        row = landed[f"case{index:02d}"]
        assert (row["verdict"], why in (row["reason"] or "")) == (verdict, True), (says, row)
    assert {landed["api"]["verdict"], landed["db"]["verdict"]} == {"confirmed"}
    assert told["calls"] == 1 + len(landed)


def test_a_function_that_hangs_over_one_finding_leaves_that_one_undecided_alone(tmp_path: Path, home: Home) -> None:
    rule = "def rule(finding, material):\n    time.sleep(600 if finding['service'] == 'api' else 0)\n"
    told = one_round(tmp_path, home, python(tmp_path, f"{rule}    return 'confirmed'", timeout_s=6))
    assert (told["undecided"], told["confirmed"]) == (1, 1)
    assert reason(home) == "timeout: still running after 6 s"


@pytest.mark.parametrize(
    ("text", "call", "why"),
    [
        ("def rule(finding, material): return 'confirmed'", "judging:other", "AttributeError"),
        ("rule = 3", "judging:rule", "TypeError: judging:rule is not a function"),
        (
            "import no_such_module",
            "judging:rule",
            "ModuleNotFoundError: No module named 'no_such_module' (judging.py:2)",
        ),
        ("def rule(:", "judging:rule", "SyntaxError"),
        ("import os; os._exit(3)", "judging:rule", "exited with 3"),
        ("import time; time.sleep(600)", "judging:rule", "timeout"),
        ("", "nowhere:rule", "ModuleNotFoundError"),
    ],
)
def test_a_function_that_cannot_be_had_leaves_all_undecided_without_trying_for_each(
    tmp_path: Path, home: Home, text: str, call: str, why: str
) -> None:
    registry(tmp_path / "registry", {f"s{number}": None for number in range(20)})
    tried = tmp_path / "tried"
    (tmp_path / "judging.py").write_text(f"open({str(tried)!r}, 'a').write('x')\n{text}")
    told = one_round(tmp_path, home, {"kind": "python", "call": call, "timeout_s": 2 if "sleep" in text else 200})
    assert not tried.exists() or len(tried.read_text()) <= PARALLEL
    assert told["undecided"] == 22
    assert why in reason(home)
    assert "judge_failed" in [event["name"] for event in told["events"]]


@pytest.mark.usefixtures("confined")
def test_a_function_sees_the_finding_the_material_and_what_its_project_has(tmp_path: Path, home: Home) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "shared_rules.py").write_text("said = 'confirmed'")
    rule = """
import shared_rules
def rule(finding, material, *, seed, member):
    owners = material.query("select count(*) as n from labels where key = ?", "owner")
    names = [row["service"] for row in material.table("services")]
    text = material.text(finding["path"])
    times = material.table("files")[0]["modified_at"]
    try:
        material.table("nowhere")
    except KeyError as error:
        missing = str(error)
    told = [finding["failure_mode"], owners, sorted(names), text, material.text("x"), missing, seed, member]
    return shared_rules.said, json.dumps([*told, bool(times)])
"""
    path = declare(tmp_path, {"labels": NO_OWNER}, judge=python(tmp_path / "deep", rule))
    for name in ("sweep.yaml", "labels.sql"):
        (tmp_path / name).rename(tmp_path / "deep" / name)
    (tmp_path / "registry").rename(tmp_path / "deep" / "registry")
    campaign = begin(tmp_path / "deep" / path.name, home)
    steps(campaign, 1)
    kind, owners, names, text, nothing, missing, seed, member, dated = json.loads(reason(home))
    assert (kind, owners, names) == ("no_owner", [{"n": 1}], ["api", "db", "web"])
    assert json.loads(text) == {"name": "api", "labels": {"tier": "one"}}
    assert (nothing, member, dated) == (None, 1, True)
    assert "no table 'nowhere'; there is charter, files, labels" in missing
    assert seed > 0


# The second member of three never makes up its mind.
PANEL = """
mine = {'api': 'confirmed', 'db': 'rejected'}[finding['service']]
say('undecided' if asked['member'] == 2 else mine, reason='m')
"""


def test_a_majority_of_a_panel_decides_and_the_reason_tells_the_votes(tmp_path: Path, home: Home) -> None:
    judge = command(tmp_path, PANEL, panel=3)
    told = one_round(tmp_path, home, judge)
    assert (told["confirmed"], told["rejected"], told["undecided"]) == (1, 1, 0)
    assert reason(home) == "2 of 3 confirmed; member 2 undecided: m"
    assert told["calls"] == 1 + 2 * 3
    row = verdicts(home)["db"]
    assert row["calls"] == 3
    assert [(vote["member"], vote["verdict"]) for vote in json.loads(row["votes"])] == [
        (1, "rejected"),
        (2, "undecided"),
        (3, "rejected"),
    ]
    asked = calls(tmp_path)
    assert sorted(call[:2] for call in asked) == [[name, member] for name in ("api", "db") for member in (1, 2, 3)]
    assert len({call[3] for call in asked}) == 6, "a seed of its own for each"


def test_less_than_the_declared_majority_is_undecided(tmp_path: Path, home: Home) -> None:
    judge = command(tmp_path, PANEL, panel=3, majority=3)
    assert one_round(tmp_path, home, judge)["undecided"] == 2
    assert reason(home).startswith("no majority of 3: 2 confirmed, 1 undecided; member 1 confirmed: m")


def test_members_of_a_python_panel_share_no_process(tmp_path: Path, home: Home) -> None:
    rule = """
heard = []
def rule(finding, material, member):
    heard.append(member)
    return "confirmed" if set(heard) == {member} else "rejected"
"""
    registry(tmp_path / "registry", {f"s{number}": None for number in range(10)})
    told = one_round(tmp_path, home, python(tmp_path, rule, panel=3))
    assert (told["confirmed"], told["calls"]) == (12, 1 + 36)


def test_members_of_a_sql_panel_are_told_apart(tmp_path: Path, home: Home) -> None:
    (tmp_path / "judge.sql").write_text(
        "select fp, case when $member = 2 then 'rejected' else 'confirmed' end as verdict, "
        "'seed ' || $seed as reason from findings"
    )
    told = one_round(tmp_path, home, {"kind": "sql", "query": {"file": "judge.sql"}, "panel": 3})
    assert (told["confirmed"], told["calls"]) == (2, 1 + 6)
    assert reason(home).startswith("2 of 3 confirmed; member 2 rejected: seed ")
    assert len({vote["reason"] for vote in json.loads(verdicts(home)["api"]["votes"])}) == 3


@pytest.mark.parametrize("kind", ["command", "python"])
def test_parallel_members_never_make_more_calls_than_the_ceiling_has(tmp_path: Path, home: Home, kind: str) -> None:
    registry(tmp_path / "registry", {f"s{number:02d}": None for number in range(38)})
    if kind == "command":
        judge = command(tmp_path, "say('confirmed')", panel=3)
    else:
        rule = "def rule(finding, material, member):\n    noted(finding, member)\n    return 'confirmed'"
        judge = python(tmp_path, rule, panel=3)
    campaign = campaign_of(tmp_path, home, judge, budget={"rounds": 9, "calls": 11})
    steps(campaign, 1)
    told = summary(home, "small", campaign.id)
    made = calls(tmp_path)
    assert len(made) == 9, "three findings by three members; the tenth call of ten would be a third of a panel"
    assert (told["calls"], budget_of(campaign, 1).used.calls) == (1 + 9, 1 + 9)
    assert (told["confirmed"], told["undecided"]) == (3, 37)
    assert sorted(row["calls"] for row in verdicts(home).values()) == [0] * 37 + [3] * 3
    assert {row["reason"] for row in verdicts(home).values() if row["calls"] == 0} == {"ceiling: calls"}
    asked = {call[0] for call in made}
    first = sorted(verdicts(home).items(), key=lambda item: item[1]["fp"])[:3]
    assert asked == {name for name, _ in first}, "worst first, then by fingerprint"


def test_what_a_person_confirmed_is_not_asked_again_and_stays_confirmed(tmp_path: Path, home: Home) -> None:
    judge = command(tmp_path, "say('rejected')")
    campaign = campaign_of(tmp_path, home, judge, convergence={"rule": "dry", "k": 3})
    steps(campaign, 1)
    deeds.act(campaign, [deeds.Asked("api/no_owner", Deed(Act.CONFIRM, by="ann", reason="it is real"))])
    run_to_its_end(campaign)
    told = summary(home, "small", campaign.id)
    assert (told["confirmed"], told["rejected"], told["rounds"]) == (1, 1, 4)
    assert len(calls(tmp_path)) == 2


STEPS = """
import sys
from pathlib import Path
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay.pipeline import steps
steps(load(Home(Path(sys.argv[1])), "small", sys.argv[2]), 1)
"""


def in_a_process(campaign: Campaign, home: Home) -> subprocess.Popen[bytes]:
    """Run the first round of a campaign in a process of its own, to be disturbed."""
    argv = [sys.executable, "-c", STEPS, str(home.root), campaign.id]
    return subprocess.Popen(argv, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)


def wait_for(path: Path, lines: int) -> None:
    until = time.monotonic() + 120
    while (path.read_bytes().count(b"\n") if path.exists() else 0) < lines and time.monotonic() < until:
        time.sleep(0.05)


def alive(children: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for child in children:
        # One may end between two questions about it.
        with suppress(psutil.NoSuchProcess):
            if child.is_running() and child.status() != psutil.STATUS_ZOMBIE:
                found.append(child)
    return found


@pytest.mark.parametrize("kind", ["command", "python"])
def test_a_round_killed_while_judging_leaves_no_child_and_asks_nobody_twice(
    tmp_path: Path, home: Home, kind: str
) -> None:
    registry(tmp_path / "registry", {f"s{number:02d}": None for number in range(10)})
    hangs = f"if not os.path.exists({str(tmp_path / 'go')!r}) and finding['service'] == 's05': time.sleep(600)"
    if kind == "command":
        judge = command(tmp_path, f"{hangs}\nsay('confirmed')")
    else:
        rule = f"def rule(finding, material):\n    {hangs}\n    noted(finding, 1)\n    return 'confirmed'"
        judge = python(tmp_path, rule)
    campaign = campaign_of(tmp_path, home, judge)
    running = in_a_process(campaign, home)
    said = campaign.folder(1) / VOTES
    wait_for(said, 3)
    children = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(signal.SIGKILL)
    running.wait()
    psutil.wait_procs(children, timeout=60)
    assert children
    assert alive(children) == []
    kept = said.read_bytes().count(b"\n")
    before = calls(tmp_path)
    (tmp_path / "go").touch()
    steps(campaign, 1)
    told = summary(home, "small", campaign.id)
    assert (told["confirmed"], told["undecided"]) == (12, 0)
    assert kept >= 3
    assert len(calls(tmp_path)) - len(before) == 12 - kept
    assert not said.exists()
    assert "calls_lost" in [event["name"] for event in told["events"]]
    assert told["calls"] == 1 + 12 + (12 - kept), "what was under way counts as spent"


def test_an_interrupted_round_kills_the_judges_at_once(tmp_path: Path, home: Home) -> None:
    judge = command(tmp_path, "import signal; signal.signal(15, signal.SIG_IGN); time.sleep(600)")
    running = in_a_process(campaign_of(tmp_path, home, judge), home)
    wait_for(tmp_path / "calls", 2)
    children = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(signal.SIGINT)
    assert running.wait(120) != 0
    assert len(children) == 4, "two judges, and who minds each"
    assert alive(children) == []


def test_one_process_at_a_time_judges_a_round_and_what_it_said_stands(tmp_path: Path, home: Home) -> None:
    registry(tmp_path / "registry", {f"s{number}": None for number in range(3)})
    slow = f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.05)"
    judge = command(tmp_path, f"{slow}\nsay('confirmed')")
    campaign = campaign_of(tmp_path, home, judge, budget={"rounds": 5, "calls": 7})
    first = in_a_process(campaign, home)
    wait_for(tmp_path / "calls", 1)
    with pytest.raises(Busy, match=f"round {campaign.id}-r001 is being judged by another process"):
        rounds.judge(campaign, 1)
    (tmp_path / "go").touch()
    assert first.wait(120) == 0
    assert rounds.judge(campaign, 1).confirmed == 5
    assert len(calls(tmp_path)) == 5
    assert budget_of(campaign, 1).used.calls == 1 + 5


def test_retries_of_a_judge_that_fails_midway_count_though_nobody_was_heard(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(question: Question) -> Generator[Ruling, None, None]:
        yield Ruling(question.calls[0].fp, Verdict.CONFIRMED, usage=Usage(calls=1))
        question.meter.more()
        question.meter.more()
        raise FinderError("its connection is gone")

    monkeypatch.setitem(JUDGES, "command", fails)
    campaign = campaign_of(tmp_path, home, command(tmp_path, "say('confirmed')"))
    steps(campaign, 1)
    assert budget_of(campaign, 1).used.calls == 1 + 2 + 2, "two findings, and both that were set aside for once more"


REFERENCE = Path(__file__).parents[2] / "docs" / "judges.md"
_EXAMPLE = re.compile(
    r"^## (?P<heading>[^\n]+)\n(?:(?!^## ).)*?```yaml\njudge: (?P<judge>[^\n]+)\n```\n\n`(?P<file>\w+\.py)`[^\n]*:\n\n"
    r"```python\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
EXAMPLES = list(_EXAMPLE.finditer(REFERENCE.read_text(encoding="utf-8")))


def test_the_reference_has_an_example_of_each_judge_in_a_child() -> None:
    assert [each["heading"] for each in EXAMPLES] == ["A command that judges", "Python that judges", "Panels"]


@pytest.mark.usefixtures("confined")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each["file"])
def test_an_example_of_the_reference_judges(tmp_path: Path, home: Home, example: re.Match[str]) -> None:
    services = tmp_path / "registry" / "services"
    (services / "db.yaml").write_text("{name: db, labels: {tier: one}, why: exempt}")
    (tmp_path / "registry" / "charter.yaml").write_text("{api: {owner: nobody}, db: {owner: exempt}}")
    (tmp_path / example["file"]).write_text(example["text"])
    found = {"services": "services/*.yaml", "labels": {"file": "services/*.yaml", "at": "/labels"}}
    material = {"kind": "registry", "path": "registry", "map": {**found, "charter": "charter.yaml"}}
    judge = YAML(typ="safe").load(example["judge"])
    path = declare(tmp_path, {"labels": NO_OWNER}, judge=judge, material=material)
    assert [text for text in warnings(read_declaration(path)) if "judge" in text] == []
    campaign = begin(path, home)
    steps(campaign, 1)
    landed = verdicts(home)
    assert (landed["api"]["verdict"], landed["db"]["verdict"]) == ("confirmed", "rejected")
    assert landed["api"]["calls"] == judge.get("panel", 1)


def test_a_process_killed_after_the_verdicts_landed_leaves_no_votes_for_the_next(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(_: Votes) -> None:
        raise KeyboardInterrupt

    registry(tmp_path / "registry", {"api": None})
    campaign = campaign_of(tmp_path, home, command(tmp_path, "say('confirmed')"))
    plan(campaign, 1)
    list(wave(campaign, 1))
    rounds.take_in(campaign, 1)
    with monkeypatch.context() as patched:
        patched.setattr(Votes, "forget", dies)
        with pytest.raises(KeyboardInterrupt):
            rounds.judge(campaign, 1)
    assert (campaign.folder(1) / VOTES).exists()
    rounds.judge(campaign, 1)
    assert not (campaign.folder(1) / VOTES).exists()
    assert pq.read_table(campaign.folder(1) / "verdicts.parquet").column("verdict").to_pylist()[0] == "confirmed"
