"""The JSON Schema takes what drysweep takes, and refuses what it can tell is wrong, at the right place."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from ruamel.yaml import YAML

import drysweep_pipeline
from drysweep_pipeline.cli import main
from drysweep_pipeline.declaration import errors, model
from drysweep_pipeline.declaration.model import Part
from drysweep_pipeline.declaration.refusals import FILLED_IN
from drysweep_pipeline.declaration.schema import json_schema

ROOT = Path(__file__).parents[2]
SCHEMA = json_schema()
VALIDATOR = Draft202012Validator(SCHEMA)
DECLARES = re.compile(r"^type: drysweep_pipeline\.Sweep$", re.MULTILINE)
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FOLDERS = [ROOT / name for name in ("assets", "examples", "docs")] + [
    Path(drysweep_pipeline.__file__).parent / "templates"
]
WHOLE: dict[str, Any] = {
    "type": "drysweep_pipeline.Sweep",
    "attributes": {
        "name": "small",
        "material": {"kind": "files", "path": "material"},
        "fingerprint": {"fields": ["path", "kind"]},
        "strategies": [
            {"name": "one", "kind": "sql", "query": {"file": "one.sql"}},
            {"name": "two", "kind": "command", "argv": ["./two"]},
        ],
        "judge": {"kind": "python", "call": "judging:rule"},
        "budget": {"rounds": 10, "calls": 100},
    },
}
# Where a value is put, the value, and where the schema says that it is wrong.
WRONG: list[tuple[str, Any, str]] = [
    ("type", "drysweep_pipeline.Swoop", "type"),
    ("atributes", {}, ""),
    ("attributes.name", "My Sweep!", "attributes.name"),
    ("attributes.name", 7, "attributes.name"),
    ("attributes.descripton", "a typo", "attributes"),
    ("attributes.material", {"kind": "file", "path": "x"}, "attributes.material.kind"),
    ("attributes.material", {"path": "x"}, "attributes.material"),
    ("attributes.material.map", {}, "attributes.material"),
    ("attributes.fingerprint.fields", [], "attributes.fingerprint.fields"),
    ("attributes.fingerprint.fields", ["path", "path"], "attributes.fingerprint.fields"),
    ("attributes.fingerprint.fields", ["round"], "attributes.fingerprint.fields.0"),
    ("attributes.strategies", [], "attributes.strategies"),
    ("attributes.strategies.0.query", "one.sql", "attributes.strategies.0.query"),
    ("attributes.strategies.0.query.text", "select 1", "attributes.strategies.0.query"),
    ("attributes.strategies.0.argv", ["x"], "attributes.strategies.0"),
    ("attributes.strategies.0.timeout_s", 0, "attributes.strategies.0.timeout_s"),
    ("attributes.strategies.1.argv", [], "attributes.strategies.1.argv"),
    ("attributes.strategies.1.env", ["NOT-A-NAME"], "attributes.strategies.1.env.0"),
    ("attributes.strategies.1.memory_mb", 1, "attributes.strategies.1.memory_mb"),
    ("attributes.judge.call", "judging", "attributes.judge.call"),
    ("attributes.judge.panel", 0, "attributes.judge.panel"),
    ("attributes.convergence", {"k": 1}, "attributes.convergence.k"),
    ("attributes.convergence", {"rule": "wet"}, "attributes.convergence.rule"),
    ("attributes.budget", {"rounds": 10}, "attributes.budget"),
    ("attributes.budget.cost_usd", 0, "attributes.budget.cost_usd"),
    ("attributes.schedule", {"cron": "0 6 * * *", "if_waiting": "wait"}, "attributes.schedule.if_waiting"),
]


def declared_files() -> list[tuple[str, str]]:
    """Every sweep in the repository that is YAML, or stands in a document as an example."""
    files = [path for folder in FOLDERS for path in sorted(folder.rglob("*.yaml"))]
    texts = [(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in files]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
    for page in pages:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        texts += [(f"{page.relative_to(ROOT)}-{number}", text) for number, text in enumerate(blocks)]
    return [(name, text) for name, text in texts if DECLARES.search(text)]


def refused_at(data: Any) -> list[str]:
    return sorted(".".join(map(str, error.absolute_path)) for error in VALIDATOR.iter_errors(data))


def put(data: dict[str, Any], place: str, value: Any) -> dict[str, Any]:
    changed: Any = copy.deepcopy(data)
    *above, last = place.split(".")
    at = changed
    for key in above:
        at = at[int(key)] if isinstance(at, list) else at[key]
    at[last] = value
    return dict(changed)


def parts(of: type[BaseModel] = Part) -> list[type[BaseModel]]:
    """Every part of a declaration; what other modules that happen to be loaded make of them is theirs."""
    found = [each for below in of.__subclasses__() for each in (below, *parts(below))]
    return [each for each in found if each.__module__.startswith(model.__name__)]


def test_the_schema_is_one_of_the_dialect_that_it_names() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(("name", "text"), declared_files(), ids=lambda value: value if len(value) < 90 else "")
def test_every_sweep_in_this_repository_and_its_documents_is_accepted(name: str, text: str) -> None:
    data = YAML(typ="safe").load(text)
    assert refused_at(data) == []


def test_there_are_sweeps_in_documents_as_well_as_in_files() -> None:
    names = [name for name, _ in declared_files()]
    assert len([name for name in names if ".md-" in name]) > 5
    assert len([name for name in names if name.endswith(".yaml")]) > 5


@pytest.mark.parametrize(("place", "value", "where"), WRONG)
def test_what_is_wrong_is_refused_once_where_it_stands_and_the_reader_refuses_it_too(
    place: str, value: Any, where: str, tmp_path: Path
) -> None:
    (tmp_path / "one.sql").write_text("select path, 'x' as kind from files")
    wrong = put(WHOLE, place, value)
    assert refused_at(WHOLE) == []
    assert refused_at(wrong) == [where]
    path = tmp_path / "sweep.yaml"
    path.write_text(json.dumps(wrong))
    assert errors(path) != []


@pytest.mark.parametrize("part", parts(), ids=lambda part: part.__name__)
def test_every_key_that_can_be_declared_says_what_it_is_for(part: type[BaseModel]) -> None:
    silent = [name for name, field in part.model_fields.items() if not field.description and name not in FILLED_IN]
    assert silent == []


def test_no_key_is_offered_that_reading_fills_in() -> None:
    offered = {name for each in SCHEMA["$defs"].values() for name in each.get("properties", {})}
    assert offered & FILLED_IN == set()


def test_the_command_prints_the_schema_writes_it_to_a_file_and_says_where_it_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out) == SCHEMA
    target = tmp_path / "sweep.schema.json"
    assert main(["schema", "--output", str(target), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema_version"], told["file"], told["schema"]) == (1, str(target), SCHEMA)
    assert json.loads(target.read_text()) == SCHEMA
    assert main(["schema", "--output", str(target / "below")]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_the_schema_beside_the_declared_sweeps_is_the_one_that_drysweep_prints() -> None:
    beside = json.loads((ROOT / "assets" / "sweep.schema.json").read_text(encoding="utf-8"))
    assert beside == SCHEMA, "drysweep schema --output assets/sweep.schema.json"
