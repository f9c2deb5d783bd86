"""The worked case, from the command line, through the real job, ledger, landing and history."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.demo.faults import Plantings
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.history.reading import query
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Outcome
from tests.sweeps import begin, run_to_its_end


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The demo's home and what ``demo --json`` printed."""
    folder = tmp_path_factory.mktemp("demo") / "home"
    with pytest.MonkeyPatch.context() as patch:
        printed: list[str] = []
        patch.setattr("sys.stdout.write", printed.append)
        code = main(["demo", "--home", str(folder), "--json"])
    assert code == 0
    return folder, json.loads("".join(printed))


def rows(home: Path, sql: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = query(Home(home), sql).to_pylist()
    return found


def sweep_again(home: Path, campaign: str) -> dict[str, Any]:
    """Sweep what the demo left once more, without Dagster, and return what ``run`` would print."""
    declared = home / "assets" / "sweeps" / "config_registry" / "defs.yaml"
    done = run_to_its_end(begin(declared, Home(home), campaign=campaign, as_of=datetime.now(UTC)))
    assert standing(done).outcome is Outcome.CONVERGED
    return dict(summary(Home(home), "config_registry", campaign))


def test_the_demo_finds_61_19_4_and_then_two_rounds_of_nothing(demo: tuple[Path, dict[str, Any]]) -> None:
    _, told = demo
    assert told["new"] == [61, 19, 4, 0, 0]
    assert (told["outcome"], told["reason"], told["k"], told["rounds"], told["quiet"]) == ("converged", None, 2, 5, 2)
    assert (told["seen"], told["confirmed"], told["rejected"], told["ledger_seen"]) == (84, 76, 8, 84)
    assert told["calls"] == 5 * 5 + 84
    assert told["repeats"] == 0
    assert told["verdict"] == (
        "CONVERGED after 5 rounds (K=2): 84 findings seen, 76 confirmed, 8 rejected. These strategies find no more."
    )


def test_the_label_strategy_alone_reaches_43_and_the_window_alone_finds_11(demo: tuple[Path, dict[str, Any]]) -> None:
    home, _ = demo
    found = {row["strategy"]: row for row in rows(home, "select strategy, found, unique_found from strategy_yield")}
    assert found["container_label"]["found"] == 43
    assert found["modified_window"]["unique_found"] == 11


def test_the_eight_that_the_judge_rejects_keep_coming_back_and_appear_in_no_view_of_findings(
    demo: tuple[Path, dict[str, Any]],
) -> None:
    home, told = demo
    rejected = "select fp from all_findings where verdict = 'rejected'"
    again = rows(home, f"select distinct round from sightings where fp in ({rejected}) order by round")
    assert [row["round"] for row in again] == [1, 2, 3, 4, 5]
    assert len(rows(home, "from findings")) == 76
    assert sorted(told["states"].values()).count("rejected") == 8


def test_the_report_for_a_browser_shows_what_fewer_passes_would_have_missed_and_who_shared_what(
    demo: tuple[Path, dict[str, Any]],
) -> None:
    _, told = demo
    shown = Path(told["report"])
    assert shown.suffix == ".html"
    page = shown.read_text(encoding="utf-8")
    assert "Fresh findings a round: 61, 19, 4, 0, 0; 84 met in all. 2 quiet at the end, of K = 2." in page
    assert "container_label found 43, 11 of them alone" in page
    assert "One pass would have missed 23 of 84 findings (27 %)" in page
    assert "2 quiet rounds took 10 of 109 calls (9 %)" in page
    assert page.count("<summary>its life</summary>") == 76
    assert len(page) < 200_000


def test_a_second_campaign_converges_in_k_rounds_and_a_third_finds_just_what_was_planted_since(
    demo: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    home, first = demo
    second = sweep_again(home, "second")
    assert (second["new"], second["calls"], second["seen"]) == ([0, 0], 10, second["confirmed"] + second["rejected"])

    (home / "examples" / "registry").rename(tmp_path / "before")
    planted = generate(home / "examples" / "registry", plan=Plantings(extra=("label_app", "live_net", "renamed")))
    # The angles go on where the second campaign stopped; four rounds bring the third back to the first angle.
    third = sweep_again(home, "third")
    fresh = set(third["states"]) - set(first["states"])
    assert fresh <= {"/".join(fault.key) for fault in planted.extra}
    assert sum(third["new"]) == len(fresh)
