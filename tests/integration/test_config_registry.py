"""The worked case: five blind strategies, real SQL, a generated registry, and a loop of ten lines."""

import filecmp
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest
from ruamel.yaml import YAML

import drysweep_pipeline
from drysweep_pipeline.declaration.model import RegistryMaterial
from drysweep_pipeline.demo.faults import EXCUSES, VISIBILITIES, Fault, Planted, Plantings
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.demo.services import PREFIXES, WINDOWS
from drysweep_pipeline.material import freeze
from drysweep_pipeline.sandbox import check_query

TEMPLATE = Path(drysweep_pipeline.__file__).parent / "templates" / "config_registry"
DEPLOYED = Path(__file__).parents[2] / "assets" / "sweeps" / "config_registry"
DECLARED = YAML(typ="safe").load((TEMPLATE / "defs.yaml").read_text())["attributes"]
STRATEGIES = {strategy["name"]: strategy for strategy in DECLARED["strategies"]}
ANGLES = 5
PLACE_OF = {"container_label": "label", "config_pattern": "config", "live_vs_charter": "live"}
FINDINGS = "create temp table findings(fp uuid, service varchar, field varchar, failure_mode varchar)"

Identity = tuple[str, str, str]
Wave = dict[str, set[Identity]]


@dataclass(frozen=True)
class Swept:
    """A registry on disk, frozen, with what was planted in it."""

    planted: Planted
    database: Path
    folder: Path

    def look(self, round: int) -> Wave:
        """Return what each strategy reports in a round; the angles start again after the last."""
        with duckdb.connect(self.database, read_only=True) as connection:
            return {name: set(self._report(connection, name, round)) for name in STRATEGIES}

    def _report(self, connection: duckdb.DuckDBPyConnection, name: str, round: int) -> Iterator[Identity]:
        angles = STRATEGIES[name]["angles"]
        query = (TEMPLATE / STRATEGIES[name]["query"]["file"]).read_text()
        answer = connection.execute(query, angles[(round - 1) % len(angles)])
        at = [[column[0] for column in answer.description].index(field) for field in DECLARED["fingerprint"]["fields"]]
        for row in answer.fetchall():
            yield row[at[0]], row[at[1]], row[at[2]]

    def judge(self, found: set[Identity]) -> dict[Identity, str]:
        """Return the judge's verdict on each finding."""
        with duckdb.connect(self.database, read_only=True) as connection:
            connection.execute(FINDINGS)
            for identity in sorted(found):
                connection.execute("insert into findings values (uuid(), ?, ?, ?)", identity)
            given = connection.execute("select fp, service, field, failure_mode from findings").fetchall()
            rulings = connection.execute((TEMPLATE / DECLARED["judge"]["query"]["file"]).read_text()).fetchall()
        assert len(rulings) == len(given)
        assert all(reason for _, _, reason in rulings)
        said = {fp: verdict for fp, verdict, _ in rulings}
        return {(service, field, mode): said[fp] for fp, service, field, mode in given}


def swept(folder: Path, plan: Plantings, seed: int = 7) -> Swept:
    planted = generate(folder / "registry", seed=seed, plan=plan)
    material = RegistryMaterial.model_validate({**DECLARED["material"], "path": "registry"})
    snapshot = freeze(material, folder, datetime(2026, 6, 1, tzinfo=UTC), folder / "snapshots")
    assert snapshot.unreadable() == []
    return Swept(planted, snapshot.database, folder / "registry")


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return swept(tmp_path_factory.mktemp("case"), Plantings())


@pytest.fixture(scope="module")
def waves(case: Swept) -> list[Wave]:
    return [case.look(round) for round in range(1, ANGLES + 1)]


def everything(wave: Wave) -> set[Identity]:
    return set().union(*wave.values())


def search(
    look: Callable[[int], Wave],
    seen: set[Identity],
    remember: Callable[[set[Identity]], set[Identity]] = lambda fresh: fresh,
    most: int = 22,
) -> list[int]:
    """Search until two rounds running bring nothing new, or ``most`` rounds; return how many each brought."""
    fresh_counts: list[int] = []
    while fresh_counts[-2:] != [0, 0] and len(fresh_counts) < most:
        fresh = everything(look(len(fresh_counts) + 1)) - seen
        seen |= remember(fresh)
        fresh_counts.append(len(fresh))
    return fresh_counts


def keys(faults: tuple[Fault, ...]) -> set[Identity]:
    return {fault.key for fault in faults}


def test_the_rounds_bring_61_19_4_0_and_0_new_findings_84_in_all(case: Swept) -> None:
    seen: set[Identity] = set()
    assert search(case.look, seen) == [61, 19, 4, 0, 0]
    assert len(seen) == 84


def test_the_label_strategy_alone_reaches_43_of_the_84(waves: list[Wave]) -> None:
    assert len(set().union(*(wave["container_label"] for wave in waves))) == 43


def test_eleven_renamed_services_are_found_by_the_window_alone(case: Swept, waves: list[Wave]) -> None:
    by_window = set().union(*(wave["modified_window"] for wave in waves))
    by_others = set().union(*(found for wave in waves for name, found in wave.items() if name != "modified_window"))
    renamed = {fault.key for fault in case.planted.faults if fault.visibility == "renamed"}
    assert len(by_window - by_others) == 11
    assert by_window - by_others == renamed


def test_the_judge_rejects_the_eight_false_alarms_and_nothing_else(case: Swept, waves: list[Wave]) -> None:
    verdicts = case.judge(set().union(*map(everything, waves)))
    assert {found for found, verdict in verdicts.items() if verdict == "rejected"} == keys(case.planted.false_alarms)
    assert {found for found, verdict in verdicts.items() if verdict == "confirmed"} == keys(case.planted.faults)
    assert len(case.planted.false_alarms) == 8


def test_a_false_alarm_comes_back_in_every_round(case: Swept, waves: list[Wave]) -> None:
    returning = [len(everything(wave) & keys(case.planted.false_alarms)) for wave in waves]
    assert min(returning) >= 1
    assert sum(returning) > 30


def test_remembering_only_what_was_confirmed_is_still_running_at_round_22(case: Swept, waves: list[Wave]) -> None:
    def confirmed(fresh: set[Identity]) -> set[Identity]:
        return {found for found, verdict in case.judge(fresh).items() if verdict == "confirmed"}

    # The material does not move, so an angle that comes round again reports the same.
    fresh_counts = search(lambda round: waves[(round - 1) % ANGLES], set(), remember=confirmed)
    assert len(fresh_counts) == 22
    assert min(fresh_counts) >= 1


def test_a_second_campaign_over_the_same_registry_is_quiet_at_once(case: Swept, waves: list[Wave]) -> None:
    seen = set().union(*map(everything, waves))
    assert search(lambda round: case.look(ANGLES + round), seen) == [0, 0]


def test_a_second_campaign_finds_the_three_faults_planted_since_and_no_more(tmp_path: Path, waves: list[Wave]) -> None:
    later = swept(tmp_path, Plantings(extra=("label_app", "live_net", "renamed")))
    before = set().union(*map(everything, waves))
    seen = set(before)
    assert search(lambda round: later.look(ANGLES + round), seen) == [3, 0, 0]
    assert seen - before == keys(later.planted.extra)


@pytest.mark.parametrize(
    ("seed", "faults", "false_alarms"),
    [
        (1, {}, 0),
        pytest.param(
            *(2, {"label_app": 9, "config_probe": 4, "prefix_fifth": 5, "live_own": 3}, 1), marks=pytest.mark.soak
        ),
        pytest.param(*(3, {"renamed": 20, "prefix_first": 12, "window_config": 9}, 14), marks=pytest.mark.soak),
        (4, dict.fromkeys(VISIBILITIES, 5), 5),
        (2026, {"label_traefik": 30, "label_live": 25, "config_live": 20, "label_prefix": 6, "prefix_window": 11}, 11),
    ],
)
def test_other_seeds_and_counts_are_found_and_judged_just_as_planted(
    tmp_path: Path, seed: int, faults: dict[str, int], false_alarms: int
) -> None:
    other = swept(tmp_path, Plantings(faults, false_alarms), seed)
    assert len(other.planted.faults) == sum(faults.values())
    assert len(other.planted.false_alarms) == false_alarms
    waves = [other.look(round) for round in range(1, ANGLES + 1)]
    verdicts = other.judge(set().union(*map(everything, waves)))
    assert {found for found, verdict in verdicts.items() if verdict == "confirmed"} == keys(other.planted.faults)
    assert {found for found, verdict in verdicts.items() if verdict == "rejected"} == keys(other.planted.false_alarms)
    assert seen_by(waves, other.planted) == {fault.key: able(fault) for fault in all_of(other.planted)}


def test_a_strategy_finds_what_its_way_of_looking_can_see(case: Swept, waves: list[Wave]) -> None:
    assert seen_by(waves, case.planted) == {fault.key: able(fault) for fault in all_of(case.planted)}


def all_of(planted: Planted) -> list[Fault]:
    return [*planted.faults, *planted.false_alarms]


def seen_by(waves: list[Wave], planted: Planted) -> dict[Identity, set[str]]:
    return {
        fault.key: {name for wave in waves for name, found in wave.items() if fault.key in found}
        for fault in all_of(planted)
    }


def able(fault: Fault) -> set[str]:
    """Return the strategies to which the places, the name and the time of a fault show it."""
    visibility = {**VISIBILITIES, **EXCUSES}[fault.visibility]
    if visibility.renamed:
        return {"modified_window"}
    by_place = {name for name, place in PLACE_OF.items() if place in visibility.places}
    by_definition = {"name_prefix": visibility.prefix, "modified_window": visibility.window}
    return by_place | {name for name, angle in by_definition.items() if angle}


def test_the_generator_and_the_angles_agree_on_prefixes_and_windows() -> None:
    assert tuple(angle["prefix"] for angle in STRATEGIES["name_prefix"]["angles"]) == PREFIXES
    windows = STRATEGIES["modified_window"]["angles"]
    declared = [(angle["window_start"], angle["window_end"]) for angle in windows]
    assert tuple(tuple(map(datetime.fromisoformat, window)) for window in declared) == WINDOWS
    assert {len(strategy["angles"]) for strategy in STRATEGIES.values()} == {ANGLES}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_finding_points_at_a_line_that_shows_it(case: Swept, name: str) -> None:
    query = (TEMPLATE / STRATEGIES[name]["query"]["file"]).read_text()
    rows: list[dict[str, object]] = []
    with duckdb.connect(case.database, read_only=True) as connection:
        for angle in STRATEGIES[name]["angles"]:
            answer = connection.execute(query, angle)
            names = [column[0] for column in answer.description]
            rows += [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
    assert rows
    for row in rows:
        text = (case.folder / str(row["path"])).read_text().splitlines()
        if isinstance(line := row.get("line"), int):
            assert str(row["evidence"]).split("=")[-1].strip() in text[line - 1].replace('"', "")
        else:
            assert name == "live_vs_charter" or row["evidence"] == "no /health/path"


@pytest.mark.parametrize("path", sorted(TEMPLATE.rglob("*.sql")), ids=lambda path: path.stem)
def test_a_query_is_one_select_that_names_no_service(path: Path, case: Swept) -> None:
    text = path.read_text()
    check_query(text)
    with duckdb.connect(case.database, read_only=True) as connection:
        names = [name for (name,) in connection.execute("select service from services").fetchall()]
    assert [name for name in names if name in text] == []


def test_the_deployed_sweep_is_the_template() -> None:
    files = {path.relative_to(TEMPLATE) for path in TEMPLATE.rglob("*") if path.is_file()}
    assert files == {path.relative_to(DEPLOYED) for path in DEPLOYED.rglob("*") if path.is_file()}
    assert filecmp.cmpfiles(TEMPLATE, DEPLOYED, [str(path) for path in files], shallow=False)[1:] == ([], [])
