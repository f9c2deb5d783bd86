"""The wheel holds the product and nothing else, and the demo needs only the wheel."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.projects import TEMPLATES, begin

ROOT = Path(__file__).parents[2]


def _copy(path: Path, to: Path) -> None:
    """Copy a file or a folder, without what Python compiles there, maybe just now, for whoever imports it."""
    if path.is_dir():
        shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(path, to)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    source = folder / "source"
    copied = ("drysweep_pipeline", "pyproject.toml", "README.md", "LICENSE")
    source.mkdir()
    for name in copied:
        _copy(ROOT / name, source / name)
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_product_and_its_data_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"drysweep_pipeline"}
    for needed in ("py.typed", "templates/config_registry/defs.yaml", "templates/config_registry/judge.sql"):
        assert f"drysweep_pipeline/{needed}" in names
    there = (path.relative_to(ROOT) for path in (ROOT / "drysweep_pipeline").rglob("*") if path.is_file())
    assert {str(path) for path in there if "__pycache__" not in path.parts} <= set(names)


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package is the one from the wheel."""
    site = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--quiet", "--disable-pip-version-check", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    environment.pop("DRYSWEEP_HOME", None)
    where = [sys.executable, "-c", "import drysweep_pipeline; print(drysweep_pipeline.__file__)"]
    found = subprocess.run(where, env=environment, cwd=site.parent, check=True, capture_output=True, text=True)
    assert found.stdout.startswith(str(site))
    return environment


def drysweep(*arguments: str, environment: dict[str, str], folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "drysweep_pipeline.cli", *arguments, "--json"]
    done = subprocess.run(command, env=environment, cwd=folder, check=True, capture_output=True, text=True)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.soak
def test_the_demo_runs_from_the_wheel_alone(installed: dict[str, str], tmp_path: Path) -> None:
    assert drysweep("demo", environment=installed, folder=tmp_path)["new"] == [61, 19, 4, 0, 0]


@pytest.mark.parametrize("template", sorted(TEMPLATES))
def test_a_project_from_the_wheel_alone_is_the_one_from_the_source(
    installed: dict[str, str], tmp_path: Path, template: str
) -> None:
    drysweep("init", "made", "--template", template, environment=installed, folder=tmp_path)
    [sweep] = (path for path in (tmp_path / "made" / "assets" / "sweeps").iterdir() if (path / "defs.yaml").exists())
    assert drysweep("validate", sweep.name, environment=installed, folder=tmp_path / "made")["problems"] == []
    source = begin(tmp_path / "source" / "made", template)
    written = {path for path in (tmp_path / "made").rglob("*") if path.is_file()}
    assert {path.relative_to(tmp_path / "made").as_posix() for path in written} == set(source.files)
    assert all((tmp_path / "made" / name).read_bytes() == (source.folder / name).read_bytes() for name in source.files)
