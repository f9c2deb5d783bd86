"""A search that is to use every angle: an angle along which nobody looked to the end is not used, whatever is quiet."""

from pathlib import Path

from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.repeats import turns_left
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

BROKEN = f"{NO_OWNER} and cast($zone as integer) > 0"


def test_an_angle_that_was_not_run_is_not_used_and_its_quiet_neighbours_do_not_make_up_for_it(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "ann"})
    angles = {"angles": [{"zone": "1"}, {"zone": "2"}, {"zone": "b"}]}
    convergence, budget = {"k": 2, "cover": "all_angles"}, {"rounds": 5, "calls": 200}
    path = declare(tmp_path, {"labels": BROKEN}, labels=angles, convergence=convergence, budget=budget)
    campaign = run_to_its_end(begin(path, Home(tmp_path / "home")))
    now = standing(campaign)
    assert (now.outcome, now.reason, now.rounds, now.quiet) == ("budget_exceeded", "rounds", 5, 2)
    assert turns_left(campaign, 5) == 1, "the next round takes the angle that is left"
    said = summary(campaign.home.home, "small", campaign.id)
    assert "quiet for 2 rounds and not every angle was used; a lower bound." in said["verdict"]
    assert said["why"]["sentence"].endswith("it was quiet for 2 rounds, 1 of 3 angles not used yet")


def test_angles_that_the_query_does_not_use_are_no_new_angles(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "ann"})
    angles = {"angles": [{"zone": "1"}, {"zone": "2"}, {"zone": "3"}]}
    path, home = declare(tmp_path, {"labels": NO_OWNER}, labels=angles), Home(tmp_path / "home")
    run_to_its_end(begin(path, home, campaign="c1"))
    told = summary(home, "small", "c1")
    assert (told["outcome"], told["quiet"], told["repeats"]) == ("converged", 2, 2)
    assert told["verdict"].endswith("2 of the 2 quiet rounds repeated earlier angles.")
