"""``drysweep doctor``: are this machine, this home and this project fit for a sweep."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from drysweep_pipeline.cli.options import HomeOption, JsonOption, home_of

if TYPE_CHECKING:
    from drysweep_pipeline.cli.health import Check

NOT_WELL = 1


def doctor(home: HomeOption = None, json: JsonOption = False) -> int:
    """Look at machine, home and project for what is not well.

    Exit code 1 where something is. Whether what was recorded is still that, drysweep verify says.

    Example: drysweep doctor
    """
    from drysweep_pipeline.cli.health import checks
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.redaction import hidden, hidden_data

    place = home_of(home)
    found = list(checks(place))
    if json:
        told = hidden_data({"home": str(place.root), "checks": [asdict(check) for check in found]})
        put_json({"schema_version": 1, **told})
    else:
        for line in (line for check in found for line in _lines(check)):
            put(hidden(line))
        wrong = sum(not check.ok for check in found)
        put(f"{wrong} of {len(found)} checks are not well" if wrong else f"all {len(found)} checks are well")
    return 0 if all(check.ok for check in found) else NOT_WELL


def _lines(check: "Check") -> list[str]:
    """Return a check as a line, and what helps as another."""
    said = [f"{'ok ' if check.ok else 'BAD'} {check.name}: {check.found}"]
    if not check.ok and check.file and check.file not in check.found:
        said.append(f"      --> {check.file}")
    return [*said, *([f"      help: {check.help}"] if check.help else [])]
