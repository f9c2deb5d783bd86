"""A registry whose map finds nothing for a table: who looks there has nothing to look at, and that is said."""

from pathlib import Path

from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

DOWN = "select service, 'down' as failure_mode from live where key = 'up' and value = 'false'"


def test_a_search_that_had_nothing_to_look_at_in_one_of_its_tables_says_so_in_its_verdict(tmp_path: Path) -> None:
    labels = {"file": "services/*.yaml", "at": "/labels"}
    mapped = {"services": "services/*.yaml", "labels": labels, "live": "live.json"}
    material = {"kind": "registry", "path": "registry", "map": mapped}
    registry(tmp_path / "registry", {"api": None, "web": "ann"})
    path, home = declare(tmp_path, {"labels": NO_OWNER, "down": DOWN}, material=material), Home(tmp_path / "home")
    run_to_its_end(begin(path, home, campaign="c1"))
    told = summary(home, "small", "c1")
    assert (told["outcome"], told["empty_sources"]) == ("converged", ["live"])
    assert told["verdict"].endswith("Empty in the material: live.")
    (tmp_path / "registry" / "live.json").write_text('{"api": {"up": "false"}}')
    run_to_its_end(begin(path, home, campaign="c2"))
    told = summary(home, "small", "c2")
    assert (told["new"][0], told["empty_sources"]) == (1, [])
    assert "Empty" not in told["verdict"]
