"""``drysweep rebuild``: a sweep's ledger made anew from what was landed."""

from typing import TYPE_CHECKING, Annotated

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, SweepArgument, recorded_in, recorded_sweeps
from drysweep_pipeline.wording import count

if TYPE_CHECKING:
    from drysweep_pipeline.keeping.rebuilding import Rebuilt

# How many of the campaigns that were given up are named.
_NAMED = 10


def rebuild(
    sweep: SweepArgument,
    without_missing: Annotated[
        bool, typer.Option("--without-missing", help="Give up what was taken in and is landed no more.")
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Make a sweep's ledger and history anew from what landed.

    State files as well; no finder and no judge is asked. Refused, with exit code 7, where the ledger or the history
    took in what is not landed any more: it would be lost.

    Example: drysweep rebuild my_sweep
    """
    from drysweep_pipeline.cli.output import progress, put, put_json
    from drysweep_pipeline.keeping.rebuilding import rebuild as rebuilt

    place, asked = recorded_in(home, sweep)
    [name] = recorded_sweeps(place, asked)
    done = rebuilt(place, name, progress, without_missing=without_missing)
    if json:
        put_json(_told(name, done))
    else:
        for line in _lines(name, done):
            put(line)
    return 0


def _told(sweep: str, done: "Rebuilt") -> dict[str, object]:
    differs = None
    if done.differs is not None:
        differs = [
            {"table": each.table, "too_many": each.only_first, "missing": each.only_second, "named": list(each.named)}
            for each in done.differs
        ]
    kept = str(done.kept) if done.kept else None
    told = {"campaigns": done.campaigns, "steps": done.steps, "differs": differs, "kept": kept}
    return {"schema_version": 1, "sweep": sweep, **told, "given_up": list(done.given_up)}


def _lines(sweep: str, done: "Rebuilt") -> list[str]:
    campaigns = count(done.campaigns, "campaign")
    lines = [f"{sweep}: the ledger was made anew from the landing of {campaigns}, and the history published from it"]
    if done.differs is None:
        lines.append("there was no ledger before it that could be read")
    elif not done.differs:
        lines.append("it says what the one before it said")
    else:
        lines += [f"the one before it differed: {each}" for each in done.differs]
    lines += [f"the one before it is kept as {done.kept}"] if done.kept else []
    if done.given_up:
        named = ", ".join(done.given_up[:_NAMED])
        more = f" and {len(done.given_up) - _NAMED} more" if len(done.given_up) > _NAMED else ""
        lines.append(f"given up, state files included, reports kept: {named}{more}")
    return lines
