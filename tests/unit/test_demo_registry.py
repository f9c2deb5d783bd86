import json
import random
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.demo.faults import EXCUSES, MODES, PLACES, VISIBILITIES, Planted, Plantings, worked_case
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.demo.services import clean_services
from drysweep_pipeline.errors import DeclarationError, Refused

SMALL = Plantings(faults={"label_app": 3, "renamed": 2, "config_net": 2}, false_alarms=3)
EXTRA = ("label_app", "live_net", "renamed")


def texts_of(folder: Path) -> dict[str, str]:
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def made(folder: Path, plan: Plantings = SMALL, seed: int = 7, services: int = 120) -> tuple[Planted, dict[str, str]]:
    return generate(folder, seed=seed, services=services, plan=plan), texts_of(folder)


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    assert made(tmp_path / "a") == made(tmp_path / "b")


def test_the_bytes_of_a_seed_are_the_same_on_every_python(tmp_path: Path) -> None:
    _, texts = made(tmp_path / "registry")
    digest = sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()
    assert digest == "7cfb16affb0a32bfe56b3cd7af37fa9aa08233238517aaa04c352ce87d325ccf"


def test_another_seed_writes_another_registry(tmp_path: Path) -> None:
    assert made(tmp_path / "a")[1] != made(tmp_path / "b", seed=8)[1]


def test_the_default_is_four_hundred_services_with_a_file_each(tmp_path: Path) -> None:
    planted = generate(tmp_path / "registry")
    paths = texts_of(tmp_path / "registry").keys()
    assert len([path for path in paths if path.startswith("services/")]) == 400
    assert len([path for path in paths if path.startswith("config/")]) == 400
    assert (len(planted.faults), len(planted.false_alarms)) == (76, 8)


def test_no_file_names_a_failure_mode_or_says_that_something_is_wrong(tmp_path: Path) -> None:
    generate(tmp_path / "registry")
    everything = "\n".join([*texts_of(tmp_path / "registry").values()]).lower()
    telling = ["fault", "misconfig", "planted", "false alarm", "false_alarm", "decoy", "excuse"]
    names = [*MODES, *(name for name in VISIBILITIES if name != "renamed")]
    assert [word for word in [*telling, *names] if word in everything] == []


def test_excuses_are_written_beside_clean_services_too(tmp_path: Path) -> None:
    planted = generate(tmp_path / "registry")
    texts = texts_of(tmp_path / "registry")
    excused = {name: [alarm for alarm in planted.false_alarms if alarm.visibility == name] for name in EXCUSES}
    assert texts["live.json"].count('"drained"') > len(excused["drained"])
    assert texts["charter.yaml"].count("exempt:") > len(excused["exempt"])
    assert texts["charter.yaml"].count("host: 127.0.0.1") > len(excused["loopback"])


def test_every_file_can_be_read_by_an_ordinary_parser(tmp_path: Path) -> None:
    _, texts = made(tmp_path / "registry")
    definitions = {path: YAML(typ="safe").load(text) for path, text in texts.items() if path.startswith("services/")}
    assert all(path == f"services/{definition['name']}.yaml" for path, definition in definitions.items())
    names = {definition["name"] for definition in definitions.values()}
    assert json.loads(texts["live.json"]).keys() == names
    assert len(YAML(typ="safe").load(texts["charter.yaml"])) == len(names)


def test_modification_times_are_declared_for_every_definition_and_config_file(tmp_path: Path) -> None:
    _, texts = made(tmp_path / "registry")
    times = json.loads(texts["modified.json"])
    assert times.keys() == {path for path in texts if "/" in path}
    assert all(datetime.fromisoformat(time).tzinfo is not None for time in times.values())


def test_a_service_can_have_two_faults(tmp_path: Path) -> None:
    planted = generate(tmp_path / "registry")
    assert len({fault.service for fault in planted.faults}) < len(planted.faults)
    assert len({fault.key for fault in planted.faults}) == len(planted.faults)


def test_extra_faults_change_nothing_but_the_services_they_are_planted_in(tmp_path: Path) -> None:
    before, old = made(tmp_path / "old")
    after, new = made(tmp_path / "new", Plantings(faults=SMALL.faults, false_alarms=3, extra=EXTRA))
    assert len(after.extra) == 3
    assert set(after.faults) == {*before.faults, *after.extra}
    assert after.false_alarms == before.false_alarms
    touched = {fault.service for fault in after.extra}
    changed = {path for path in {*old, *new} if old.get(path) != new.get(path)}
    definitions = {path for path in changed if path.startswith("services/")}
    assert definitions <= {f"services/{service}.yaml" for service in touched}
    live, lived = json.loads(new["live.json"]), json.loads(old["live.json"])
    assert {service for service in live if live[service] != lived[service]} <= touched
    assert new["charter.yaml"] == old["charter.yaml"]


def test_extra_faults_are_planted_in_services_that_were_clean(tmp_path: Path) -> None:
    planted, _ = made(tmp_path / "registry", Plantings(faults=SMALL.faults, false_alarms=3, extra=EXTRA))
    others = {fault.service for fault in {*planted.faults, *planted.false_alarms} - {*planted.extra}}
    assert not others & {fault.service for fault in planted.extra}


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(Refused, match="not empty"):
        generate(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_visibility_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="'label_apps'"):
        generate(tmp_path / "registry", plan=Plantings(faults={"label_apps": 1}))


def test_more_faults_than_services_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="too few services"):
        generate(tmp_path / "registry", services=24, plan=Plantings(faults={"label_app": 60}))


def test_ten_thousand_services_have_ten_thousand_names() -> None:
    services = clean_services(random.Random(1), 10_000)
    assert len({service.name for service in services}) == 10_000
    assert len({service.known_as for service in services}) == 10_000


def test_the_worked_case_uses_places_and_modes_that_exist() -> None:
    assert worked_case().keys() <= VISIBILITIES.keys()
    for visibility in [*VISIBILITIES.values(), *EXCUSES.values()]:
        assert {*visibility.places} <= {*PLACES}
        assert {*visibility.modes} <= {*MODES}
