"""The campaigns of a backfill: which dates, one ceiling on calls for all, each recorded under the id of its date."""

from dataclasses import dataclass
from datetime import UTC, datetime

from drysweep_pipeline.cli.driving import FINDINGS, drive, show
from drysweep_pipeline.cli.output import note
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.model import CommandMaterial, ScriptedMaterial
from drysweep_pipeline.engine.campaign import NO_OVERRIDES, Campaign, Overrides, campaigns, load
from drysweep_pipeline.engine.journal import spent, standing
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.pruning import age
from drysweep_pipeline.material import dates_of
from drysweep_pipeline.notifications.sending import mute

CUT_SHORT = 3
_BEYOND = "; the same `backfill` again goes on with it and with the dates after it"


def dates(declaration: Declaration, first: datetime, last: datetime, every: str | None) -> list[datetime]:
    """Return the instants to sweep, in order. Raises ``DeclarationError`` where there are none."""
    if last < first:
        raise DeclarationError("--to lies before --from", key="--to")
    found = _stepped(first, last, every) if every is not None else _dated(declaration, first, last)
    if not found:
        raise DeclarationError("the material has no date in that time", key="--from", help="look for its dates")
    return found


@dataclass(frozen=True, slots=True)
class Backfill:
    """Campaigns over the dates of a material; ``calls`` bounds all together, ``fail_on`` is held against each."""

    home: Home
    declaration: Declaration
    dates: list[datetime]
    calls: int | None
    fail_on: str | None = None
    quiet: bool = False

    @property
    def ceiling(self) -> int:
        """The calls that all campaigns may make together."""
        return self.calls if self.calls is not None else self.declaration.sweep.budget.calls * len(self.dates)

    def run(self, *, as_json: bool) -> int:
        """Run the campaigns in order and return the worst exit code."""
        left = self.ceiling
        codes: list[int] = []
        for number, date in enumerate(self.dates):
            campaign = self._campaign(date, left)
            if campaign is None:
                note(f"{len(self.dates) - number} dates were not swept, under the ceiling of {self.ceiling} calls")
                return worst([*codes, CUT_SHORT])
            if standing(campaign).due is not None:
                # Who fills in the past sits before it, and nobody wants a message a date.
                mute(campaign, "backfill")
                drive(self.home, campaign, quiet=self.quiet, beyond=_BEYOND)
            left -= spent(campaign).calls
            codes.append(show(self.home, campaign, as_json=as_json, fail_on=self.fail_on))
        return worst(codes)

    def _campaign(self, date: datetime, left: int) -> Campaign | None:
        """Return the campaign of a date, as it was recorded or started now under what is left of the ceiling.

        None where the ceiling forbids it.
        """
        name = f"{date.astimezone(UTC):%Y%m%dT%H%M%SZ}"
        sweep = self.declaration.sweep
        if name in campaigns(self.home, sweep.name):
            if takes_more_than(load(self.home, sweep.name, name), left, self.ceiling):
                return None
            return start(self.home, self.declaration, as_of=date, driver="cli", campaign=name)
        if left < sweep.price(1):
            return None
        overrides = Overrides(calls=left) if left < sweep.budget.calls else NO_OVERRIDES
        return start(self.home, self.declaration, as_of=date, driver="cli", campaign=name, overrides=overrides)


def worst(codes: list[int]) -> int:
    """Return the worst of exit codes; that findings are bad is less than that a search did not go quiet."""
    return max(codes, key=lambda code: (code not in (0, FINDINGS), code))


def takes_more_than(campaign: Campaign, left: int, ceiling: int) -> bool:
    """Tell, and say, whether a recorded campaign that goes on may take more calls than are left for it."""
    now = standing(campaign)
    if now.due is None or (now.ceilings.calls is not None and now.ceilings.calls <= left):
        return False
    may_take = f"{now.ceilings.calls} calls" if now.ceilings.calls is not None else "any number of calls"
    note(f"{campaign.id} may take {may_take}, {left} of {ceiling} are left; give a higher --calls")
    return True


def _stepped(first: datetime, last: datetime, every: str) -> list[datetime]:
    step = age(every if every[-1:] in ("d", "w") else f"{every}d")
    if not step:
        raise DeclarationError(f"{every!r} is no number of days", key="--every", help="write 7, 7d or 1w")
    return [first + step * n for n in range((last - first) // step + 1)]


def _dated(declaration: Declaration, first: datetime, last: datetime) -> list[datetime]:
    material = declaration.sweep.material
    if isinstance(material, CommandMaterial):
        raise DeclarationError(
            "what a program can print has no dates", file=declaration.path, key="--every", help="use --every DAYS"
        )
    if isinstance(material, ScriptedMaterial) or "{as_of}" not in material.path:
        raise DeclarationError(
            "the material is not dated", file=declaration.path, key="material.path", help="use {as_of}, or --every DAYS"
        )
    return [date for date in dates_of(material.path, declaration.base) if first <= date <= last]
