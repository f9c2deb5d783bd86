"""A nit that was declined and is reported as worse later: what was declined was a nit, and nothing worse."""

from pathlib import Path

from drysweep_pipeline.home import Home
from drysweep_pipeline.replay import pipeline
from drysweep_pipeline.replay.scenario import read_scenario
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.threshold import found

STORY = """
why: A nit is declined, and reported as a blocker the next day.
budget: {rounds: 1}
campaigns:
  - as_of: 2026-01-01
    rounds: [{finders: {a: [{subject: s1, kind: k, severity: nit}]}, after: [{decline: s1/k}]}]
    expect: {}
  - as_of: 2026-01-02
    rounds: [{finders: {a: [{subject: s1, kind: k, severity: REPORTED}]}}]
    expect: {states: {s1/k: declined}}
"""


def told(tmp_path: Path, severity: str) -> tuple[bool, bool]:
    """Return whether a threshold is passed, and whether CI is shown something that needs no looking at."""
    path, home = tmp_path / f"{severity}.yaml", Home(tmp_path / severity)
    path.write_text(STORY.replace("REPORTED", severity))
    pipeline.replay(read_scenario(path), pipeline.steps, home)
    return found(home, severity, "c2", severity), "<skipped" in str(FORMATS["junit"](home, severity, "c2"))


def test_a_declined_nit_that_is_reported_as_a_blocker_is_settled_no_more(tmp_path: Path) -> None:
    assert told(tmp_path, "blocker") == (True, False)
    assert told(tmp_path, "nit") == (False, True), "while it is a nit, it is"
