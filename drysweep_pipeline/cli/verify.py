"""``drysweep verify``: is what was recorded what was recorded."""

from typing import TYPE_CHECKING

from drysweep_pipeline.cli.options import HomeOption, JsonOption, OneSweepArgument, recorded_in, recorded_sweeps

if TYPE_CHECKING:
    from drysweep_pipeline.home import Home
    from drysweep_pipeline.keeping.fault import Fault

INTEGRITY = 7


def verify(
    sweep: OneSweepArgument = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Hold every recorded file against what was recorded.

    Exit code 7 where one is not that. Changes nothing.

    Example: drysweep verify my_sweep
    """
    from drysweep_pipeline.cli.output import progress, put, put_json
    from drysweep_pipeline.keeping.verifying import verify as verified

    place, sweep = recorded_in(home, sweep)
    found: list[tuple[str, Fault]] = []
    sweeps = recorded_sweeps(place, sweep)
    for name in sweeps:
        for fault in verified(place, name, progress):
            found.append((name, fault))
            if not json:
                put(_line(place, fault))
    faults = [fault for _, fault in found if not fault.note]
    if json:
        told = {"faults": [_told(place, *each) for each in found if not each[1].note]}
        told["notes"] = [_told(place, *each) for each in found if each[1].note]
        put_json({"schema_version": 1, "home": str(place.root), "sweeps": sweeps, "ok": not faults, **told})
    else:
        put(_sum(faults, sweeps))
    return INTEGRITY if faults else 0


def _line(home: "Home", fault: "Fault") -> str:
    help = f" ({fault.help})" if fault.help else ""
    return f"{'note' if fault.note else 'BAD '} {fault.named(home)}: {fault.what}{help}"


def _told(home: "Home", sweep: str, fault: "Fault") -> dict[str, str | None]:
    return {"sweep": sweep, "file": fault.named(home), "what": fault.what, "help": fault.help}


def _sum(faults: list["Fault"], sweeps: list[str]) -> str:
    of = ", ".join(sweeps) or "no sweep"
    if not faults:
        return f"{of}: everything is as it was recorded"
    many = f"{len(faults)} things are" if len(faults) > 1 else "1 thing is"
    return f"{of}: {many} not as it was recorded"
