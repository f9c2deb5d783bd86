"""``drysweep prune``: what is needed no more goes; what was found and decided never does."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, OneSweepArgument, recorded_in, recorded_sweeps
from drysweep_pipeline.errors import Refused

if TYPE_CHECKING:
    from drysweep_pipeline.keeping.pruning import Limits, Pruning

_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def prune(
    sweep: OneSweepArgument = None,
    keep_campaigns: Annotated[int | None, typer.Option(help="All but the newest so many of a sweep are old.")] = None,
    older_than: Annotated[str | None, typer.Option(help="What was recorded longer ago is old: 90d, 12w.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Remove it; without this, only say what would go.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Show, or with --yes remove, what is needed no more.

    That is snapshots and reports of old campaigns, and what dead processes left. Findings, verdicts, decisions and
    the landed files they come from always stay.

    Example: drysweep prune my_sweep --keep-campaigns 10 --older-than 90d
    """
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.keeping.pruning import look
    from drysweep_pipeline.keeping.pruning import prune as pruned

    limits = _limits(keep_campaigns, older_than)
    place, asked = recorded_in(home, sweep)
    found = {name: (pruned if yes else look)(place, name, limits) for name in recorded_sweeps(place, asked)}
    if json:
        told = [_told(place.root, name, each) for name, each in found.items()]
        put_json({"schema_version": 1, "home": str(place.root), "removed": yes, "sweeps": told})
        return 0
    for each in found.values():
        for line in _lines(place.root, each, yes):
            put(line)
    put(_sum(found, yes))
    return 0


def _limits(keep: int | None, older_than: str | None) -> "Limits":
    from drysweep_pipeline.keeping.pruning import Limits, age

    if keep is not None and keep < 1:
        raise Refused(f"prune: {keep} campaigns is none", key="--keep-campaigns", help="the last one always stays: 1")
    span = age(older_than) if older_than is not None else None
    if older_than is not None and span is None:
        raise Refused(f"prune: {older_than!r} is no age", key="--older-than", help="write 90d or 12w")
    return Limits(keep, datetime.now(UTC) - span if span is not None else None)


def _lines(root: Path, found: "Pruning", yes: bool) -> list[str]:
    verb = "removed" if yes else "would go"
    goes = [f"{verb}: {_named(root, each.path)} ({each.kind}, {_size(each.bytes)}): {each.why}" for each in found.goes]
    return [*goes, *(f"stays: {_named(root, each.path)}: {each.why}" for each in found.stays)]


def _told(root: Path, sweep: str, found: "Pruning") -> dict[str, Any]:
    goes = [
        {"path": _named(root, each.path), "kind": each.kind, "bytes": each.bytes, "why": each.why}
        for each in found.goes
    ]
    stays = [{"path": _named(root, each.path), "why": each.why} for each in found.stays]
    return {"sweep": sweep, "bytes": sum(each.bytes for each in found.goes), "goes": goes, "stays": stays}


def _sum(found: dict[str, "Pruning"], yes: bool) -> str:
    goes = [each for pruning in found.values() for each in pruning.goes]
    freed = _size(sum(each.bytes for each in goes))
    if not goes:
        return "nothing may go"
    if yes:
        return f"{len(goes)} removed, {freed} freed; all findings, verdicts and decisions are there as before"
    return f"{len(goes)} would go, {freed}; --yes removes them"


def _named(root: Path, path: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _size(number: float) -> str:
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "bytes" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} {_UNITS[-1]}"
