"""``drysweep doctor``: is this machine fit for a sweep: versions, home, locks, disk, Dagster, exposure."""

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from drysweep_pipeline.cli.options import HomeOption, JsonOption, home_of
from drysweep_pipeline.home import Home

_PACKAGES = ("drysweep-pipeline", "dagster", "dagster-webserver", "duckdb", "pyarrow", "pydantic", "ruamel.yaml")
_ENOUGH_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; ``help`` says what to do where it is not well."""

    name: str
    ok: bool
    found: str
    help: str | None = None


def doctor(home: HomeOption = None, json: JsonOption = False) -> int:
    """Look at machine and home; exit code 1 where not all is well."""
    from drysweep_pipeline.cli.output import put, put_json

    place = home_of(home)
    checks = [*_versions(), *_place(place), *_isolation(), *_ledgers(place), *_dagster(place)]
    if json:
        put_json({"schema_version": 1, "home": str(place.root), "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            put(_line(check))
    return 0 if all(check.ok for check in checks) else 1


def _line(check: Check) -> str:
    help = f" ({check.help})" if check.help else ""
    return f"{'ok ' if check.ok else 'BAD'} {check.name}: {check.found}{help}"


def _versions() -> Iterator[Check]:
    fit = sys.version_info >= (3, 11)
    yield Check("python", fit, sys.version.split()[0], None if fit else "install Python 3.11 or newer")
    for name in _PACKAGES:
        try:
            yield Check(name, True, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Check(name, False, "not installed", f"pip install {name}")


def _place(home: Home) -> Iterator[Check]:
    root = home.root
    nearest = next(folder for folder in (root, *root.parents) if folder.exists())
    writable = os.access(nearest, os.W_OK) and nearest.is_dir()
    yield Check("home", writable, str(root), None if writable else f"{nearest} cannot be written")
    free = shutil.disk_usage(nearest).free
    enough = free >= _ENOUGH_BYTES
    yield Check("disk", enough, f"{free // (1 << 20)} MB free", None if enough else "free at least 1024 MB")
    if root.exists():
        private = not root.stat().st_mode & 0o022
        mode, help = root.stat().st_mode & 0o777, f"chmod go-w {root}"
        others = "nobody but its user" if not mode & 0o077 else "others may read" if private else "others may write"
        yield Check("modes", private, f"the home is {mode:o}: {others}", None if private else help)


def _isolation() -> Iterator[Check]:
    from drysweep_pipeline.children.confinement import VARIABLE, available, isolation_of
    from drysweep_pipeline.errors import Refused

    try:
        found = isolation_of("command")
    except Refused as error:
        yield Check("isolation", False, error.what, error.help)
        return
    offered = available()
    why = f"the kernel has none: {offered}" if isinstance(offered, str) else f"{VARIABLE} says so"
    help = f"{why}; programs and functions can read what was found" if found == "none" else None
    yield Check("isolation", True, f"{found}, for programs and functions that search or judge", help)


def _ledgers(home: Home) -> Iterator[Check]:
    from drysweep_pipeline.errors import DrysweepError
    from drysweep_pipeline.ledger import open_ledger

    for name in home.sweeps():
        path = home.sweep(name).ledger
        if not path.exists():
            continue
        try:
            with open_ledger(path, wait_seconds=1):
                yield Check(f"ledger {name}", True, "opens, and nobody else holds it")
        except DrysweepError as error:
            yield Check(f"ledger {name}", False, error.what, error.help)


def _dagster(home: Home) -> Iterator[Check]:
    settings = home.dagster / "dagster.yaml"
    if not settings.exists():
        yield Check("dagster", True, "not initialised yet; the first run does it")
        return
    text = settings.read_text(encoding="utf-8")
    for what, why in (
        ("max_runtime_seconds", "runs whose process died would stay started for ever"),
        ("drysweep/campaign", "two rounds of one campaign could run at once"),
    ):
        yield Check(
            f"dagster.yaml {what}", what in text, "set" if what in text else "missing", None if what in text else why
        )
    variable = os.environ.get("DAGSTER_HOME")
    same = variable is None or Path(variable).resolve() == home.dagster.resolve()
    yield Check("DAGSTER_HOME", True, variable or "not set", None if same else "drysweep's own commands use the home's")
    yield Check("exposure", True, "drysweep ui listens on 127.0.0.1, read-only unless --write")
