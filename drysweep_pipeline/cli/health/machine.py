"""The machine: Python, the packages and whether they go together, limits, what confines children."""

import re
import resource
import sys
from collections.abc import Iterator

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.cli.versions import OURS, version_of

_PYTHON = (3, 11)
_PACKAGES = (OURS, "dagster", "dagster-webserver", "duckdb", "pyarrow", "pydantic", "ruamel.yaml")
# They are released together and are no good apart: the first one says which release it is.
_ONE_RELEASE = ("dagster", "dagster-webserver", "dagster-dg-cli", "dagster-graphql", "dagster-pipes", "dagster-shared")
# From the first that is good enough to the first that is not known to be.
_RANGES = {"duckdb": ((1, 5, 5), (3,)), "dagster": ((1, 13, 27), (1, 14))}
_OPEN_FILES = 256


def checks() -> Iterator[Check]:
    """Yield how this machine is."""
    fit = sys.version_info >= _PYTHON
    yield Check("python", fit, sys.version.split()[0], None if fit else "install Python 3.11 or newer")
    yield from map(_package, _PACKAGES)
    yield from _apart()
    yield _open_files()
    yield _isolation()


def _package(name: str) -> Check:
    found = version_of(name)
    if found is None:
        return Check(name, False, "not installed", f"pip install {name}")
    first, end = _RANGES.get(name, ((), ()))
    if first and not first <= _numbers(found) < end:
        least, most = (".".join(map(str, bound)) for bound in (first, end))
        return Check(name, False, found, f"pip install '{name}>={least},<{most}'")
    return Check(name, True, found)


def _numbers(version: str) -> tuple[int, ...]:
    # The pattern matches any text, an empty one too.
    return tuple(int(number) for number in re.match(r"[\d.]*", version)[0].split(".") if number)  # type: ignore[index]


def _apart() -> Iterator[Check]:
    """Yield where Dagster's packages are not of one release."""
    release, *others = _ONE_RELEASE
    found = {name: version_of(name) for name in _ONE_RELEASE}
    apart = [f"{name} {found[name]}" for name in others if found[name] not in (None, found[release])]
    if found[release] and apart:
        said = f"{release} {found[release]} with {', '.join(apart)}"
        yield Check("dagster packages", False, said, "install them as one set, of one version")


def _open_files() -> Check:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = soft == resource.RLIM_INFINITY or soft >= _OPEN_FILES
    help = None if enough else f"ulimit -n {_OPEN_FILES} or more: a wave opens files for each of its strategies"
    return Check("open files", enough, f"a process may open {soft}", help)


def _isolation() -> Check:
    from drysweep_pipeline.children.confinement import VARIABLE, available, isolation_of
    from drysweep_pipeline.errors import Refused

    try:
        found = isolation_of("command")
    except Refused as error:
        return Check("isolation", False, error.what, error.help)
    offered = available()
    why = f"the kernel has none: {offered}" if isinstance(offered, str) else f"{VARIABLE} says so"
    help = f"{why}; programs and functions can read what was found" if found == "none" else None
    return Check("isolation", True, f"{found}, for programs and functions that search or judge", help)
