"""Three scripted campaigns of one sweep, small enough for every number in their history to be counted by hand."""

from pathlib import Path
from typing import Any

from drysweep_pipeline.durable import make_private
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import opened
from drysweep_pipeline.replay import pipeline
from drysweep_pipeline.replay.scenario import Scenario, read_scenario

STORY = """\
why: What the named queries are asked about.
budget: {rounds: 4}
campaigns:
  - as_of: 2025-01-01
    rounds:
      - finders:
          a: [{subject: s1, kind: k, severity: blocker, owner: ada}, {subject: s2, kind: k}, {subject: junk, kind: k}]
          b:
            - {subject: s1, kind: k, severity: blocker, owner: ada}
            - {subject: junk, kind: k}
            - {subject: s6, kind: k, severity: minor}
        verdicts: {junk/k: rejected}
      - finders:
          a: [{subject: junk, kind: k}]
          b: [{subject: s3, kind: k, severity: minor, owner: bob}, {subject: noise, kind: k, severity: blocker}]
        verdicts: {noise/k: rejected}
      - finders: {a: [], b: [{subject: junk, kind: k}]}
      - finders: {a: [{subject: s4, kind: k, severity: blocker}], b: []}
        after:
          - fix: s1/k
          - accept_risk: {finding: s2/k, by: eve, expires: 2025-03-01}
          - accept_risk: {finding: s6/k, by: eve, expires: 2026-01-01}
    expect: {outcome: budget_exceeded, new: [4, 2, 0, 1], calls: 15}
  - as_of: 2025-02-01
    rounds:
      - finders:
          a: [{subject: s1, kind: k, severity: blocker, owner: ada}]
          b: [{subject: s4, kind: k, severity: blocker}]
      - finders: {a: [], b: not_run}
      - finders: {a: [{subject: junk, kind: k}], b: []}
      - finders: {a: [], b: []}
        after: [fix: s1/k]
    expect: {outcome: converged, new: [0, 0, 0, 0]}
  - as_of: 2025-03-05
    rounds:
      - finders:
          a: [{subject: s3, kind: k, severity: minor, owner: bob}, {subject: s5, kind: k, owner: ada}]
          b: [{subject: s3, kind: k, severity: minor, owner: bob}]
      - finders: {a: [], b: []}
      - finders: {a: [], b: []}
    expect: {outcome: converged, new: [1, 0, 0]}
"""


def tell(folder: Path, name: str = "story", story: str = STORY) -> Home:
    """Play a story as a sweep of that name, against real ledgers under ``folder``, and return their home."""
    path = folder / f"{name}.yaml"
    path.write_text(story, encoding="utf-8")
    home = Home(folder / "home")
    answers = replayed(read_scenario(path), home)
    assert all(answer["matches"] for answer in answers), answers
    return home


def replayed(scenario: Scenario, home: Home) -> list[dict[str, Any]]:
    """Play a scenario with its ledger open all the while: opening it for each step is a fifth of what that takes."""
    ledger = home.sweep(pipeline.sweep_name(scenario)).ledger
    make_private(ledger.parent)
    with opened(ledger):
        return pipeline.replay(scenario, pipeline.steps, home)
