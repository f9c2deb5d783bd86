"""Blindness as a wall: strategies and judges that try to read what was found, or to change what is searched, cannot.

Each test has real processes try real files. The same attempts succeed without confinement, which shows that they are
attempts.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.children.confinement import available
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import read_manifest
from drysweep_pipeline.reports import FORMATS
from tests.finders import declared, rows
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end, steps

pytestmark = pytest.mark.skipif(isinstance(available(), str), reason=f"no Landlock here: {available()}")

# Returns what of these can be reached: files and folders to read, files to write, the process that started this one.
PROBE = """
import json, os

def reached(reads, writes, parent):
    got = []
    def attempt(name, act):
        try:
            act()
        except OSError:
            return
        got.append(name)
    def look(path):
        os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)
    def change(path):
        open(path, "ab").close()
    for path in reads:
        attempt("read " + path, lambda: look(path))
    for path in writes:
        attempt("write " + path, lambda: change(path))
    for name in ("environ", "cwd", "maps"):
        attempt("parent " + name, lambda: look(f"/proc/{parent}/{name}"))
    attempt("parent fd", lambda: [os.readlink(f"/proc/{parent}/fd/{number}") for number in (0, 1, 2)])
    attempt("parent signal", lambda: os.kill(parent, 0))
    return got
"""
ALL_OF_THE_PARENT = ["parent environ", "parent fd", "parent cwd", "parent maps", "parent signal"]
SAY = """
for what in found:
    print(json.dumps({"service": what, "failure_mode": "m"}))
print(json.dumps({"drysweep": "end", "count": len(found)}))
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which a campaign has found something, with all that such a home holds."""
    folder = tmp_path_factory.mktemp("swept")
    registry(folder / "registry", {"api": None, "web": "team"})
    run_to_its_end(begin(declare(folder, {"labels": NO_OWNER, "again": NO_OWNER}), Home(folder / "home")))
    (folder / "home" / "dagster").mkdir()
    (folder / "home" / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}")
    return folder / "home"


@pytest.fixture
def place(tmp_path: Path, swept: Path, request: pytest.FixtureRequest) -> Home:
    """A copy of that home: beside the declaration, behind a link there, or elsewhere."""
    where = request.param if hasattr(request, "param") else "beside"
    root = tmp_path / "project" / ".drysweep"
    root.parent.mkdir()
    if where == "beside":
        shutil.copytree(swept, root)
    else:
        shutil.copytree(swept, tmp_path / "elsewhere")
        root.symlink_to(tmp_path / "elsewhere")
    registry(root.parent / "registry", {"new": None})
    return Home(tmp_path / "elsewhere" if where == "elsewhere" else root)


def secrets(home: Home) -> list[str]:
    """Everything that lies in a home, and the ways to it."""
    real = home.root.resolve()
    named = {str(home.root), str(real), str(real.parent), "/tmp"}
    return sorted({str(path) for path in real.rglob("*")} | named)


# Where temporary files lie, and in nobody's scratch folder.
OUTSIDE = Path(tempfile.gettempdir(), f"drysweep-blindness-{os.getpid()}")


def kept(home: Home, folder: Path) -> list[str]:
    """What nobody may write: the home, the material, what lies beside the declaration."""
    material = folder / "registry" / "services" / "new.yaml"
    places = (home.root / "new", home.root / "history" / "history.duckdb", folder / "new", OUTSIDE, material)
    return [str(path) for path in places]


def probing(folder: Path, home: Home) -> list[dict[str, Any]]:
    """Strategies of each kind that try all of it: a program, a grandchild of one, a function, and a child of that."""
    tried = f"reached({secrets(home)!r}, {kept(home, folder)!r}"
    (folder / "probe.py").write_text(PROBE)
    own = "open(os.path.join(os.environ['TMPDIR'], 'own'), 'w').close()\n"
    (folder / "program.py").write_text(f"{PROBE}\nimport sys\n{own}found = {tried}, int(sys.argv[1]))\n{SAY}")
    (folder / "calls.py").write_text(
        f"import os, subprocess, sys, json\nimport probe\n\n"
        f"def found(what):\n    return [{{'service': each, 'failure_mode': 'm'}} for each in what]\n\n"
        f"def find(material, angle, rng):\n"
        f"    {own}    yield from found(probe.{tried}, {os.getpid()}))\n\n"
        f"def spawn(material, angle, rng):\n"
        f"    code = 'import sys; sys.path.insert(0, sys.argv[1])\\n' + open(probe.__file__).read()\n"
        f"    code += '\\nprint(json.dumps({tried.replace(chr(39), chr(34))}, int(sys.argv[2]))))'\n"
        f"    argv = [sys.executable, '-c', code, '.', '{os.getpid()}']\n"
        f"    yield from found(json.loads(subprocess.run(argv, capture_output=True, check=True).stdout))\n"
    )
    argv = f"[sys.executable, sys.argv[1], '{os.getpid()}']"
    outer = f"import subprocess, sys; subprocess.run({argv}, check=True)"
    starter = f"import os, sys; os.execv(sys.executable, {argv})"
    return [
        {"name": "program", "kind": "command", "argv": [sys.executable, "-c", starter, "program.py"]},
        {"name": "grandchild", "kind": "command", "argv": [sys.executable, "-c", outer, "program.py"]},
        {"name": "function", "kind": "python", "call": "calls:find"},
        {"name": "spawned", "kind": "python", "call": "calls:spawn"},
    ]


@pytest.mark.parametrize("place", ["beside", "behind_a_link", "elsewhere"], indirect=True)
def test_no_child_reaches_the_home_or_changes_what_is_searched(place: Home, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    campaign = begin(declared(folder, probing(folder, place)), place)
    runs = {run.strategy: run for run in wave(campaign, 1)}
    assert len(runs) == 4
    for name, run in runs.items():
        assert run.status == "ok", (name, run.reason)
        assert [row["subject"] for row in rows(campaign, run)] == [], name
        assert run.isolation == f"landlock {available()}"


def test_no_child_reaches_what_was_found_under_another_home(place: Home, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    campaign = begin(declared(folder, probing(folder, place)), Home(tmp_path / "another"))
    for run in wave(campaign, 1):
        assert (run.status, [row["subject"] for row in rows(campaign, run)]) == ("ok", []), (run.strategy, run.reason)


@pytest.mark.parametrize(
    ("reads", "why"),
    [
        (".", r"/project/.drysweep, another home of drysweep, lies in '\.'"),
        (".drysweep/sweeps", r"'.drysweep/sweeps' lies in .*/project/.drysweep, another home of drysweep"),
    ],
)
def test_a_declaration_that_would_open_another_home_is_refused_with_its_line(
    place: Home, tmp_path: Path, reads: str, why: str
) -> None:
    strategy = {"name": "peeks", "kind": "command", "argv": [sys.executable, "x.py"], "reads": [reads]}
    declaration = read_declaration(declared(place.root.parent, [strategy]))
    with pytest.raises(DeclarationError, match=why) as raised:
        start(Home(tmp_path / "another"), declaration, as_of=AS_OF, driver="cli")
    assert (raised.value.key, raised.value.line) == ("strategies[0].reads[0]", 1)


def test_without_confinement_the_same_children_reach_all_of_it_and_the_report_says_none(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    folder = tmp_path / "project"
    wanted = {f"read {path}" for path in secrets(place)} | {*ALL_OF_THE_PARENT}
    campaign = begin(declared(folder, probing(folder, place)), place)
    steps(campaign, 1)
    manifest = read_manifest(campaign.folder(1))
    assert manifest is not None
    assert len(manifest.runs) == 4
    for run in manifest.runs:
        reached = {row["subject"] for row in rows(campaign, run)}
        assert wanted <= reached, (run.strategy, wanted - reached)
        assert run.isolation == "none"
    text = FORMATS["md"](place, "small", campaign.id)
    assert "Not isolated: " in text
    told = json.loads(FORMATS["json"](place, "small", campaign.id))
    assert {row["strategy"]: row["isolation"] for row in told["strategy_yield"]} == dict.fromkeys(runs_of(told), "none")
    OUTSIDE.unlink(missing_ok=True)


def runs_of(told: dict[str, Any]) -> list[str]:
    return [row["strategy"] for row in told["strategy_yield"]]


JUDGING = """
def rule(finding, material):
    import os
    got = probe.{tried}, {us})
    return "rejected" if got else "confirmed", json.dumps(got)
"""


@pytest.mark.parametrize("kind", ["command", "python"])
def test_no_judge_reaches_the_home_or_changes_what_it_judges(place: Home, tmp_path: Path, kind: str) -> None:
    folder = tmp_path / "project"
    tried = f"reached({secrets(place)!r}, {kept(place, folder)!r}"
    (folder / "probe.py").write_text(PROBE)
    if kind == "command":
        said = "print(json.dumps({'verdict': 'rejected' if got else 'confirmed', 'reason': json.dumps(got)}))"
        (folder / "judging.py").write_text(f"{PROBE}\ngot = {tried}, {os.getpid()})\n{said}\n")
        judge: dict[str, Any] = {"kind": "command", "argv": [sys.executable, "judging.py", "{material}"]}
    else:
        (folder / "judging.py").write_text("import json, probe\n" + JUDGING.format(tried=tried, us=os.getpid()))
        judge = {"kind": "python", "call": "judging:rule"}
    campaign = begin(declare(folder, {"labels": NO_OWNER}, judge=judge), place)
    steps(campaign, 1)
    with history(place) as connection:
        said_of = connection.execute(
            "select verdict, reason from verdicts where campaign = ? and verdict <> 'none'", [campaign.id]
        ).fetchall()
    assert said_of == [("confirmed", "[]")]


def test_a_query_cannot_name_a_file_and_says_in_the_manifest_that_it_was_locked(place: Home, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    ledger = next(place.root.rglob("ledger.duckdb"))
    strategies = {
        "reads": f"select content as service, 'm' as failure_mode from read_text('{ledger}')",
        "attaches": f"attach '{ledger}' as other",
        "from_a_file": f"select file as service, 'm' as failure_mode from '{ledger}'",
        "honest": NO_OWNER,
    }
    campaign = begin(declare(folder, strategies), place)
    runs = {run.strategy: run for run in wave(campaign, 1)}
    assert {name: run.status for name, run in runs.items()} == {**dict.fromkeys(strategies, "not_run"), "honest": "ok"}
    assert runs["honest"].isolation == "locked SQL"


def test_what_lies_beside_the_declaration_is_read_by_programs_only_where_it_is_named(
    place: Home, tmp_path: Path
) -> None:
    folder = tmp_path / "project"
    (folder / "rules").mkdir()
    (folder / "rules" / "a.json").write_text("{}")
    (folder / "other.json").write_text("{}")
    files = [str(folder / "rules" / "a.json"), str(folder / "other.json"), str(folder / "rules")]
    (folder / "look.py").write_text(f"{PROBE}\nimport sys\nfound = reached({files!r}, [], os.getppid())\n{SAY}")
    (folder / "needs.py").write_text("import helper\n")
    (folder / "helper.py").touch()
    strategies = [
        {"name": "nothing", "kind": "command", "argv": [sys.executable, "look.py"]},
        {"name": "argument", "kind": "command", "argv": [sys.executable, "look.py", "--rules=other.json"]},
        {"name": "more", "kind": "command", "argv": [sys.executable, "look.py"], "reads": ["rules"]},
        {"name": "fails", "kind": "command", "argv": [sys.executable, "needs.py"]},
    ]
    campaign = begin(declared(folder, strategies), place)
    runs = {run.strategy: run for run in wave(campaign, 1)}
    found = {name: sorted(row["subject"] for row in rows(campaign, run)) for name, run in runs.items()}
    assert found["nothing"] == []
    assert found["argument"] == [f"read {folder}/other.json"]
    assert found["more"] == [f"read {folder}/rules", f"read {folder}/rules/a.json"]
    assert runs["fails"].status == "not_run"
    assert "No module named 'helper'" in (runs["fails"].reason or "")
    assert "it is confined, see docs/isolation.md" in (runs["fails"].reason or "")


def test_the_example_of_the_page_reads_what_it_declares(place: Home, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "isolation.md").read_text(encoding="utf-8")
    [block] = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    [strategy] = YAML(typ="safe").load(block)
    folder = tmp_path / "project"
    for name in ("project/checks", "shared"):
        (tmp_path / name).mkdir()
    (tmp_path / "shared" / "rules.json").write_text('"owner"')
    (folder / "checks" / "helper.py").write_text("def lacks(text, rule): return rule not in text\n")
    (folder / "checks" / "find.py").write_text(f"""
import helper, json, pathlib, sys
rule = json.loads(pathlib.Path({str(tmp_path / "shared" / "rules.json")!r}).read_text())
texts = [path for path in pathlib.Path(sys.argv[1]).rglob("*.yaml") if helper.lacks(path.read_text(), rule)]
found = [path.stem for path in texts]
{SAY}""")
    strategy["argv"][0] = sys.executable
    campaign = begin(declared(folder, [strategy]), place)
    [run] = wave(campaign, 1)
    assert [row["subject"] for row in rows(campaign, run)] == ["new"], run.reason


@pytest.mark.parametrize(
    ("more", "key", "why"),
    [
        ({"reads": ["."]}, "strategies[0].reads[0]", "the home lies in '.'"),
        ({"reads": ["ok.json", ".drysweep/sweeps"]}, "strategies[0].reads[1]", "lies in the home"),
        ({"argv": [sys.executable, "x.py", ".drysweep/history/history.duckdb"]}, "strategies[0].argv", "in the home"),
    ],
)
def test_a_declaration_that_would_open_the_home_is_refused_with_its_line(
    place: Home, tmp_path: Path, more: dict[str, Any], key: str, why: str
) -> None:
    folder = tmp_path / "project"
    strategy = {"name": "peeks", "kind": "command", "argv": [sys.executable, "x.py"], **more}
    with pytest.raises(DeclarationError, match=why) as raised:
        start(place, read_declaration(declared(folder, [strategy])), as_of=AS_OF, driver="cli")
    assert raised.value.key == key
    assert raised.value.line == 1
    assert not list((place.root / "sweeps" / "small" / "landing").glob("2026*.2"))


def test_a_manifest_of_before_isolation_was_recorded_is_read(place: Home) -> None:
    path = next(place.root.rglob("manifest.json"))
    told = json.loads(path.read_text())
    del told["seal"]
    for run in told["runs"]:
        assert run.pop("isolation") == "locked SQL"
    path.write_text(json.dumps(told))
    manifest = read_manifest(path.parent)
    assert manifest is not None
    assert {run.isolation for run in manifest.runs} == {None}


def test_an_unknown_kind_of_isolation_is_refused_before_anything_runs(
    place: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "nome")
    folder = tmp_path / "project"
    campaign = begin(declared(folder, probing(folder, place)), place)
    with pytest.raises(Exception, match="DRYSWEEP_ISOLATION is 'nome'"):
        list(wave(campaign, 1))
    assert os.environ["DRYSWEEP_ISOLATION"] == "nome"
