"""Each kind of finder has a page, and the example on it can be copied as it is."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin, run_to_its_end

DOCS = Path(__file__).parents[2] / "docs" / "finders"
_BLOCK = re.compile(r"^`(?P<file>[\w.]+)`[^\n]*:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("sql.md", ["a.py/too_long", "c.md/too_long"]),
        ("command.md", ["a.py/todo", "b.md/todo"]),
        ("python.md", ["a.py/long", "c.md/long"]),
    ],
)
def test_the_example_of_a_page_finds_what_it_says(tmp_path: Path, page: str, found: list[str]) -> None:
    (tmp_path / "notes").mkdir()
    for name, text in {"a.py": "# TODO x\n" * 100, "b.md": "TODO\n", "c.md": "x\n" * 1000}.items():
        (tmp_path / "notes" / name).write_text(text)
    blocks = {match["file"]: match["text"] for match in _BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))}
    for name, text in blocks.items():
        (tmp_path / name).write_text(text)
    [name] = [name for name in blocks if name.endswith(".yaml")]
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(tmp_path / name, home))
    sweep = YAML(typ="safe").load(blocks[name])["attributes"]["name"]
    told = summary(home, sweep, campaign.id)
    assert (told["outcome"], sorted(told["states"])) == ("converged", found)
    assert told["events"] == []
