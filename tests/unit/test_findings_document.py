"""``docs/findings.md`` says what is there: the transitions, the acts, and examples that are taken as they are."""

import re
from pathlib import Path

from ruamel.yaml import YAML

from drysweep_pipeline.cli.findings import app
from drysweep_pipeline.deed_files import ACTS, read_actions
from drysweep_pipeline.lifecycle import TRANSITIONS, Act, Deed
from drysweep_pipeline.orchestration.findings import FindingsConfig, _asked

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_table_of_transitions_is_the_one_that_is_kept_to() -> None:
    listed = re.findall(r"^\| `(\w+)` \| `(\w+)` \| `(\w+)` \|$", TEXT, re.MULTILINE)
    assert listed == [(state.value, act.value, to.value) for (state, act), to in TRANSITIONS.items()]


def test_every_command_for_findings_is_named_here_in_the_readme_and_in_the_reference() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    reference = (ROOT / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    for command in app.registered_commands:
        assert f"findings {command.name}" in TEXT
        assert re.search(rf"^\| .*`[^`]*findings [^|]*\b{command.name}\b", readme, re.MULTILINE)
        assert re.search(rf"^#### drysweep findings {command.name}$", reference, re.MULTILINE)


def test_every_key_of_an_action_is_named() -> None:
    keys = {key for act in ACTS.values() for key in act.model_fields}
    assert [key for key in keys if f"`{key}`" not in TEXT] == []


def test_the_example_of_a_file_has_every_act_of_people_and_is_taken() -> None:
    assert {each.deed.act for each in read_actions(Path("decided.yaml"), EXAMPLES[0])} == set(ACTS)


def test_the_example_for_the_launchpad_is_taken() -> None:
    given = YAML(typ="safe").load(EXAMPLES[1])["ops"]["endpoints_record_acts"]["config"]
    config = FindingsConfig(**given)
    asked = [each for number, act in enumerate(config.acts) for each in _asked(number, act)]
    assert [each.finding for each in asked] == ["api/no_owner", "web/no_owner", "job/no_owner"]
    assert asked[0].deed == Deed(Act.CONTEST, "ann", "services/api.yaml:3", "the owner is in line 3")
