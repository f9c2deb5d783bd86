"""References to a deprecated interface: a made-up index with what each strategy is to find, and two real ones.

Of the real ones it is known which lines were changed afterwards. That never reaches the sweep; recall is counted here.
"""

import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.declaration.model import SqlStrategy
from drysweep_pipeline.engine.campaign import NO_OVERRIDES, Overrides, load
from drysweep_pipeline.engine.quality import merged
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import freeze
from drysweep_pipeline.reports.summary import summary
from tests.real_data import real_data
from tests.repositories import git, needs_git, repository
from tests.sweeps import AS_OF, run_to_its_end

ROOT = Path(__file__).parents[2]
SWEEP = ROOT / "assets" / "sweeps" / "deprecated_api"
DECLARED = read_declaration(SWEEP / "defs.yaml")
NAME = DECLARED.sweep.name
STRATEGIES = [strategy for strategy in DECLARED.sweep.strategies if isinstance(strategy, SqlStrategy)]
Line = tuple[str, int]


@dataclass(frozen=True)
class Swept:
    """One home, and campaigns over indexes in it."""

    home: Home

    def run(self, index: Path, name: str, overrides: Overrides = NO_OVERRIDES) -> dict[str, Any]:
        """Sweep an index to the outcome and return the summary."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DEPRECATED_API_DATA", str(index))
            start(self.home, DECLARED, as_of=AS_OF, driver="cli", campaign=name, overrides=overrides)
            # As it was recorded, which is what a round of the command line takes up.
            campaign = run_to_its_end(load(self.home, NAME, name))
        told = summary(self.home, NAME, name)
        assert [merged(campaign, round).sentence for round in range(1, told["rounds"] + 1)] == [None] * told["rounds"]
        return told

    def found(self, campaign: str) -> dict[str, set[Line]]:
        """Return the lines that each strategy reported."""
        found: dict[str, set[Line]] = {strategy.name: set() for strategy in STRATEGIES}
        for strategy, path, line in self.ask(
            "select s.strategy, f.path, f.line from sightings s join all_findings f using (fp) where s.campaign = ?",
            campaign,
        ):
            found[strategy].add((path, line))
        return found

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with history(self.home) as connection:
            return connection.execute(sql, values).fetchall()


# Path, line, identifiers; and who is to find it.
LINES: tuple[tuple[str, int, str, set[str]], ...] = (
    ("README.md", 3, "uses oldlib", {"commit_message"}),
    ("config.ini", 1, "oldlib", set()),
    ("notes.txt", 1, "about oldlib", {"commit_message"}),
    ("src/app.py", 1, "import oldlib", {"import_pattern", "test_name"}),
    ("src/app.py", 5, "oldlib.read value", {"symbol_name", "test_name"}),
    ("src/app.py", 9, "oldlib.read value", {"symbol_name", "test_name"}),
    ("src/app.py", 12, "mock.patch src.app.oldlib.read", {"symbol_name", "test_name"}),
    ("src/other.py", 2, "from import oldlib read", {"import_pattern"}),
    ("src/third.py", 1, "as ol import oldlib.deep", {"import_pattern"}),
    ("src/third.py", 4, "ol.read", set()),
    ("src/upper.py", 7, "OLDLIB", {"symbol_name"}),
    ("src/coldlibrary.py", 1, "coldlib", set()),
    ("src/app_test.py", 4, "oldlib.fake", {"symbol_name", "test_name"}),
    ("src/app_test.py", 9, "oldlib", {"symbol_name", "test_name"}),
)
IMPORTS = (
    ("src/app.py", 1, "oldlib", "", ""),
    ("src/other.py", 2, "oldlib", "read", ""),
    ("src/third.py", 1, "oldlib.deep", "", "ol"),
)
TESTS = (("src/app_test.py", 3, 6, "test_oldlib_reads"), ("src/app_test.py", 8, 10, "test_something_else"))
COMMITS: tuple[dict[str, Any], ...] = (
    {"sha": "c" * 40, "committed_at": "2026-02-01T00:00:00Z", "subject": "Remove oldlib", "files": ["config.ini"]},
    {"sha": "b" * 40, "committed_at": "2026-01-09T23:00:00-01:00", "subject": "Drop OldLib", "files": ["notes.txt"]},
    {"sha": "a" * 40, "committed_at": "2026-01-01T00:00:00Z", "subject": "Say more", "files": ["README.md", "gone.md"]},
)
BODIES = {"a" * 40: ["oldlib"]}


def index(folder: Path, *, moved: int = 0, commits: tuple[dict[str, Any], ...] = COMMITS) -> Path:
    """Write the made-up index, with all lines of code moved by some."""
    folder.mkdir()
    meta = {"token_regex": r"\boldlib\b", "base_date": "2026-01-10T00:00:00+00:00", "stages": ["Remove oldlib"]}
    (folder / "meta.json").write_text(json.dumps(meta))
    lines = [json.dumps([path, line + moved, words.split()]) for path, line, words, _ in LINES]
    with gzip.open(folder / "line_tokens.jsonl.gz", "wt") as file:
        file.write("\n".join(lines) + "\n")
    with gzip.open(folder / "commits.jsonl.gz", "wt") as file:
        for commit in commits:
            file.write(json.dumps({**commit, "body_mentions": BODIES.get(commit["sha"], [])}) + "\n")
    imports = [(path, line + moved, *rest) for path, line, *rest in IMPORTS]
    tests = [(path, line + moved, end + moved, name) for path, line, end, name in TESTS]
    write_csv(folder / "imports.csv", ("path", "line", "module", "name", "alias"), imports)
    write_csv(folder / "tests.csv", ("path", "line", "end_line", "test_name"), tests)
    write_csv(folder / "truth.csv", ("path", "line"), [("config.ini", 1)])
    return folder


def write_csv(path: Path, header: tuple[str, ...], rows: list[Any]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> tuple[Swept, dict[str, Any], dict[str, Any]]:
    """Two campaigns: over the index, and over that of the same code with three lines more at the top of each file."""
    folder = tmp_path_factory.mktemp("made_up")
    swept = Swept(Home(folder / "home"))
    first = swept.run(index(folder / "first"), "first")
    return swept, first, swept.run(index(folder / "second", moved=3), "second")


def test_every_reference_is_found_by_whom_it_is_meant_for(made_up: tuple[Swept, dict[str, Any], Any]) -> None:
    swept, first, _ = made_up
    assert first["outcome"] == "converged"
    found: dict[str, set[str]] = {}
    for path, strategies, reference, nth in swept.ask(
        "select path, strategies, attributes ->> 'reference', attributes ->> 'nth' from all_findings"
    ):
        found[f"{path}: {reference} {nth}"] = set(strategies)
    counted = {("src/app.py", 9): 2}
    assert found == {
        f"{path}: {words} {counted.get((path, line), 1)}": strategies
        for path, line, words, strategies in LINES
        if strategies
    }


def test_lines_that_move_are_the_same_references(made_up: tuple[Swept, dict[str, Any], dict[str, Any]]) -> None:
    _, first, second = made_up
    assert sum(first["new"]) == second["seen"] > 0
    assert sum(second["new"]) == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of the made-up index, with the history that came after the day."""
    return database(index(tmp_path_factory.mktemp("whole") / "index"))


def test_no_strategy_tells_another_thing_where_the_later_history_is_missing(whole: Path, tmp_path: Path) -> None:
    earlier = tuple(commit for commit in COMMITS if commit["committed_at"] < "2026-01-10")
    assert len(earlier) == 2
    found = queried(whole)
    assert found == queried(database(index(tmp_path / "index", commits=earlier)))
    assert found["commit_message"] == {("README.md", 3), ("notes.txt", 1)}


def test_without_the_cut_the_history_would_tell_where_to_look(whole: Path) -> None:
    cut = "cast(commits.committed_at as timestamptz) <= asked.base_date"
    assert cut in (SWEEP / "strategies" / "commit_message.sql").read_text()
    assert ("config.ini", 1) in queried(whole, {cut: "true"})["commit_message"]


def test_what_became_of_the_references_is_no_part_of_the_material(whole: Path) -> None:
    with duckdb.connect(whole, read_only=True) as connection:
        files = {path for (path,) in connection.execute("select path from files").fetchall()}
        tables = {name for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()}
    assert files == {"meta.json", "line_tokens.jsonl.gz", "commits.jsonl.gz", "imports.csv", "tests.csv"}
    assert tables == {"api", "lines", "commits", "imports", "tests", "files", "settings", "unreadable"}


def test_an_index_without_a_part_is_no_silence(tmp_path: Path) -> None:
    folder = index(tmp_path / "index")
    (folder / "tests.csv").unlink()
    swept = Swept(Home(tmp_path / "home"))
    told = swept.run(folder, "torn", Overrides(rounds=1))
    assert (told["outcome"], told["quiet"], told["not_searched"]) == ("budget_exceeded", 0, 1)
    assert swept.ask("select distinct strategy from strategy_runs where status <> 'ok'") == [("test_name",)]
    assert swept.ask("select complete from rounds") == [(False,)]


def test_without_the_variable_the_run_is_refused_and_the_declaration_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEPRECATED_API_DATA", raising=False)
    assert sql_problems(DECLARED) == []
    with pytest.raises(MaterialError, match="DEPRECATED_API_DATA is not set"):
        start(Home(tmp_path), DECLARED, as_of=AS_OF, driver="cli")


CHECKOUT = {
    "src/app.py": "import oldlib\n\nvalue = oldlib.read()\n",
    "src/app_test.py": "from oldlib import (\n    fake,\n)\n\n\ndef test_oldlib():\n    assert fake\n",
    "src/half.py": "import oldlib\ndef (:\n",
    "blöd.txt": "oldlib\n",
}


@needs_git
def test_an_index_of_any_checkout_is_made_by_the_script(tmp_path: Path) -> None:
    checkout = repository(tmp_path / "checkout", CHECKOUT)
    (checkout / "image.bin").write_bytes(b"\xff\xfe oldlib")
    (checkout / "blöd.txt").write_text("one\noldlib\n")
    git(checkout, "add", "--all")
    git(checkout, "commit", "-q", "-m", "Use oldlib here")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "Say why", "-m", "The body names oldlib, and touches nothing.")
    (tmp_path / "index").mkdir()
    command = [sys.executable, str(SWEEP / "index_of.py"), str(checkout), "oldlib", str(tmp_path / "index")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == "image.bin is not text\n"
    assert queried(database(tmp_path / "index")) == {
        # What Python cannot parse has no imports, and its identifiers are found as any.
        "symbol_name": {("src/app.py", 3), ("src/half.py", 1)},
        "import_pattern": {("src/app.py", 1), ("src/app_test.py", 1)},
        "commit_message": {("blöd.txt", 2)},
        "test_name": {("src/app.py", 1), ("src/app.py", 3), ("src/app_test.py", 1)},
    }


def database(folder: Path) -> Path:
    """Freeze an index and return the snapshot's database."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DEPRECATED_API_DATA", str(folder))
        return freeze(DECLARED.sweep.material, SWEEP, AS_OF, folder.parent / "snapshots").database


def queried(snapshot: Path, replaced: Mapping[str, str] = {}) -> dict[str, set[Line]]:
    """Return the lines that each strategy reports from all its angles, with some of its SQL replaced."""
    found: dict[str, set[Line]] = {strategy.name: set() for strategy in STRATEGIES}
    with duckdb.connect(snapshot, read_only=True) as connection:
        for strategy in STRATEGIES:
            text = strategy.query.text
            for old, new in replaced.items():
                text = text.replace(old, new)
            for angle in strategy.angles:
                found[strategy.name] |= set(connection.execute(f"select path, line from ({text})", angle).fetchall())
    return found


@dataclass(frozen=True)
class Recall:
    """What a campaign over a real index found, and what of it is known to be a reference."""

    told: dict[str, Any]
    found: dict[str, set[Line]]
    truth: dict[Line, dict[str, str]]

    def union(self, *strategies: str) -> set[Line]:
        return set().union(*(lines for name, lines in self.found.items() if name in strategies or not strategies))

    def row(self, name: str) -> tuple[int, int, int, int]:
        """Return lines, files, and how many of each no other strategy found."""
        lines = self.found[name]
        others = self.union(*(other for other in self.found if other != name))
        return len(lines), len(files(lines)), len(lines - others), len(files(lines) - files(others))

    def of(self, *kinds: str, removed: bool = False) -> set[Line]:
        """Return the known lines of some kinds; only those that were removed later, if so asked."""
        return {
            line
            for line, said in self.truth.items()
            if said["kind"] in kinds and not (removed and said["removed_in"] == "never")
        }


def files(lines: set[Line]) -> set[str]:
    return {path for path, _ in lines}


def is_python(line: Line) -> bool:
    return line[0].endswith(".py")


def recall(data: str, tmp_path_factory: pytest.TempPathFactory) -> Recall:
    folder = real_data(data)
    swept = Swept(Home(tmp_path_factory.mktemp(data)))
    told = swept.run(folder, "real")
    with (folder / "truth.csv").open() as file:
        truth = {(row["path"], int(row["line"])): row for row in csv.DictReader(file)}
    return Recall(told, swept.found("real"), truth)


@pytest.fixture(scope="module")
def pkg_resources(tmp_path_factory: pytest.TempPathFactory) -> Recall:
    return recall("certbot_pkg_resources", tmp_path_factory)


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Recall:
    return recall("certbot_six", tmp_path_factory)


@pytest.fixture(params=["pkg_resources", "six"])
def either(request: pytest.FixtureRequest) -> tuple[str, Recall]:
    return request.param, request.getfixturevalue(request.param)


# Lines, files, lines that no other strategy found, files that no other strategy found.
ROWS = {
    "pkg_resources": {
        "symbol_name": (35, 17, 31, 0),
        "import_pattern": (21, 21, 16, 2),
        "commit_message": (12, 6, 3, 1),
        "test_name": (0, 0, 0, 0),
    },
    "six": {
        "symbol_name": (118, 51, 107, 5),
        "import_pattern": (67, 55, 60, 11),
        "commit_message": (13, 8, 3, 3),
        "test_name": (8, 2, 0, 0),
    },
}
NEW = {"pkg_resources": [50, 7, 2, 0, 0], "six": [158, 11, 19, 0, 0]}
ALL = {"pkg_resources": (59, 62, 22, 25), "six": (188, 192, 66, 70)}


def test_a_real_index_goes_quiet_short_of_all_references(either: tuple[str, Recall]) -> None:
    name, real = either
    assert (real.told["outcome"], real.told["new"]) == ("converged", NEW[name])
    union = real.union()
    assert (len(union), len(real.truth), len(files(union)), len(files(set(real.truth)))) == ALL[name]
    assert union < real.truth.keys()


def test_each_strategy_finds_on_real_code_what_the_document_says(either: tuple[str, Recall]) -> None:
    name, real = either
    assert {strategy: real.row(strategy) for strategy in real.found} == ROWS[name]
    text = (ROOT / "docs" / "deprecated_api.md").read_text()
    for strategy, row in ROWS[name].items():
        assert f"| `{strategy}` | {' | '.join(map(str, row))} |" in text
    lines, of_lines, in_files, of_files = ALL[name]
    assert f"| all four | {lines} of {of_lines} | {in_files} of {of_files} | | |" in text
    assert f"{', '.join(map(str, NEW[name]))}" in text


def test_what_is_missed_is_no_python_source_and_was_touched_by_no_commit_that_names_it(
    either: tuple[str, Recall],
) -> None:
    _, real = either
    missed = real.truth.keys() - real.union()
    assert missed
    assert not any(map(is_python, missed))
    assert not files(missed) & files(real.found["commit_message"])


def test_symbols_and_imports_alone_go_dry_at_nine_tenths(pkg_resources: Recall) -> None:
    code = pkg_resources.union("symbol_name", "import_pattern")
    assert (len(code), len(pkg_resources.truth)) == (56, 62)
    assert {path for path, _ in pkg_resources.truth.keys() - code} == {
        ".pylintrc",
        "pytest.ini",
        "certbot/docs/contributing.rst",
        "tools/pinning/current/pyproject.toml",
    }
    assert pkg_resources.found["symbol_name"] == pkg_resources.of("use", "string")
    assert pkg_resources.found["import_pattern"] == pkg_resources.of("import")


def test_an_index_knows_identifiers_and_no_syntax(six: Recall) -> None:
    assert six.found["import_pattern"] == six.of("import")
    more = six.found["symbol_name"] - six.of("use", "string")
    assert six.of("use", "string") < six.found["symbol_name"]
    # Requirements in setup.py, and comments: their identifiers are as good as any.
    assert more == set(filter(is_python, six.of("config", "comment-or-doc")))
    assert len(more) == 9


def test_the_index_counted_its_files_in_other_ways(pkg_resources: Recall, six: Recall) -> None:
    # 19: files of configuration are counted with the symbols.
    assert len(files(pkg_resources.of("use", "string", "config"))) == 19
    assert files(pkg_resources.of("use", "string", "config")) - files(pkg_resources.found["symbol_name"]) == {
        ".pylintrc",
        "pytest.ini",
    }
    # 58: import lines are symbols as well, requirements and comments are none.
    assert len(files(six.of("use", "string", "import"))) == 58
    # Of 69 files, without the one that nobody ever changed, seven come from commits; five hold no code that names it.
    removed = six.of("use", "string", "import", "config", "comment-or-doc", removed=True)
    by_commit = files(six.found["commit_message"]) & files(removed)
    assert (len(files(removed)), len(by_commit)) == (69, 7)
    assert len(by_commit - files(six.of("use", "string", "import"))) == 5


def test_a_test_may_lead_to_references_by_a_word_that_means_something_else(six: Recall) -> None:
    # Six names in a certificate.
    assert files(six.found["test_name"]) == {"acme/tests/crypto_util_test.py", "certbot/certbot/crypto_util.py"}
    assert six.found["test_name"] <= six.union("symbol_name", "import_pattern")
