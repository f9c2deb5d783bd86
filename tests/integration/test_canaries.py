"""Canaries in the waves and rounds of real campaigns: who misses one did not run, and nothing planted is ever told."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from drysweep_pipeline.canaries import Recall
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.checks import canary_problems, sql_problems
from drysweep_pipeline.engine.planning import plan, read_plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import MaterialError, Refused
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import StrategyRun, read_manifest
from drysweep_pipeline.mentions import HIDDEN
from drysweep_pipeline.reports import FORMATS, write_report
from drysweep_pipeline.reports.summary import summary
from tests.canaries import OWNERLESS, SERVICE, expecting, planted, said_in
from tests.finders import command, declared, function, rows, waved
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end, steps


@pytest.fixture(autouse=True)
def _material(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})


def test_a_query_that_sees_the_canary_ran_and_lands_what_it_lands_without(tmp_path: Path) -> None:
    planted(tmp_path)
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}, canaries=expecting()), Home(tmp_path / "home"))
    [run] = wave(campaign, 1)
    assert (run.status, run.reason) == ("ok", None)
    assert run.canaries is not None
    assert (run.canaries.expected, run.canaries.seen, run.canaries.missed) == (1, 1, ())
    assert sorted(row["service"] if "service" in row else row["subject"] for row in rows(campaign, run)) == [
        "api",
        "db",
    ]


# Reports every service without an owner that it finds in the files it is given.
LOOKS = """
from pathlib import Path
given = json.load(sys.stdin)
count = 0
for path in sorted(Path(given["material"], "services").glob("*.yaml")):
    told = json.loads(path.read_text())
    if "owner" not in told["labels"]:
        count += 1
        print(json.dumps({"service": told["name"], "failure_mode": "no_owner", "path": str(path)}))
"""
READS = """
owned = {row["service"] for row in material.table("labels") if row["key"] == "owner"}
for row in material.table("services"):
    if row["service"] not in owned:
        yield {"service": row["service"], "failure_mode": "no_owner", "path": row["path"]}
"""


def services(campaign: Any, run: StrategyRun, round: int = 1) -> list[str]:
    return sorted(row["subject"] for row in rows(campaign, run, round))


def test_a_query_that_misses_a_canary_did_not_run_and_what_it_found_is_kept(tmp_path: Path) -> None:
    planted(tmp_path)
    blind = "select 'api' as service, 'no_owner' as failure_mode"
    campaign = begin(
        declare(tmp_path, {"labels": NO_OWNER, "blind": blind}, canaries=expecting()), Home(tmp_path / "h")
    )
    runs = {run.strategy: run for run in wave(campaign, 1)}
    assert (runs["blind"].status, runs["blind"].reason) == ("not_run", "missed the canary first")
    assert runs["blind"].canaries is not None
    assert (runs["blind"].canaries.seen, runs["blind"].canaries.missed) == (0, ("first",))
    assert [attempt.status for attempt in runs["blind"].attempts] == ["missed"]
    assert services(campaign, runs["blind"]) == ["api"]
    assert runs["labels"].status == "ok"


def test_a_program_and_a_function_see_the_canary_and_nothing_of_it_lands(tmp_path: Path) -> None:
    planted(tmp_path)
    crossing = "print(json.dumps({'service': 'web', 'failure_mode': 'same_as', 'evidence': ['as in RELAY-quillon']}))\n"
    strategies = [
        command(tmp_path, "looks", LOOKS + "end(count)"),
        command(tmp_path, "compares", LOOKS + crossing + "end(count + 1)"),
        function(tmp_path, "reads", READS),
    ]
    campaign, runs = waved(tmp_path, strategies, canaries=expecting())
    assert {name: (run.status, run.reason) for name, run in runs.items()} == dict.fromkeys(runs, ("ok", None))
    found = {name: services(campaign, run) for name, run in runs.items()}
    assert found == {"looks": ["api", "db"], "compares": ["api", "db", "web"], "reads": ["api", "db"]}
    assert [row["evidence"] for row in rows(campaign, runs["compares"]) if row["evidence"]] == ['["as in [planted]"]']
    counted = {name: (run.canaries.withheld, run.canaries.scrubbed) for name, run in runs.items() if run.canaries}
    assert counted == {"looks": (1, 0), "compares": (1, 1), "reads": (1, 0)}


def test_a_program_that_misses_the_canary_is_asked_once_more_and_all_that_it_found_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that they may leave a note about their first attempt.
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    planted(tmp_path)
    tried = tmp_path / "tried"
    counts = f"from pathlib import Path\ntried = Path({str(tried)!r})\n"
    by_turns = counts + "tried.open('a').write('x'); say('api' if tried.read_text() == 'x' else 'db'); end(1)"
    seeing = f"say('{SERVICE}' if (later := Path({str(tmp_path / 'l')!r})).exists() else 'web'); later.touch(); end(1)"
    strategies = [
        command(tmp_path, "blind", by_turns),
        command(tmp_path, "wakes", counts + seeing),
        command(tmp_path, "certain", "end(0)", deterministic=True),
    ]
    campaign, runs = waved(tmp_path, strategies, canaries=expecting("m"))
    assert [attempt.status for attempt in runs["blind"].attempts] == ["missed", "missed"]
    assert runs["blind"].status == "not_run"
    assert services(campaign, runs["blind"]) == ["api", "db"]
    assert [attempt.status for attempt in runs["wakes"].attempts] == ["missed", "ok"]
    assert services(campaign, runs["wakes"]) == ["web"]
    assert len(runs["certain"].attempts) == 1


def test_who_is_to_see_no_canary_at_any_angle_searches_the_material_as_it_is(tmp_path: Path) -> None:
    planted(tmp_path)
    lists = "from pathlib import Path\ngiven = json.load(sys.stdin)\n"
    says = (
        lists
        + "found = list(Path(given['material']).rglob('*.yaml'))\n[say(path.stem) for path in found]; end(len(found))"
    )
    strategies = [
        command(tmp_path, "spared", says),
        command(tmp_path, "turned", says, angles=[{"look": "away"}, {"look": "here"}]),
    ]
    only_there = expecting("m", strategies=["turned"], angles=[{"look": "here"}])
    campaign, first = waved(tmp_path, strategies, canaries=only_there)
    assert {name: run.status for name, run in first.items()} == dict.fromkeys(first, "ok")
    # A program that is to see one at another angle is in the copy at this angle too, and keeps quiet about it.
    assert (first["spared"].canaries, first["turned"].canaries) == (None, Recall(0, 0, withheld=1))
    assert services(campaign, first["spared"]) == services(campaign, first["turned"]) == ["api", "db", "web"]


def test_nothing_planted_is_anywhere_in_the_home_but_in_the_copy_and_in_the_declaration(tmp_path: Path) -> None:
    planted(tmp_path)
    breaks = 'print(\'{"service": "' + SERVICE + "\"', file=sys.stderr); sys.exit('no " + SERVICE + "')"
    converts = (
        f"select cast(service as integer) as service, 'm' as failure_mode from services where service = '{SERVICE}'"
    )
    garbled = f"say('{SERVICE}', severity='{SERVICE}'); print('{SERVICE} is here'); end(2)"
    strategies = [
        command(tmp_path, "looks", LOOKS + "end(count)"),
        command(tmp_path, "breaks", breaks),
        command(tmp_path, "garbled", garbled),
    ]
    path = declared(tmp_path, strategies, canaries=expecting())
    (tmp_path / "converts.sql").write_text(converts.replace(f"'{SERVICE}'", "concat('relay-', 'quillon')"))
    whole = json.loads(path.read_text())
    whole["attributes"]["strategies"].append({"name": "converts", "kind": "sql", "query": {"file": "converts.sql"}})
    path.write_text(json.dumps(whole))
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(path, home))
    write_report(home, "small", campaign.id)
    told = summary(home, "small", campaign.id)
    assert told["new"] == [2, 0, 0]
    reasons = {row["strategy"]: row["reason"] for row in told["not_run"]}
    assert set(reasons) == {"breaks", "garbled", "converts"}
    assert HIDDEN in reasons["breaks"]
    assert HIDDEN in reasons["converts"]
    known = {campaign.home.landing(campaign.id) / "campaign.json"}
    files = [each for each in home.root.rglob("*") if each.is_file() and each not in known]
    apart = (campaign.home.snapshots, campaign.home.planted)
    leaking = [each for each in files if SERVICE in said_in(each)]
    assert {each.relative_to(campaign.home.root).parts[0] for each in leaking} == {"planted"}
    assert len([each for each in files if not any(map(each.is_relative_to, apart))]) > 20


def test_canaries_change_neither_what_is_new_nor_when_a_search_goes_quiet(tmp_path: Path) -> None:
    most = "select min(service) as service, 'first_of_' || count(*) as failure_mode from services"
    cut = "select service, 'early' as failure_mode from services order by service desc limit 1"
    planted(tmp_path)
    told = {}
    for name, more in (("with", {"canaries": expecting(strategies=["labels"])}), ("without", {})):
        path = declare(tmp_path, {"labels": NO_OWNER, "most": most, "cut": cut}, **more)
        home = Home(tmp_path / name)
        campaign = run_to_its_end(begin(path, home))
        told[name] = summary(home, "small", campaign.id)
    keys = ("outcome", "new", "states", "quiet", "repeats", "calls", "not_run", "not_searched")
    assert [told["with"][key] for key in keys] == [told["without"][key] for key in keys]
    assert told["with"]["new"] == [4, 0, 0]


def test_even_a_query_that_counts_lands_what_it_lands_without_canaries(tmp_path: Path) -> None:
    planted(tmp_path)
    counts = f"{NO_OWNER} union all select 'all' as service, 'of_' || count(*) as failure_mode, null from services"
    campaign = begin(declare(tmp_path, {"counts": counts}, canaries=expecting()), Home(tmp_path / "home"))
    [run] = wave(campaign, 1)
    assert run.status == "ok"
    assert sorted((row["subject"], row["kind"]) for row in rows(campaign, run))[0] == ("all", "of_3")


def test_a_strategy_that_is_blind_three_rounds_in_a_row_ends_its_campaign_as_failed(tmp_path: Path) -> None:
    planted(tmp_path)
    path = declare(tmp_path, {"labels": NO_OWNER, "blind": f"{NO_OWNER} and false"}, canaries=expecting())
    home = Home(tmp_path / "home")
    told = summary(home, "small", run_to_its_end(begin(path, home)).id)
    assert (told["outcome"], told["reason"], told["rounds"]) == ("failed", "not_run", 3)
    assert {row["reason"] for row in told["not_run"]} == {"missed the canary first"}


@pytest.mark.parametrize(
    ("files", "more", "says"),
    [
        ({"services/api.yaml": "{}"}, {}, "services/api.yaml cannot be planted: the material has services/api.yaml"),
        ({"services/api.yaml/x.yaml": "{}"}, {}, "services/api.yaml/x.yaml cannot be planted"),
        ({"services": "x"}, {}, "services cannot be planted: the material has services"),
        ({"services/own.yaml": "{}"}, {"service": "own"}, "the planted name 'own' is too short"),
        ({"services/team.yaml": "{}"}, {"service": "team"}, "'team' stands in services/web.yaml of the material"),
        ({"services/labels.yaml": "{}"}, {"service": "labels"}, "the sweep itself says 'labels'"),
        ({"services/a\\bcd.yaml": "{}"}, {}, "holds a quote, a backslash"),
        ({"services/broken.yaml": "{"}, {}, "services/broken.yaml cannot be searched: "),
        ({"services/blob.txt": "a\0\udcff"}, {}, "services/blob.txt is not text"),
        (None, {"service": "api"}, "the finding of the canary 'first' names nothing that is planted"),
        (None, {"marks": ["nowhere-to-be-seen"]}, "no canary holds the mark 'nowhere-to-be-seen'"),
    ],
)
def test_what_could_be_taken_for_real_or_the_other_way_round_is_not_planted(
    tmp_path: Path, files: dict[str, str] | None, more: dict[str, Any], says: str
) -> None:
    planted(tmp_path, files)
    canaries = expecting()
    canaries["expect"][0]["finding"]["service"] = more.get("service", SERVICE)
    canaries["marks"] = more.get("marks", [SERVICE] if files and "service" not in more else [])
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}, canaries=canaries), Home(tmp_path / "home"))
    with pytest.raises(MaterialError) as refused:
        plan(campaign, 1)
    assert says in refused.value.what
    assert (refused.value.key or "").startswith("canaries")
    assert read_plan(campaign, 1) is None


def test_canaries_that_change_while_a_campaign_runs_are_noticed_and_the_copy_is_kept(tmp_path: Path) -> None:
    folder = planted(tmp_path)
    path, home = declare(tmp_path, {"labels": NO_OWNER}, canaries=expecting()), Home(tmp_path / "home")
    campaign = begin(path, home, campaign="one")
    later = begin(path, Home(tmp_path / "later"))
    steps(campaign, 1)
    (folder / "services" / f"{SERVICE}.yaml").write_text("{}")
    with pytest.raises(Refused, match="another declaration"):
        begin(path, home, campaign="one")
    with pytest.raises(MaterialError, match="is not what it was when the sweep was read"):
        plan(later, 1)
    steps(campaign, 2)
    manifest = read_manifest(campaign.folder(2))
    assert manifest is not None
    assert manifest.not_run == frozenset()
    assert manifest.snapshot == read_plan(campaign, 1).snapshot  # type: ignore[union-attr]
    assert (campaign.home.snapshots / manifest.snapshot).is_dir()


def test_a_copy_that_is_gone_or_spoilt_is_made_again(tmp_path: Path) -> None:
    planted(tmp_path)
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}, canaries=expecting()), Home(tmp_path / "home"))
    made = plan(campaign, 1).planted
    copy = campaign.home.planted / made
    first = {each.name: each.read_bytes() for each in copy.glob("*.parquet")}
    (copy / "files.parquet").write_bytes(b"spoilt")
    [run] = wave(campaign, 1)
    assert run.status == "ok"
    assert {each.name: each.read_bytes() for each in copy.glob("*.parquet")} == first


_BLOCK = re.compile(
    r"`(?P<file>[\w./-]+\.(?:yaml|sql))`[^\n`]*:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)


def test_the_example_of_the_page_finds_and_reports_what_it_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "canaries.md").read_text(encoding="utf-8")
    blocks = {match["file"]: match["text"] for match in _BLOCK.finditer(page)}
    assert len(blocks) == 5
    for name, text in blocks.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for name, text in {"api": "limit: never\n", "web": "owner: bob\n", "db": "limit: 5s\n"}.items():
        (tmp_path / "registry" / "services" / f"{name}.yaml").write_text(text)
    declaration = read_declaration(tmp_path / "limits.yaml")
    assert sql_problems(declaration) == canary_problems(declaration) == []
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(tmp_path / "limits.yaml", home))
    told = summary(home, "limits", campaign.id)
    assert (told["outcome"], told["states"]) == ("converged", {"api/odd_limit": "open", "web/no_limit": "open"})
    [line] = re.findall(r"^```text\n(.*)\n```$", page, re.MULTILINE)
    assert line in FORMATS["md"](home, "limits", campaign.id)


def test_what_is_taken_for_a_secret_is_no_name_for_something_planted(tmp_path: Path) -> None:
    planted(tmp_path, {**OWNERLESS, "AKIA" + "3Z5QW7LNRTX2VB6K.txt": "notes"})
    with pytest.raises(MaterialError, match="taken for a secret"):
        plan(begin(declare(tmp_path, {"labels": NO_OWNER}, canaries=expecting()), Home(tmp_path / "home")), 1)


def test_rows_are_planted_in_material_that_has_tables(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "orders.csv").write_text("order,part\n1,bolt\n2,\n")
    orders = {"file": "orders.csv", "columns": {"order": "BIGINT"}}
    material = {"kind": "tables", "path": "data", "tables": {"orders": orders}}
    wanted = {"name": "first", "finding": {"service": 99000017, "failure_mode": "no_part"}}
    canaries = {"rows": {"orders": [{"order": 99000017}]}, "marks": ["99000017"], "expect": [wanted]}
    reads = """
for row in material.table("orders"):
    if row["part"] is None:
        yield {"service": row["order"], "failure_mode": "no_part"}
"""
    path = declared(tmp_path, [function(tmp_path, "reads", reads)], material=material, canaries=canaries)
    (tmp_path / "asks.sql").write_text(
        "select \"order\" as service, 'no_part' as failure_mode from orders where part is null"
    )
    whole = json.loads(path.read_text())
    whole["attributes"]["strategies"].append({"name": "asks", "kind": "sql", "query": {"file": "asks.sql"}})
    path.write_text(json.dumps(whole))
    campaign = begin(path, Home(tmp_path / "home"))
    runs = {run.strategy: run for run in wave(campaign, 1)}
    assert {name: (run.status, run.reason) for name, run in runs.items()} == dict.fromkeys(runs, ("ok", None))
    assert [services(campaign, runs[name]) for name in ("asks", "reads")] == [["2"], ["2"]]
    assert [runs[name].canaries for name in ("asks", "reads")] == [Recall(1, 1), Recall(1, 1, withheld=1)]


# Two of the services a page, in their order from behind: the planted one is the second of all.
PAGED = """
page = sorted((row["service"] for row in material.table("services")), reverse=True)[2 * angle["page"]:][:2]
for service in page:
    yield {"service": service, "failure_mode": "m"}
"""


def test_a_planted_row_takes_the_place_of_no_real_one_on_any_page(tmp_path: Path, httpserver: HTTPServer) -> None:
    asked = []

    def answer(request: Request) -> Response:
        told = request.get_json()
        asked.append((told["strategy"], told["angle"]["page"], [row["service"] for row in told["rows"]]))
        found = [{"service": row["service"], "failure_mode": "m"} for row in told["rows"]]
        return Response(json.dumps({"findings": found, "end": True}), content_type="application/json")

    httpserver.expect_request("/").respond_with_handler(answer)
    planted(tmp_path)
    query = "select service, path from services order by service desc limit 2 offset 2 * $page"
    (tmp_path / "rows.sql").write_text(query)
    sends = {"query": {"file": "rows.sql"}, "max_rows_sent": 2}
    pages: dict[str, Any] = {"angles": [{"page": 0}, {"page": 1}], "deterministic": True}
    service = {"kind": "http", "url": httpserver.url_for("/"), **pages}
    strategies = [
        {"name": "sent", "send": sends, **service},
        {"name": "tight", "send": {**sends, "max_chars": 120}, **service},
        function(tmp_path, "reads", PAGED, **pages),
    ]
    path = declared(tmp_path, strategies, canaries=expecting("m", angles=[{"page": 0}]))
    campaign = begin(path, Home(tmp_path / "home"))
    runs = [{run.strategy: run for run in wave(campaign, 1)}]
    steps(campaign, 1)
    runs.append({run.strategy: run for run in wave(campaign, 2)})
    pages_sent = [rows for strategy, _, rows in sorted(asked) if strategy == "sent"]
    assert pages_sent == [["web", SERVICE, "db"], ["api"]]
    assert [services(campaign, each["sent"], round) for round, each in enumerate(runs, 1)] == [["db", "web"], ["api"]]
    assert [services(campaign, each["reads"], round) for round, each in enumerate(runs, 1)] == [["web"], ["api", "db"]]
    # No cap on characters is exceeded for a canary's sake: what a call may cost is reckoned by it.
    assert [each["tight"].status for each in runs] == ["not_run", "ok"]
    assert "more than 120 characters" in str(runs[0]["tight"].reason)


def test_a_service_that_is_sent_rows_is_sent_the_planted_ones_and_nothing_of_them_lands(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    def answer(request: Request) -> Response:
        found = [
            {"service": row["service"], "failure_mode": "m", "path": row["path"]} for row in request.get_json()["rows"]
        ]
        if request.path == "/charmed":  # by something in the material, into reporting half of it
            found = found[:1]
        return Response(json.dumps({"findings": found, "end": True}), content_type="application/json")

    planted(tmp_path)
    (tmp_path / "rows.sql").write_text("select service, path from services order by service")
    strategies: list[dict[str, Any]] = []
    for name in ("sees", "charmed"):
        httpserver.expect_request(f"/{name}").respond_with_handler(answer)
        asked = {"kind": "http", "url": httpserver.url_for(f"/{name}"), "send": {"query": {"file": "rows.sql"}}}
        strategies.append({"name": name, **asked})
    campaign, runs = waved(tmp_path, strategies, canaries=expecting("m"))
    assert (runs["sees"].status, services(campaign, runs["sees"])) == ("ok", ["api", "db", "web"])
    assert (runs["charmed"].reason, services(campaign, runs["charmed"])) == ("missed the canary first", ["api"])
    assert len(runs["charmed"].attempts) == 2
