"""Why a campaign does not go quiet, told of real campaigns: one of each cause, and nothing where all is well."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine import deeds, people
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.deeds import Asked
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.reports import write_report
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end, steps

Script = list[Any]


def found(*labels: str, **more: Any) -> list[dict[str, Any]]:
    """Findings as a script reports them, from ``subject/kind``."""
    pairs = (label.split("/", 1) for label in labels)
    return [{"subject": subject, "kind": kind, **more} for subject, kind in pairs]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def scripted(folder: Path, home: Home, strategies: dict[str, Script], **attributes: Any) -> Campaign:
    """Start a campaign whose strategies report what is written down here, a list a round."""
    campaign = attributes.pop("campaign", None)
    rounds = max(len(script) for script in strategies.values())
    sweep = {
        "name": "told",
        "material": {"kind": "scripted"},
        "fingerprint": {"fields": ["subject", "kind"]},
        "strategies": [{"name": name, "kind": "scripted", "rounds": script} for name, script in strategies.items()],
        "budget": {"rounds": rounds, "calls": 1000},
        **attributes,
    }
    path = folder / "told.yaml"
    path.write_text(json.dumps({"type": "drysweep_pipeline.Sweep", "attributes": sweep}))
    return start(home, read_declaration(path), as_of=AS_OF, driver="cli", campaign=campaign)


def why(campaign: Campaign) -> dict[str, str]:
    told = summary(campaign.home.home, campaign.home.name, campaign.id)["why"]
    assert told is not None
    return told


def test_a_strategy_that_keeps_failing_is_named_with_how_often_and_why(tmp_path: Path, home: Home) -> None:
    script = {"linter": [[], "not_run", [], "not_run", [], "not_run"], "reader": [found("api/a"), [], [], [], [], []]}
    told = why(run_to_its_end(scripted(tmp_path, home, script)))
    assert told["cause"] == "failing"
    assert told["sentence"].startswith("linter was not run in 3 of 6 rounds, the last time because of: ")
    assert "take it out of the sweep" in told["lever"]
    assert "reader" not in told["sentence"] + told["lever"]


def test_a_failed_campaign_says_which_strategy_failed(tmp_path: Path, home: Home) -> None:
    script = {"linter": [[], [], *["not_run"] * 3], "reader": [found(f"api/{letter * 9}") for letter in "abcde"]}
    campaign = run_to_its_end(scripted(tmp_path, home, script))
    assert standing(campaign).outcome == "failed"
    assert why(campaign)["sentence"].startswith("linter was not run in 3 of 5 rounds")


def test_a_ceiling_that_leaves_strategies_out_is_not_their_failure(tmp_path: Path, home: Home) -> None:
    script = {"linter": [found("api/first"), found("web/second")], "reader": [[], []]}
    budget = {"rounds": 9, "calls": 3}
    told = why(run_to_its_end(scripted(tmp_path, home, script, budget=budget, judge={"kind": "none"})))
    assert told["cause"] == "unfinished"
    assert "--calls" in told["lever"]


def test_findings_that_are_fixed_and_come_back_are_named(tmp_path: Path, home: Home) -> None:
    clean = {"rule": "clean", "k": 2}
    script = {"reviewer": [found("api/no_tls"), found("api/no_tls"), found("api/no_tls"), found("api/no_tls")]}
    campaign = scripted(tmp_path, home, script, convergence=clean)
    for round in (1, 2, 3, 4):
        steps(campaign, round)
        if round < 4:
            deeds.act(campaign, [Asked("api/no_tls", Deed(Act.FIX, "ann"))])
    told = why(campaign)
    assert told["cause"] == "churn"
    assert told["sentence"] == "1 finding fixed before came back more than once, api/no_tls 3 times"
    assert "instead of fixing it again" in told["lever"]


def test_one_finding_rephrased_is_told_with_the_field_that_varies_and_a_pair(tmp_path: Path, home: Home) -> None:
    said = ["Missing owner label", "missing owner label!", "owner label missing", "Missing owner-label (2)"]
    script = {"reviewer": [found(f"api/{text}") for text in said]}
    told = why(run_to_its_end(scripted(tmp_path, home, script)))
    assert told["cause"] == "rephrased"
    assert told["sentence"].startswith("2 of 2 findings fresh in rounds 3 to 4 are near doubles of earlier ones")
    assert "differ in kind, such as 'api/" in told["sentence"]
    assert told["lever"] == "take kind out of the fingerprint, or have it written in one way"


def test_numbered_things_are_many_findings_and_not_one_rephrased(tmp_path: Path, home: Home) -> None:
    script = {"reader": [found(f"svc-10{n}/no_owner", f"svc-20{n}/no_owner") for n in range(6)]}
    assert why(run_to_its_end(scripted(tmp_path, home, script)))["cause"] == "unfinished"


def test_a_line_that_moves_within_the_fingerprint_is_a_rephrasing(tmp_path: Path, home: Home) -> None:
    script = {"reader": [[{"subject": "a.py", "kind": "bare_except", "line": 30 + n}] for n in range(4)]}
    fields = {"fields": ["subject", "line", "kind"]}
    told = why(run_to_its_end(scripted(tmp_path, home, script, fingerprint=fields)))
    assert (told["cause"], "differ in line" in told["sentence"]) == ("rephrased", True)
    far = {"reader": [[{"subject": "b.py", "kind": "bare_except", "line": 30 * n}] for n in range(1, 5)]}
    other = scripted(tmp_path, home, far, fingerprint=fields, campaign="far")
    assert why(run_to_its_end(other))["cause"] == "unfinished"


def test_false_positives_that_trickle_in_name_the_strategy_that_brings_them(tmp_path: Path, home: Home) -> None:
    names = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot"]
    script = {"guesser": [found(f"{name}/odd") for name in names], "reader": [found("golf/bad"), *[[]] * 5]}
    rejects = {"kind": "scripted", "rounds": [{f"{name}/odd": "rejected"} for name in names]}
    told = why(run_to_its_end(scripted(tmp_path, home, script, judge=rejects)))
    assert told["cause"] == "false_positives"
    assert told["sentence"] == ("3 of 3 findings fresh in rounds 4 to 6 were rejected, 3 of them reported by guesser")
    assert told["lever"] == (
        "tighten guesser, so that it skips them; drysweep findings list told/20260101T000000Z --rejected names them"
    )


def test_a_search_that_is_falling_gets_an_estimate_from_its_numbers(tmp_path: Path, home: Home) -> None:
    names = [
        found(*(f"{letter * (n + 3)}/odd" for n in range(count)))
        for letter, count in zip("abc", (16, 8, 4), strict=True)
    ]
    told = why(run_to_its_end(scripted(tmp_path, home, {"reader": names})))
    assert told["cause"] == "unfinished"
    assert told["sentence"] == (
        "the search is not finished: 4 fresh and 0 reopened in round 3, after 16, 8 fresh in the rounds before"
    )
    # 4 halves three times to less than a half of a finding, which is the first of two quiet rounds.
    option = f" --home {home.root}"
    campaign = told["lever"].split()[2]
    assert told["lever"] == (
        f"`drysweep resume {campaign} --rounds 7{option}`: about 4 more rounds if it goes on as in the last ones"
    )


def test_a_search_that_does_not_fall_gets_no_estimate(tmp_path: Path, home: Home) -> None:
    script = {"reader": [found(f"{letter * 4}/odd", f"{letter * 7}/odd") for letter in "abcd"]}
    told = why(run_to_its_end(scripted(tmp_path, home, script)))
    assert "which leaves open how many it takes" in told["lever"]
    assert "about" not in told["lever"]


def test_angles_that_were_not_used_yet_are_counted(tmp_path: Path, home: Home) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "team"})
    angles = {"angles": [{"n": n} for n in range(6)]}
    budget = {"rounds": 2, "calls": 50}
    campaign = run_to_its_end(
        begin(declare(tmp_path, {"labels": f"{NO_OWNER} and $n >= 0"}, labels=angles, budget=budget), home)
    )
    told = why(campaign)
    assert told["sentence"].endswith("quiet for 1 of the 2 rounds that it takes, 4 of 6 angles not used yet")
    assert "--rounds 8" in told["lever"], "every angle once, and two quiet rounds after the last"


def test_under_the_clean_rule_the_blocking_findings_that_keep_being_raised_are_named(
    tmp_path: Path, home: Home
) -> None:
    script = {"reviewer": [found("api/no_tls", "web/no_owner") + found("db/typo", severity="nit")] * 3}
    campaign = run_to_its_end(scripted(tmp_path, home, script, convergence={"rule": "clean"}))
    told = why(campaign)
    assert told["cause"] == "blocking"
    assert told["sentence"] == (
        "2 unsettled blocking findings raised in round 3: api/no_tls, web/no_owner; api/no_tls in 3 rounds so far"
    )
    deeds.act(campaign, [Asked("api/no_tls", Deed(Act.CONTEST, "ann", evidence="api.py:1"))])
    assert "api/no_tls" not in why(campaign)["sentence"]


def test_nothing_is_said_of_a_campaign_that_converged_runs_as_usual_or_was_stopped(tmp_path: Path, home: Home) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "team"})
    path = declare(tmp_path, {"labels": NO_OWNER})
    converged = run_to_its_end(begin(path, home, campaign="one"))
    assert summary(home, "small", "one")["why"] is None
    begun = begin(path, home, campaign="two")
    assert summary(home, "small", "two")["why"] is None
    steps(begun, 1)
    assert summary(home, "small", "two")["why"] is None
    people.answer(begun, Answer("stop", "ann"))
    assert summary(home, "small", "two")["why"] is None
    assert "does not go quiet" not in write_report(home, "small", converged.id)["md"].read_text()


def test_one_that_runs_far_longer_than_its_forerunners_says_so_while_it_runs(tmp_path: Path, home: Home) -> None:
    quick = {"reader": [found("api/first"), [], []]}
    for name in ("one", "two"):
        run_to_its_end(scripted(tmp_path, home, quick, campaign=name))
    words = ["alder", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel", "iroko"]
    long = {"reader": [found(f"{word}/odd") for word in words]}
    campaign = scripted(tmp_path, home, long, budget={"rounds": 50, "calls": 1000}, campaign="three")
    for round in range(1, 7):
        steps(campaign, round)
    assert summary(home, "told", "three")["why"] is None
    for round in (7, 8):
        steps(campaign, round)
    told = why(campaign)
    assert told["cause"] == "unfinished"
    assert told["sentence"].endswith("(round 8, where 2 campaigns before it took 2.5)")
    assert told["lever"].startswith("let it run on")


def test_the_command_that_helps_is_printed_once_with_what_it_does(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    script = {"reader": [found("alder/odd", "birch/odd"), found("cedar/odd", "dogwood/odd")]}
    campaign = run_to_its_end(scripted(tmp_path, home, script, budget={"rounds": 2, "calls": 100}, campaign="mine"))
    told = why(campaign)
    assert (told["cause"], told["lever"].startswith("`drysweep resume told/mine")) == ("unfinished", True)
    assert main(["status", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"why it does not go quiet: {told['sentence']}" in lines
    assert sum("drysweep resume" in line for line in lines) == 1


def test_it_is_in_status_before_the_verdict_and_in_both_reports(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    script = {"reader": [found(f"{letter * 4}/odd", f"{letter * 7}/odd") for letter in "abcd"]}
    campaign = run_to_its_end(scripted(tmp_path, home, script, campaign="mine"))
    told = why(campaign)
    assert main(["status", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert f"why it does not go quiet: {told['sentence']}" in lines[:-1]
    assert lines[-1].startswith("NOT CONVERGED")
    files = write_report(home, "told", "mine")
    assert json.loads(files["json"].read_text())["why"] == told
    report = files["md"].read_text()
    assert f"**Why it does not go quiet:** {told['sentence']}." in report
    command = f"drysweep resume told/mine --rounds 8 --home {home.root}"
    assert told["lever"].startswith(f"`{command}`")
    assert f"**What helps:** `{command}`: the numbers" in report, "as code that pastes"
    assert f"Go on under wider ceilings: `{command}`: the numbers" in report, "and the same where the steps are"
    assert [line for line in lines if " resume " in line and line.startswith("  ")] == [f"  {command}"]


def resumed(told: dict[str, str]) -> int:
    """Give the ``resume`` that a lever names, as a person pastes it, and return the exit code."""
    return main(shlex.split(told["lever"].split("`")[1])[1:])


def test_the_resume_that_is_named_uses_every_angle_and_then_goes_quiet(tmp_path: Path, home: Home) -> None:
    registry(tmp_path / "registry", {f"s{n}": None for n in range(5)})
    one_each = f"select * from ({NO_OWNER}) where service = 's' || $n"
    angles = {"angles": [{"n": n} for n in range(5)]}
    budget = {"rounds": 3, "calls": 6, "on_exceeded": "ask"}
    cover = {"k": 2, "cover": "all_angles"}
    path = declare(tmp_path, {"labels": one_each}, labels=angles, budget=budget, convergence=cover)
    campaign = run_to_its_end(begin(path, home, campaign="mine"))
    told = summary(home, "small", "mine")
    # Two angles are left and K is 2; a round is one call, and three were spent.
    command = f"drysweep resume small/mine --rounds 7 --calls 7 --home {home.root}"
    assert f"`{command}`" in told["why"]["lever"]
    assert command in told["waits_for"]["commands"]
    assert resumed(told["why"]) == 0
    assert (standing(campaign).outcome, standing(campaign).rounds) == ("converged", 7)


def test_calls_that_a_ceiling_kept_from_the_judge_are_in_the_resume_that_is_named(tmp_path: Path, home: Home) -> None:
    script = {"reader": [found(*(f"{letter * 5}/odd" for letter in "abcdefgh")), [], []]}
    budget, judge = {"rounds": 9, "calls": 5}, {"kind": "scripted", "rounds": [{}]}
    campaign = run_to_its_end(scripted(tmp_path, home, script, budget=budget, judge=judge, campaign="mine"))
    assert (standing(campaign).outcome, standing(campaign).reason) == ("budget_exceeded", "calls")
    assert resumed(why(campaign)) == 0
    assert standing(campaign).outcome == "converged"
    assert summary(home, "told", "mine")["undecided"] == 0


def test_who_brings_most_of_what_is_fresh_late_is_named(tmp_path: Path, home: Home) -> None:
    words = ["alder", "birch", "cedar", "dogwood", "elm", "fir"]
    script = {"drip": [found(f"{word}/odd") for word in words], "reader": [found("golf/bad"), *[[]] * 5]}
    told = why(run_to_its_end(scripted(tmp_path, home, script)))
    assert told["sentence"].endswith("3 of 3 findings fresh in rounds 4 to 6 brought by drip")


def test_a_strategy_that_fails_at_one_of_its_angles_is_named_with_it_in_the_diagnosis_and_by_status(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    registry(tmp_path / "registry", {"api": None, "web": None})
    broken = f"{NO_OWNER} and cast($zone as integer) > 0"
    angles = {"angles": [{"zone": "1"}, {"zone": "b"}]}
    path = declare(tmp_path, {"labels": broken}, labels=angles, budget={"rounds": 4, "calls": 200})
    told = why(run_to_its_end(begin(path, home, campaign="mine")))
    assert told["cause"] == "failing"
    assert told["sentence"].startswith('labels was not run in 2 of 4 rounds, each time at its angle {"zone": "b"}, ')
    assert main(["status", "mine"]) == 0
    assert 'rounds 2, 4: labels counts as not run at {"zone": "b"}: ' in capsys.readouterr().out


def test_a_judge_that_answers_on_little_is_why_and_says_how_little(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    registry(tmp_path / "registry", {"api": None, "db": None, "web": None})
    (tmp_path / "judging.py").write_text(
        "def rule(finding, material):\n    return {'api': 'confirmed'}[finding['service']]\n"
    )
    judge = {"kind": "python", "call": "judging:rule"}
    path = declare(tmp_path, {"labels": NO_OWNER}, judge=judge, budget={"rounds": 2, "calls": 50})
    campaign = run_to_its_end(begin(path, home, campaign="mine"))
    told = summary(home, "small", "mine")
    failed = [event["reason"] for event in told["events"] if event["name"] == "judge_failed"]
    assert [reason.partition(", the first: ")[0] for reason in failed] == [
        *("2 of 3 findings got no answer", "2 of 2 findings got no answer")
    ]
    assert all("KeyError" in reason for reason in failed)
    assert why(campaign) == {
        "cause": "judge_silent",
        "sentence": "the judge gave no answer on 2 of the 3 findings seen, which leaves them undecided",
        "lever": "mend the judge, and start another campaign",
    }
    assert main(["status", "mine"]) == 0
    assert "round 1: the judge failed: 2 of 3 findings got no answer" in capsys.readouterr().out


def test_a_judge_that_says_undecided_itself_and_a_ceiling_are_no_failure_of_the_judge(
    tmp_path: Path, home: Home
) -> None:
    script = {"reader": [found("api/a", "db/b", "web/c"), [], []]}
    said = {"kind": "scripted", "rounds": [{"api/a": "undecided"}, {"api/a": "undecided"}]}
    campaign = run_to_its_end(scripted(tmp_path, home, script, judge=said, budget={"rounds": 9, "calls": 3}))
    told = summary(home, "told", campaign.id)
    assert told["undecided"] >= 1
    assert "judge_failed" not in [event["name"] for event in told["events"]]
