"""Looking beyond convergence: what K missed is counted, and nothing takes the convergence back."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Campaign, Overrides, load
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.verifying import verify
from drysweep_pipeline.replay.recorded import play_recorded
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin, declare, registry, run_to_its_end, steps

# Looks at one service a round, in the order of the angles: the round in which it comes to `late` is beyond K=2.
ONE_A_ROUND = """
    select s.service, 'no_owner' as failure_mode
    from services s
    where s.service = $name and not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""
CUT = {"cut_short": None}
ANGLES = [{"name": name} for name in ("bad", "ok", "good", "fine", "late", "well")]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    owners = {angle["name"]: None if angle["name"] in ("bad", "late") else "team" for angle in ANGLES}
    registry(tmp_path / "registry", owners)
    return Home(tmp_path / "home")


def begun(tmp_path: Path, home: Home, past: int | None, **attributes: Any) -> Campaign:
    path = declare(tmp_path, {"one": ONE_A_ROUND}, one={"angles": ANGLES}, **attributes)
    return begin(path, home, campaign="c1", overrides=Overrides(past=past))


def test_what_k_missed_is_counted_and_the_campaign_has_converged_all_the_same(tmp_path: Path, home: Home) -> None:
    campaign = run_to_its_end(begun(tmp_path, home, 3))
    told = summary(home, "small", "c1")
    assert (told["outcome"], told["reason"], told["quiet"]) == ("converged", None, 2)
    assert (told["rounds"], told["new"]) == (6, [1, 0, 0, 0, 1, 0])
    assert told["past"] == {"converged_at": 3, "seen_by_then": 1, "rounds": 3, "incomplete": 0, "missed": 1} | CUT
    assert told["verdict"].startswith(
        "CONVERGED after 3 rounds (K=2): 1 finding seen by then, 1 more in the rounds beyond it; of all, "
    )
    assert "3 rounds beyond it brought 1 finding that K=2 missed." in told["verdict"]
    assert "find no more" not in told["verdict"]
    assert read_state(campaign.state_path).next is None  # type: ignore[union-attr]
    with history(home) as connection:
        assert connection.execute("select missed_by_k from campaigns").fetchall() == [(1,)]
    assert list(verify(home, "small")) == []


def test_every_format_says_what_k_missed_and_that_counts_are_a_lower_bound(tmp_path: Path, home: Home) -> None:
    run_to_its_end(begun(tmp_path, home, 3))
    text = {name: render(home, "small", "c1") for name, render in FORMATS.items()}
    campaign, *found, _ = (json.loads(line) for line in text["jsonl"].splitlines())
    rows = [*csv.DictReader(io.StringIO(text["csv"]))]
    table = pq.read_table(io.BytesIO(text["parquet"]))
    said = [json.loads(text["json"]), json.loads(text["sarif"])["runs"][0]["properties"], campaign, *found]
    said += [*table.to_pylist(), json.loads(table.schema.metadata[b"drysweep"])]
    assert {(each["outcome"], each["missed_by_k"], each["lower_bound"]) for each in said} == {("converged", 1, True)}
    assert {(each["missed_by_k"], each["lower_bound"]) for each in rows} == {("1", "true")}
    for name, value in (("missed_by_k", 1), ("lower_bound", "true"), ("quiet", 2), ("converged_at", 3)):
        assert f'<property name="{name}" value="{value}" />' in text["junit"]
    assert 'drysweep_missed_by_k{sweep="small"} 1.0' in text["openmetrics"]
    assert 'drysweep_quiet_rounds{sweep="small"} 2.0' in text["openmetrics"]
    assert "when the campaign converged" in text["openmetrics"]
    assert "| quiet when it converged | 2 |" in text["md"]
    assert "quiet at the end" not in text["md"] + text["html"]
    assert "2 quiet up to round 3, where it converged, of K = 2" in text["html"]
    assert "counts are a lower bound" in text["html"]
    assert text["github"].startswith("::notice title=drysweep small::CONVERGED after 3 rounds (K=2): 1 finding seen by")


def test_a_campaign_that_looks_beyond_its_convergence_says_so_meanwhile(
    tmp_path: Path, home: Home, capsys: Any
) -> None:
    campaign = begun(tmp_path, home, 3)
    for round in (1, 2, 3, 4):
        steps(campaign, round)
    said = summary(home, "small", "c1")["verdict"]
    assert "quiet for 2 rounds at round 3, looking beyond it; it has not ended." in said
    assert main(["status", "c1", "--home", str(home.root)]) == 0
    told = capsys.readouterr().out
    assert "round 5 is due, driven by the command line; no process works on it, `drysweep resume` goes on\n" in told


def test_the_list_of_campaigns_counts_what_k_missed(tmp_path: Path, home: Home, capsys: Any) -> None:
    run_to_its_end(begun(tmp_path, home, 3))
    assert main(["campaigns", "--home", str(home.root)]) == 0
    assert "small/c1 looked beyond its convergence: K=2 missed 1\n" in capsys.readouterr().out
    assert main(["campaigns", "--home", str(home.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["campaigns"][0]["missed_by_k"] == 1


def test_rounds_beyond_that_bring_nothing_say_so(tmp_path: Path, home: Home) -> None:
    run_to_its_end(begun(tmp_path, home, 1))
    told = summary(home, "small", "c1")
    assert told["past"] == {"converged_at": 3, "seen_by_then": 1, "rounds": 1, "incomplete": 0, "missed": 0} | CUT
    assert told["verdict"].endswith("These strategies find no more. 1 round beyond it brought nothing that K=2 missed.")


def test_who_looks_no_further_has_nothing_to_say_of_it(tmp_path: Path, home: Home) -> None:
    run_to_its_end(begun(tmp_path, home, None))
    told = summary(home, "small", "c1")
    assert (told["rounds"], told["past"]) == (3, None)


@pytest.mark.parametrize(
    ("budget", "rounds", "cut"), [({"rounds": 4, "calls": 100}, 4, "rounds"), ({"rounds": 9, "calls": 5}, 5, "calls")]
)
def test_ceilings_hold_beyond_convergence_and_do_not_take_it_back(
    tmp_path: Path, home: Home, budget: dict[str, int], rounds: int, cut: str
) -> None:
    run_to_its_end(begun(tmp_path, home, 6, budget=budget))
    told = summary(home, "small", "c1")
    assert (told["outcome"], told["reason"], told["rounds"]) == ("converged", None, rounds)
    assert told["past"]["cut_short"] == cut
    assert f"({cut} cut them short)" in told["verdict"]


def test_a_strategy_that_keeps_failing_ends_the_looking_and_not_the_convergence(tmp_path: Path, home: Home) -> None:
    fails = [*ANGLES[1:4], *({"name": "x"} for _ in range(6))]
    query = ONE_A_ROUND + " and (select cast(if($name = 'x', 'none', '1') as integer)) = 1"
    path = declare(tmp_path, {"one": query}, one={"angles": fails})
    run_to_its_end(begin(path, home, campaign="c1", overrides=Overrides(past=6)))
    told = summary(home, "small", "c1")
    assert (told["outcome"], told["past"]["cut_short"]) == ("converged", "not_run")
    said = "4 rounds beyond it (not_run cut them short), 3 of them without every strategy, brought nothing"
    assert said in told["verdict"], "failure is not silence beyond it either"


def test_a_person_may_stop_the_looking_beyond_and_the_campaign_has_converged(tmp_path: Path, home: Home) -> None:
    campaign = begun(tmp_path, home, 3)
    for round in (1, 2, 3, 4):
        steps(campaign, round)
    assert standing(campaign).due == 5
    people.answer(campaign, Answer("stop", "ann"))
    told = summary(home, "small", "c1")
    assert (told["outcome"], told["past"]["rounds"]) == ("converged", 1)
    assert "1 round beyond it (a person cut them short) brought nothing that K=2 missed." in told["verdict"]


def test_a_replay_agrees_and_tells_what_another_k_would_have_missed(tmp_path: Path, home: Home) -> None:
    campaign = run_to_its_end(begun(tmp_path, home, 3))
    own = play_recorded(campaign)
    assert [own[key] for key in ("outcome", "rounds", "quiet", "missed", "unknown")] == ["converged", 6, 2, 1, []]
    assert own["events"] == summary(home, "small", "c1")["events"]
    three = play_recorded(campaign, k=3)
    # The round that would have brought the last one is not one of these.
    assert (three["seen"], len(three["states"]), own["seen"]) == (own["seen"] - 1, own["seen"] - 1, len(own["states"]))
    assert "convergence_reached" not in {event["name"] for event in three["events"]}
    assert [three[key] for key in ("outcome", "rounds", "missed")] == ["converged", 4, 1]
    four = play_recorded(campaign, k=4)
    assert (four["outcome"], four["missed"]) == ("running", 0)
    assert (four["recorded_outcome"], four["recorded_reason"]) == ("converged", None), "which is not flattened into it"


def test_no_round_beyond_is_no_number_of_rounds(tmp_path: Path, home: Home, capsys: Any) -> None:
    with pytest.raises(DeclarationError, match="looks at no round"):
        begun(tmp_path, home, 0)
    assert main(["run", str(tmp_path / "sweep.yaml"), "--past", "0", "--home", str(home.root), "--json"]) == 2
    assert "looks at no round" in json.loads(capsys.readouterr().out)["error"]


def test_a_run_that_ended_in_the_middle_of_a_round_beyond_convergence_goes_on_there(
    tmp_path: Path, home: Home, capsys: Any
) -> None:
    campaign = begun(tmp_path, home, 3)
    for round in (1, 2, 3, 4):
        steps(campaign, round)
    plan(campaign, 5)
    list(wave(campaign, 5))
    now = standing(load(home, "small", "c1"))
    assert (now.outcome, now.converged_at) == ("running", 3)
    assert main(["resume", "c1", "--home", str(home.root), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["past"] == {"converged_at": 3, "seen_by_then": 1, "rounds": 3, "incomplete": 0, "missed": 1} | CUT
