"""The history knows which angles a campaign declares, so that it can say which it never looked along."""

from pathlib import Path

from drysweep_pipeline.engine.campaign import Overrides
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end


def test_the_history_tells_how_often_each_declared_angle_was_looked_along(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    registry(tmp_path / "registry", {"api": None})
    fails_at_c = "select $word as service, 'k' as failure_mode where if($word = 'c', cast($word as integer), 1) > 0"
    angled = {"words": {"angles": [{"word": word} for word in "abcd"]}}
    path = declare(tmp_path, {"words": fails_at_c, "labels": NO_OWNER}, **angled)
    run_to_its_end(begin(path, home, campaign="first", overrides=Overrides(rounds=3)))
    with history(home) as connection:
        told = connection.execute(
            "select strategy, position, angle, looked, not_run, outcome from angles order by 1, 2"
        ).fetchall()
    assert told == [
        ("labels", 1, "{}", 3, 0, "budget_exceeded"),
        ("words", 1, '{"word": "a"}', 1, 0, "budget_exceeded"),
        ("words", 2, '{"word": "b"}', 1, 0, "budget_exceeded"),
        ("words", 3, '{"word": "c"}', 0, 1, "budget_exceeded"),
        ("words", 4, '{"word": "d"}', 0, 0, "budget_exceeded"),
    ]
