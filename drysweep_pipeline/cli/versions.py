"""Which versions are at work: drysweep's own, and those of what it stands on."""

import importlib.metadata
import sys

OURS = "drysweep-pipeline"
# What a report of a fault has to name.
_NAMED = ("dagster", "duckdb")


def version_of(package: str) -> str | None:
    """Return the installed version of a package, or None where there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def versions() -> dict[str, str]:
    """Return the versions by name, drysweep's first; nothing is imported to find them."""
    found = {"drysweep": version_of(OURS) or "not installed"}
    found |= {name: version_of(name) or "not installed" for name in _NAMED}
    return {**found, "python": sys.version.split()[0]}
