"""A real catalogue of compose templates, swept by the real engine, and held against mechanical rules over it."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import duckdb
import pytest

from drysweep_pipeline.declaration import Declaration, read_declaration
from drysweep_pipeline.declaration.model import RegistryMaterial, SqlStrategy
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import Manifest, read_manifest
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.sandbox import check_query
from tests.compose_reference import CAUSES, Catalogue, Finding, Lifetimes, cause_of, reference
from tests.real_data import DOKPLOY_DATES, dokploy_home, real_data
from tests.sweeps import steps

SWEEP = Path(__file__).parents[2] / "assets" / "sweeps" / "compose_catalogue"
DECLARED: Declaration = read_declaration(SWEEP / "defs.yaml")
NAME = DECLARED.sweep.name
MATERIAL = cast(RegistryMaterial, DECLARED.sweep.material)
STRATEGIES = [strategy for strategy in DECLARED.sweep.strategies if isinstance(strategy, SqlStrategy)]
READ_THE_CATALOGUE = {"catalogue_label", "live_vs_charter"}
ANGLES = max(len(strategy.angles) for strategy in STRATEGIES)


def instant(date: str) -> datetime:
    return datetime.fromisoformat(date).replace(tzinfo=UTC)


def found_in(database: Path) -> set[Finding]:
    """Return what all strategies report from all their angles."""
    with duckdb.connect(database, read_only=True) as connection:
        return {
            (row[0], row[1], row[2])
            for strategy in STRATEGIES
            for angle in strategy.angles
            for row in connection.execute(strategy.query.text, angle).fetchall()
        }


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = dokploy_home(tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_CATALOGUE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("snapshots")


@pytest.fixture(scope="module")
def frozen(catalogue: Path, snapshots: Path) -> dict[str, Snapshot]:
    return {date: freeze(MATERIAL, SWEEP, instant(date), snapshots) for date in DOKPLOY_DATES}


@pytest.fixture(scope="module")
def found(frozen: dict[str, Snapshot]) -> dict[str, set[Finding]]:
    return {date: found_in(snapshot.database) for date, snapshot in frozen.items()}


@pytest.fixture(scope="module")
def compared(
    frozen: dict[str, Snapshot], found: dict[str, set[Finding]]
) -> dict[str, tuple[Catalogue, set[Finding], set[Finding]]]:
    """By date: the catalogue, what we find in it, and what the reference found."""
    known = real_data("dokploy") / "snapshots"
    return {
        date: (
            Catalogue.of(snapshot.database),
            found[date],
            reference(known / f"{date}.reference_findings.csv"),
        )
        for date, snapshot in frozen.items()
    }


@pytest.mark.parametrize("date", DOKPLOY_DATES)
def test_every_difference_from_the_reference_has_a_cause(compared: dict[str, Any], date: str) -> None:
    material, ours, theirs = compared[date]
    assert len(ours & theirs) > 200
    assert [found for found in ours - theirs if cause_of(material, "ours", found) is None] == []
    assert [found for found in theirs - ours if cause_of(material, "theirs", found) is None] == []


@pytest.mark.parametrize("date", DOKPLOY_DATES)
def test_no_cause_holds_where_both_found_the_same(compared: dict[str, Any], date: str) -> None:
    material, ours, theirs = compared[date]
    assert [found for found in ours & theirs for side in ("ours", "theirs") if cause_of(material, side, found)] == []


def test_every_cause_is_needed(compared: dict[str, Any]) -> None:
    counts: Counter[Any] = Counter()
    for material, ours, theirs in compared.values():
        counts.update(cause_of(material, "ours", found) for found in ours - theirs)
        counts.update(cause_of(material, "theirs", found) for found in theirs - ours)
    for cause in CAUSES:
        print(f"{cause.side:6} {cause.failure_mode:30} {cause.name:28} {counts[cause]:3}")  # noqa: T201 - shown with -s
    assert [cause for cause in CAUSES if not counts[cause]] == []


def test_a_finding_says_of_which_blueprint_it_is(frozen: dict[str, Snapshot], found: dict[str, set[Finding]]) -> None:
    snapshot = frozen["2026-07-21"]
    with duckdb.connect(snapshot.database, read_only=True) as connection:
        names = {name for (name,) in connection.execute("select service from services").fetchall()}
    newest = found["2026-07-21"]
    assert {blueprint for blueprint, _, _ in newest} <= names
    assert all(service for _, service, _ in newest)
    assert {blueprint for blueprint, _, mode in newest if mode == "charter_unreadable"} == {
        re.split("/", file)[1] for file, _ in snapshot.unreadable()
    }


@pytest.mark.parametrize("path", sorted(SWEEP.rglob("*.sql")), ids=lambda path: path.stem)
def test_a_query_is_one_select_that_names_no_blueprint(path: Path, frozen: dict[str, Snapshot]) -> None:
    text = path.read_text()
    check_query(text)
    with duckdb.connect(frozen["2026-07-21"].database, read_only=True) as connection:
        names = {name for (name,) in connection.execute("select service from services").fetchall()}
    assert names & set(re.findall(r"'([^']*)'", text)) == set()


COMPOSE = """
services:
  web:
    image: example/web:1.2
    ports: ["8080:80"]
    depends_on: [store, "${QUEUE:-queue}", "${CACHE:-cache}"]
  api:
    image: example/api:${API_TAG:-latest}
    ports: ["8080:8000", "9000:9000/udp"]
    volumes: ["/var/run/docker.sock:/var/run/docker.sock:ro"]
  queue:
    image: example/queue:3
    ports: ["9000:9000"]
  alone:
    image: example/alone:1
    network_mode: host
    expose: ["70"]
"""
TEMPLATE = """
[variables]
tag = "1.2.3"
[[config.domains]]
serviceName = "ghost"
port = 80
[[config.domains]]
serviceName = "web"
port = 81
[[config.domains]]
serviceName = "alone"
port = 71
[config.env]
API_TAG = "${tag}"
"""
PLANTED = {
    ("shop", "web", "depends_on_missing"): "confirmed",
    ("shop", "web", "duplicate_host_port"): "confirmed",
    ("shop", "api", "duplicate_host_port"): "confirmed",
    ("shop", "web", "host_port_published"): "confirmed",
    ("shop", "api", "host_port_published"): "confirmed",
    ("shop", "queue", "host_port_published"): "confirmed",
    ("shop", "api", "docker_socket_mounted"): "confirmed",
    ("shop", "api", "image_tag_latest"): "rejected",
    ("shop", "ghost", "charter_route_unknown_service"): "confirmed",
    ("shop", "web", "route_port_not_exposed"): "rejected",
    ("shop", "alone", "route_port_not_exposed"): "confirmed",
    ("shop", "-", "charter_version_differs"): "confirmed",
    ("bare", "-", "charter_missing"): "confirmed",
    ("torn", "-", "charter_unreadable"): "confirmed",
    ("torn", "-", "compose_unreadable"): "confirmed",
    ("twice", "-", "charter_entry_repeated"): "confirmed",
}


def test_planted_faults_are_found_and_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPOSE_CATALOGUE", str(tmp_path))
    plain = "services: {web: {image: 'example/web:1.2'}}"
    route = "[config]\n"
    texts = {
        "shop/docker-compose.yml": COMPOSE,
        "shop/template.toml": TEMPLATE,
        "bare/docker-compose.yml": plain,
        "torn/docker-compose.yml": "services: [",
        "torn/template.toml": "[[",
        "twice/docker-compose.yml": plain,
        "twice/template.toml": route,
    }
    for name, text in texts.items():
        path = tmp_path / "2026-07-07" / "blueprints" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    entry = '{{"id": "{}", "version": "{}", "tags": ["ai"]}}'
    entries = [entry.format(*pair) for pair in (("shop", "5"), ("torn", "1"), ("twice", "1.2"), ("twice", "1.2"))]
    (tmp_path / "2026-07-07" / "meta.json").write_text(f"[{', '.join(entries)}]")
    manifest = '{"path": "blueprints/shop/docker-compose.yml", "last_modified": "2026-07-07T00:00:00Z"}\n'
    (tmp_path / "2026-07-07.manifest.jsonl").write_text(manifest)
    snapshot = freeze(MATERIAL, SWEEP, instant("2026-07-07"), tmp_path / "snapshots")
    assert judged(snapshot.database, found_in(snapshot.database)) == PLANTED


def judged(database: Path, found: set[Finding]) -> dict[Finding, str]:
    with duckdb.connect(database, read_only=True) as connection:
        connection.execute(
            "create temp table findings(fp uuid, blueprint text, service text, failure_mode text, evidence text)"
        )
        connection.executemany("insert into findings values (uuid(), ?, ?, ?, 'seen')", sorted(found))
        given = connection.execute("select fp, blueprint, service, failure_mode from findings").fetchall()
        said = connection.execute((SWEEP / "judge.sql").read_text()).fetchall()
    assert len(said) == len(given)
    assert all(reason for _, _, reason in said)
    verdicts = {fp: verdict for fp, verdict, _ in said}
    return {(blueprint, service, mode): verdicts[fp] for fp, blueprint, service, mode in given}


@dataclass(frozen=True)
class Swept:
    """A backfill: the campaigns of some dates, in order, in one home."""

    home: Home
    dates: tuple[str, ...]
    campaigns: tuple[Campaign, ...]

    def summaries(self) -> list[dict[str, Any]]:
        return [summary(self.home, NAME, campaign.id) for campaign in self.campaigns]

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with history(self.home) as connection:
            return connection.execute(sql, values).fetchall()


def swept(root: Path, dates: tuple[str, ...], snapshots: Path, most: int = 99) -> Swept:
    """Sweep the material of each date, round after round, to its outcome or for ``most`` rounds."""
    home = Home(root)
    home.sweep(NAME).root.mkdir(parents=True)
    home.sweep(NAME).snapshots.symlink_to(snapshots)
    campaigns = []
    for date in dates:
        campaigns.append(start(home, DECLARED, as_of=instant(date), driver="cli"))
        while (due := standing(campaigns[-1]).due) is not None and due <= most:
            steps(campaigns[-1], due)
    return Swept(home, dates, tuple(campaigns))


@pytest.fixture(scope="module")
def backfill(frozen: dict[str, Snapshot], snapshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Swept:
    return swept(tmp_path_factory.mktemp("home"), DOKPLOY_DATES, snapshots)


def test_the_newest_date_alone_goes_quiet_having_seen_all_that_its_angles_show(
    snapshots: Path, found: dict[str, set[Finding]], tmp_path: Path
) -> None:
    [told] = swept(tmp_path, DOKPLOY_DATES[-1:], snapshots).summaries()
    assert told["outcome"] == "converged"
    assert told["new"][-2:] == [0, 0]
    assert set(told["states"]) == {"/".join(identity) for identity in found[DOKPLOY_DATES[-1]]}


@pytest.mark.soak
def test_each_campaign_goes_quiet_on_the_material_of_its_own_date(backfill: Swept, frozen: dict[str, Snapshot]) -> None:
    told = backfill.summaries()
    assert [each["outcome"] for each in told] == ["converged"] * len(backfill.dates)
    assert [each["as_of"][:10] for each in told] == list(backfill.dates)
    assert all(each["new"][-2:] == [0, 0] and ANGLES <= each["rounds"] <= 9 for each in told)
    read = backfill.ask("select distinct as_of, snapshot from rounds order by 1")
    assert [digest for _, digest in read] == [frozen[date].digest for date in backfill.dates]


@pytest.mark.soak
def test_a_campaign_sees_all_that_its_angles_show(backfill: Swept, found: dict[str, set[Finding]]) -> None:
    for told, date in zip(backfill.summaries(), backfill.dates, strict=True):
        assert set(told["states"]) == {"/".join(identity) for identity in found[date]}
        assert told["undecided"] == told["unjudged"] == 0


@pytest.mark.soak
def test_what_is_new_between_two_dates_is_what_was_not_found_before(
    backfill: Swept, found: dict[str, set[Finding]]
) -> None:
    first: dict[Finding, str] = {}
    for date in backfill.dates:
        first |= {identity: date for identity in found[date] if identity not in first}
    rejected = {tuple(row) for row in backfill.ask(f"select {IDENTITY} from all_findings where verdict = 'rejected'")}
    for a, b in zip(backfill.dates, backfill.dates[1:], strict=False):
        new = backfill.ask(f"select {IDENTITY} from new_between(?, ?)", instant(a), instant(b))
        assert {tuple(row) for row in new} == {identity for identity, date in first.items() if date == b} - rejected
        assert 0 < len(new) == len(set(new))


IDENTITY = "attributes ->> 'blueprint', attributes ->> 'service', attributes ->> 'failure_mode'"


@pytest.mark.soak
def test_rejected_findings_come_back_and_keep_no_campaign_awake(backfill: Swept) -> None:
    again = backfill.ask("""
        select s.round, r.quiet, count(distinct s.fp)
        from sightings s
        join all_findings f using (fp)
        join rounds r on r.campaign = s.campaign and r.round = s.round
        where f.verdict = 'rejected' and s.campaign = ?
        group by all
        order by all
    """, backfill.campaigns[-1].id)  # fmt: skip
    assert len(again) >= 5
    assert max(count for _, quiet, count in again if quiet) >= 20
    assert backfill.ask("select distinct kind from all_findings where verdict = 'rejected' and kind not like 'image%'")
    modes = backfill.ask("select kind, verdict from all_findings where kind in ('depends_on_missing', ?)", ROUTE)
    assert {verdict for _, verdict in modes} == {"rejected"}
    assert Counter(kind for kind, _ in modes)["depends_on_missing"] == 20


ROUTE = "route_port_not_exposed"


@pytest.mark.soak
def test_three_passes_would_have_missed_what_later_angles_find(backfill: Swept) -> None:
    # The later angles look at variables' defaults, the catalogue's own faults and other tags and weeks.
    assert [sum(told["new"][3:]) > 0 for told in backfill.summaries()] == [True] * len(backfill.dates)
    late = backfill.ask("select distinct kind from all_findings where first_round > 3")
    assert len(late) >= 3


@pytest.fixture(scope="module")
def lifetimes() -> Lifetimes:
    return Lifetimes.of(real_data("dokploy"))


def moves(backfill: Swept, name: str) -> list[tuple[Finding, str]]:
    """Return the findings that an event says moved, each with the date whose campaign moved it."""
    said = backfill.ask(f"""
        select {IDENTITY}, strftime(c.as_of, '%Y-%m-%d')
        from events e
        join campaigns c using (campaign)
        join all_findings f on f.fp = e.fp
        where e.name = ?
    """, name)  # fmt: skip
    return [((blueprint, service, mode), date) for blueprint, service, mode, date in said]


@pytest.mark.soak
def test_what_evidence_closes_was_closed_in_the_history_of_the_commits(
    backfill: Swept, compared: dict[str, Any], lifetimes: Lifetimes
) -> None:
    closed = moves(backfill, "finding_fixed")
    wrong = [(found, date) for found, date in closed if lifetimes.is_open(found, date)]
    assert len(closed) > 50
    assert {date for _, date in closed} >= {"2025-09-27", "2026-03-05", "2026-07-21"}
    # What the reference still holds open there, it holds open for a reason that the sweep does not share.
    assert [(found, date) for found, date in wrong if cause_of(compared[date][0], "theirs", found) is None] == []
    assert len(wrong) <= 1


@pytest.mark.soak
def test_what_the_commits_closed_is_closed_or_says_what_may_hide_it(
    backfill: Swept, found: dict[str, set[Finding]], lifetimes: Lifetimes
) -> None:
    fixed = {finding for finding, _ in moves(backfill, "finding_fixed")}
    gone = {each for date in DOKPLOY_DATES for each in found[date]} - found[DOKPLOY_DATES[-1]]
    gone -= {tuple(row) for row in backfill.ask(f"select {IDENTITY} from all_findings where verdict = 'rejected'")}
    left = {each for each in gone - fixed if each in lifetimes and not lifetimes.is_open(each, DOKPLOY_DATES[-1])}
    withheld = backfill.ask("select reason from events where name = 'closing_withheld' and campaign like '20260721%'")
    assert len(gone & fixed) > len(left)
    counts = [sum(map(int, re.findall(r"(\d+) (?:may be|were seen)", reason))) for (reason,) in withheld]
    assert counts == [len(gone - fixed)]
    assert all("template.toml" in reason for (reason,) in withheld)
    open_still = backfill.ask(f"select {IDENTITY} from findings where not_observed > 0 and state = 'open'")
    assert left <= {tuple(row) for row in open_still}


@pytest.mark.soak
def test_no_finding_that_its_own_date_still_shows_is_closed(backfill: Swept, found: dict[str, set[Finding]]) -> None:
    reopened = moves(backfill, "finding_reopened")
    for finding, date in moves(backfill, "finding_fixed"):
        assert finding not in found[date]
        later = [each for each in DOKPLOY_DATES if each > date and finding in found[each]]
        # Seen again afterwards, it is open again.
        assert not later or (finding, later[0]) in reopened
    states = {tuple(row[:3]): row[3] for row in backfill.ask(f"select {IDENTITY}, state from findings")}
    assert all(states[each] in ("open", "reopened") for each in found[DOKPLOY_DATES[-1]] if each in states)


def test_an_unreadable_catalogue_closes_nothing_that_it_hides(catalogue: Path, tmp_path: Path) -> None:
    first, second = DOKPLOY_DATES[0], "2025-06-25"
    folder = tmp_path / "catalogue"
    edge = real_data("dokploy") / "edge"
    for date, name in ((first, "meta.json.parent.readable"), (second, "meta.json.495de151.unreadable")):
        shutil.copytree(catalogue / first, folder / date)
        shutil.copy(catalogue / f"{first}.manifest.jsonl", folder / f"{date}.manifest.jsonl")
        shutil.copy(edge / name, folder / date / "meta.json")
    (tmp_path / "snapshots").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_CATALOGUE", str(folder))
        both = swept(tmp_path / "home", (first, second), tmp_path / "snapshots")
    assert [told["outcome"] for told in both.summaries()] == ["converged", "failed"]
    hidden = both.ask("select count(*) from findings where not_observed = 1")[0][0]
    assert hidden > 30
    assert both.ask("select state, count(*) from findings where not_observed = 1 group by all") == [("open", hidden)]
    assert both.ask("select count(*) from events where name = 'finding_fixed'") == [(0,)]


def edge_case(folder: Path, catalogue: Path, name: str) -> Swept:
    """Sweep three rounds of the composes of the first date beside the catalogue of another day."""
    date = DOKPLOY_DATES[0]
    shutil.copytree(catalogue / date, folder / "catalogue" / date)
    shutil.copy(catalogue / f"{date}.manifest.jsonl", folder / "catalogue")
    shutil.copy(real_data("dokploy") / "edge" / name, folder / "catalogue" / date / "meta.json")
    (folder / "snapshots").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMPOSE_CATALOGUE", str(folder / "catalogue"))
        return swept(folder / "home", (date,), folder / "snapshots", most=3)


def manifests(edge: Swept) -> list[Manifest]:
    read = [read_manifest(edge.campaigns[0].folder(round)) for round in (1, 2, 3)]
    assert all(read)
    return [manifest for manifest in read if manifest]


def test_an_unreadable_catalogue_is_never_silence(catalogue: Path, tmp_path: Path) -> None:
    edge = edge_case(tmp_path, catalogue, "meta.json.495de151.unreadable")
    told = edge.summaries()[0]
    assert (told["outcome"], told["reason"], told["rounds"], told["quiet"]) == ("failed", "not_run", 3, 0)
    assert edge.ask("select distinct complete, quiet from rounds") == [(False, False)]
    assert [manifest.not_run for manifest in manifests(edge)] == [READ_THE_CATALOGUE] * 3
    for run in (run for manifest in manifests(edge) for run in manifest.runs if run.status == "not_run"):
        assert run.reason is not None
        assert run.reason.startswith("needs meta.json, which is unreadable")
    assert told["not_searched"] == 1
    assert told["verdict"].startswith("NOT CONVERGED, failed (not_run) at round 3")
    # What the others reported is kept.
    by = {strategy for (strategy,) in edge.ask("select distinct strategy from sightings")}
    assert by == {strategy.name for strategy in STRATEGIES} - READ_THE_CATALOGUE
    assert told["new"][0] > 50


def test_the_catalogue_before_it_broke_stops_no_strategy(catalogue: Path, tmp_path: Path) -> None:
    edge = edge_case(tmp_path, catalogue, "meta.json.parent.readable")
    told = edge.summaries()[0]
    assert (told["outcome"], told["not_searched"]) == ("running", 0)
    assert [manifest.not_run for manifest in manifests(edge)] == [frozenset()] * 3
    assert edge.ask("select distinct complete from rounds") == [(True,)]


def test_exactly_the_strategies_that_read_the_root_catalogue_say_so() -> None:
    needing = {strategy.name for strategy in STRATEGIES if strategy.needs}
    reading = {
        strategy.name
        for strategy in STRATEGIES
        if re.search(r"\b(labels|charter)\b(?! sets)", re.sub("--.*", "", strategy.query.text))
    }
    assert needing == reading == READ_THE_CATALOGUE
