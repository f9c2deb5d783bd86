"""Backfills over dated material: one ceiling on calls for all campaigns, whatever was recorded or stopped before."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Campaign, campaigns
from drysweep_pipeline.engine.journal import spent, standing
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin, declare, registry, steps

# Finds something new in every round, so that only a ceiling ends it.
ALWAYS_NEW = "select 'x' || $round as service, 'm' as failure_mode"
BACKFILL = ["backfill", "sweep.yaml", "--from", "2026-01-01", "--to", "2026-01-02"]


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """The campaign of the first of two dates, as an earlier backfill recorded it."""
    for day in (1, 2):
        registry(tmp_path / "dated" / f"2026-01-0{day}", {"api": None})
    material = {"kind": "registry", "path": "dated/{as_of}", "map": {"services": "services/*.yaml"}}
    path = declare(tmp_path, {"moving": ALWAYS_NEW}, material=material, budget={"rounds": 8, "calls": 20})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    return begin(path, Home(tmp_path / "home"), as_of=datetime(2026, 1, 1, tzinfo=UTC), campaign="20260101T000000Z")


def test_a_campaign_that_may_take_more_calls_than_are_left_is_not_gone_on_with(
    first: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    steps(first, 1)
    assert main([*BACKFILL, "--calls", "3"]) == 3
    err = capsys.readouterr().err
    assert f"{first.id} may take 20 calls, 3 of 3 are left; give a higher --calls" in err
    assert "2 dates were not swept" in err
    assert standing(first).rounds == 1
    assert campaigns(first.home.home, "small") == [first.id]


def test_calls_of_a_round_that_was_never_decided_are_spent_all_the_same(
    first: Campaign, capsys: pytest.CaptureFixture[str]
) -> None:
    plan(first, 1)
    list(wave(first, 1))
    people.answer(first, Answer("stop", "ann"))
    told = summary(first.home.home, "small", first.id)
    assert (told["outcome"], told["rounds"], told["calls"]) == ("stopped", 0, 1)
    assert spent(first).calls == 1
    assert main([*BACKFILL, "--calls", "1"]) == 3, "none is left for the second date"
    assert "1 dates were not swept" in capsys.readouterr().err
    assert campaigns(first.home.home, "small") == [first.id]


def test_who_interrupts_a_backfill_is_told_how_its_campaign_and_the_other_dates_go_on(
    first: Campaign, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("drysweep_pipeline.cli.driving._to_where_it_stops", interrupted)
    assert main(BACKFILL) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("interrupted; `")
    assert f" resume small/{first.id} " in said
    assert said.endswith("last whole round; the same `backfill` again goes on with it and with the dates after it")
