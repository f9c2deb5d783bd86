"""Dagster's settings in the home: are they what a search needs, and are they the ones in use."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.home import Home
from drysweep_pipeline.wording import first_line

_CAMPAIGN_TAG = "drysweep/campaign"


def checks(home: Home) -> Iterator[Check]:
    """Yield how Dagster's settings are; a home that is not initialised has none, and that is well."""
    path = home.dagster / "dagster.yaml"
    if not path.exists():
        yield Check("dagster", True, "not initialised yet; the first run does it")
    else:
        yield from _settings(path)
    yield _variable(home)


def _settings(path: Path) -> Iterator[Check]:
    file = str(path)
    try:
        settings = _read(path)
    except Exception as error:  # whatever a YAML reader says of a file that is none
        found = f"cannot be read: {first_line(error)}"
        yield Check("dagster.yaml", False, found, "remove it; the next run writes it anew", file)
        return
    monitoring = _at(settings, "run_monitoring")
    runtime = monitoring.get("max_runtime_seconds")
    watched = bool(monitoring.get("enabled")) and bool(runtime)
    help = "set run_monitoring: {enabled: true, max_runtime_seconds: 7200}; else runs whose process died stay started"
    found = f"{runtime} s" if watched else "not set, or monitoring is off"
    yield Check("dagster.yaml max_runtime_seconds", watched, found, None if watched else help, file)
    limits = _at(settings, "concurrency", "runs").get("tag_concurrency_limits") or []
    one = any(isinstance(each, dict) and each.get("key") == _CAMPAIGN_TAG and each.get("limit") == 1 for each in limits)
    help = "limit it to 1 for each of its values; else two rounds of one campaign could run at once"
    yield Check(
        f"dagster.yaml {_CAMPAIGN_TAG}", one, "one at a time" if one else "no limit of 1", None if one else help, file
    )
    quiet = _at(settings, "telemetry").get("enabled") is False
    help = "set telemetry: {enabled: false}"
    yield Check("dagster.yaml telemetry", quiet, "off" if quiet else "on", None if quiet else help, file)


def _read(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML

    found = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return found if isinstance(found, dict) else {}


def _at(settings: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        # What a person wrote there may be anything; mypy does not see that the condition asks.
        settings = settings.get(key) if isinstance(settings.get(key), dict) else {}  # type: ignore[assignment]
    return settings


def _variable(home: Home) -> Check:
    said = os.environ.get("DAGSTER_HOME")
    if said is None or Path(said).resolve() == home.dagster.resolve():
        return Check("DAGSTER_HOME", True, said or "not set")
    help = f"a daemon started here would not see these campaigns: export DAGSTER_HOME={home.dagster}"
    # Whoever has the component in a project of their own means it to be another one.
    return Check("DAGSTER_HOME", not (home.dagster / "dagster.yaml").exists(), said, help, said)
