"""The wheel holds the product and nothing else, and the demo needs only the wheel."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    source = folder / "source"
    copied = ("drysweep_pipeline", "pyproject.toml", "README.md", "LICENSE")
    source.mkdir()
    for name in copied:
        subprocess.run(["cp", "-r", str(ROOT / name), str(source / name)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_product_and_its_data_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"drysweep_pipeline"}
    for needed in ("py.typed", "templates/config_registry/defs.yaml", "templates/config_registry/judge.sql"):
        assert f"drysweep_pipeline/{needed}" in names
    for sql in (ROOT / "drysweep_pipeline").rglob("*.sql"):
        assert str(sql.relative_to(ROOT)) in names


def test_the_demo_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    options = ["--no-deps", "--quiet", "--disable-pip-version-check", "--target", str(site)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(wheel)], check=True, capture_output=True)
    environment = {**os.environ, "PYTHONPATH": str(site)}
    environment.pop("DRYSWEEP_HOME", None)
    where = [sys.executable, "-c", "import drysweep_pipeline; print(drysweep_pipeline.__file__)"]
    found = subprocess.run(where, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert found.stdout.startswith(str(site))
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "demo", "--json"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout)["new"] == [61, 19, 4, 0, 0]
