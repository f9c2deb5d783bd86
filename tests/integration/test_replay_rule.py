"""Recorded rounds under the other rule: what the record tells is worked out, and what it cannot tell is said."""

import json
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay.pipeline import replay, sweep_name
from drysweep_pipeline.replay.recorded import play_recorded
from drysweep_pipeline.replay.scenario import Scenario, read_scenario, under
from drysweep_pipeline.values import Rule
from tests.scenarios import OWN
from tests.sweeps import steps

# One blocker that is contested after the second round, a nit that comes back, and a rejected major.
SCRIPT = """
why: Both rules over the same rounds.
convergence: {{rule: {rule}, k: 2}}
budget: {{rounds: 6, on_exceeded: stop}}
rounds:
  - finders: {{a: [{{subject: s1, kind: k, severity: blocker}}, {{subject: s2, kind: k, severity: nit}}]}}
    verdicts: {{s1/k: confirmed}}
  - finders: {{a: [{{subject: s1, kind: k, severity: blocker}}, {{subject: s3, kind: k, severity: major}}]}}
    verdicts: {{s3/k: rejected}}
    after:
      - contest: {{finding: s1/k, by: ann, evidence: "tests/x.py::test_it"}}
  - finders: {{a: [{{subject: s1, kind: k, severity: blocker}}, {{subject: s4, kind: k, severity: nit}}]}}
  - finders: {{a: [{{subject: s1, kind: k, severity: blocker}}, {{subject: s3, kind: k, severity: major}}]}}
  - finders: {{a: []}}
  - finders: {{a: []}}
expect: {{}}
"""

OF_ONE_CAMPAIGN = ("continue_twice", "redraft_returns_it", "not_run_keeps_valid_rows", "confirm_what_is_undecided")
SEEN = ("seen", "confirmed", "rejected", "undecided", "unjudged", "ledger_seen", "states", "not_searched")


def scenario(tmp_path: Path, rule: str) -> Scenario:
    path = tmp_path / f"{rule}_rounds.yaml"
    path.write_text(SCRIPT.format(rule=rule))
    return read_scenario(path)


@pytest.mark.parametrize(("recorded", "other"), [("dry", Rule.CLEAN), ("clean", Rule.DRY)])
def test_recorded_rounds_under_the_other_rule_are_what_a_search_under_it_decided_of_them(
    tmp_path: Path, recorded: str, other: Rule
) -> None:
    made = scenario(tmp_path, recorded)
    home = Home(tmp_path / "home")
    replay(made, steps, home)
    told = play_recorded(load(home, sweep_name(made), "c1"), rule=other)
    [alone] = replay(under(made, None, other), steps, Home(tmp_path / "other"))
    same = ("reason", "k")
    assert {key: told[key] for key in same} == {key: alone[key] for key in same}
    assert told["rule"] == other
    ended = told["rounds"]
    assert told["new"] == alone["new"][:ended]
    if other is Rule.CLEAN:
        # Rounds three and four are clean: the blocker is contested by then, the major was rejected.
        assert (told["outcome"], ended, told["quiet"]) == ("converged", 4, 2) == (alone["outcome"], 4, alone["quiet"])
        # What was seen is what was seen by then, as it stood then.
        assert {key: told[key] for key in SEEN} == {key: alone[key] for key in SEEN}
        assert (told["seen"], told["states"]["s1/k"]) == (4, "contested")
    else:
        # The record ends before the dry rule would have: what round five would have brought is not made up.
        assert (told["outcome"], ended, told["recorded"]) == ("running", 4, 4)
        assert any("round 5" in said for said in told["unknown"])
        assert any("snapshot" in said for said in told["unknown"])


@pytest.mark.parametrize("path", [path for path in OWN if path.stem in OF_ONE_CAMPAIGN])
def test_a_campaign_under_its_own_rule_is_replayed_to_its_own_end(tmp_path: Path, path: Path) -> None:
    made, home = read_scenario(path), Home(tmp_path)
    for each in replay(made, steps, home):
        campaign = load(home, sweep_name(made), each["campaign"])
        told = play_recorded(campaign, rule=campaign.policy.rule)
        same = ("as_of", "outcome", "reason", "rounds", "quiet", "new", "calls", "events", *SEEN)
        assert {key: told[key] for key in same} == {key: each[key] for key in same}


def test_the_command_takes_a_rule_for_campaigns_and_for_scripts(tmp_path: Path, capsys: Any) -> None:
    made = scenario(tmp_path, "dry")
    home = Home(tmp_path / "home")
    replay(made, steps, home)
    given = [f"{sweep_name(made)}/c1", str(made.path)]
    assert main(["replay", *given, "--rule", "clean", "--home", str(home.root)]) == 0
    recorded, scripted = map(json.loads, capsys.readouterr().out.splitlines())
    assert (recorded["outcome"], recorded["rounds"]) == ("converged", 4) == (scripted["outcome"], scripted["rounds"])
    assert "matches" not in scripted
    assert main(["replay", str(made.path), "--k", "1"]) == 2
    assert main(["replay", *given, "--rule", "wet", "--home", str(home.root)]) == 2
