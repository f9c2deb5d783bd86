"""The tree is the architecture: which way imports point, what the core does without, what is public."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "drysweep_pipeline"
DAGSTER_SIDE = ("orchestration",)
OWN_SQL = (
    "children",
    "history",
    "judges",
    "ledger",
    "material",
    "tabular",
    "binding.py",
    "candidates.py",
    "sandbox.py",
    "scratch.py",
)


def modules(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


def roots(path: Path) -> set[str]:
    return {name.split(".")[0] for name in imported(path)}


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_in_the_product_looks_back_at_its_deployment(path: Path) -> None:
    assert not roots(path) & {"assets", "resources", "tests", "benchmarks"}


def test_the_resources_look_at_the_product_only() -> None:
    assert not any(roots(path) & {"assets", "tests"} for path in modules(ROOT / "resources"))


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_dagster_layer_imports_dagster(path: Path) -> None:
    if path.relative_to(PACKAGE).parts[0] not in DAGSTER_SIDE:
        assert not roots(path) & {"dagster", "dagster_shared"}


@pytest.mark.parametrize("path", modules(PACKAGE), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_does_not_reach_into_the_dagster_layer_or_the_command_line(path: Path) -> None:
    part = path.relative_to(PACKAGE).parts[0]
    if part in (*DAGSTER_SIDE, "cli", "__init__.py"):
        return
    reached = {name.split(".")[1] for name in imported(path) if name.startswith("drysweep_pipeline.")}
    assert not reached & {"orchestration", "cli"}


def test_duckdb_is_imported_where_its_tables_and_files_are_owned_and_nowhere_else() -> None:
    users = {path.relative_to(PACKAGE).parts[0] for path in modules(PACKAGE) if "duckdb" in roots(path)}
    assert users <= set(OWN_SQL)


@pytest.mark.parametrize("pattern", ["*.py", "*.sql"])
def test_no_sql_asks_with_a_form_that_one_null_turns_into_nothing_new(pattern: str) -> None:
    folders = (PACKAGE, ROOT / "assets", ROOT / "benchmarks")
    texts = {path: path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob(pattern)}
    assert not [path for path, text in texts.items() if re.search(r"not\s+in\s*\(\s*select", text, re.IGNORECASE)]


def test_no_folder_of_a_path_is_taken_for_a_column_of_the_files_in_it() -> None:
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*") if path.suffix in (".py", ".sql")]
    calls = [call for text in texts for call in re.findall(r"read_parquet\(.*?\)", text)]
    assert len(calls) > 5
    assert [call for call in calls if "hive_partitioning = false" not in call] == []


def test_contributing_tells_of_every_part_of_the_package_and_of_no_other() -> None:
    there = {path.stem for path in PACKAGE.iterdir() if path.suffix in (".py", "") and not path.name.startswith("_")}
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| what for |")[2].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) - {"drysweep_pipeline"} == there


def test_importing_the_package_and_its_engine_loads_no_dagster() -> None:
    modules = "drysweep_pipeline, drysweep_pipeline.engine.rounds, drysweep_pipeline.cli"
    code = f"import sys, {modules}; print('dagster' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"


def test_the_package_offers_the_component_and_nothing_else() -> None:
    import drysweep_pipeline

    assert drysweep_pipeline.__all__ == ["Sweep"]
    assert "Sweep" in dir(drysweep_pipeline)
