"""A backfill with ``--strategies``: what it would look at and may cost, its campaigns in order, and since when."""

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from drysweep_pipeline.cli.backfilling import CUT_SHORT, takes_more_than
from drysweep_pipeline.cli.driving import drive, show
from drysweep_pipeline.cli.output import exit_code, note, put, put_json, put_table
from drysweep_pipeline.declaration.model import PanelJudge, Strategy
from drysweep_pipeline.engine.campaign import NO_OVERRIDES, Campaign, Overrides
from drysweep_pipeline.engine.journal import spent, standing
from drysweep_pipeline.engine.looking_again import Again, Stored, begin, recorded
from drysweep_pipeline.history.looked_again import since
from drysweep_pipeline.history.reading import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.instants import zulu
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.wording import count

SCHEMA_VERSION = 1
TO_DO = ("new", "unfinished")
MOST_SHOWN = 50
MIDNIGHT = "T00:00:00Z"
_DAY = len("2026-01-31")
_SHOWN = ("first seen", "not yet seen", "last seen", "status", "finding", "by", "known since")


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Campaigns over stored snapshots; ``calls`` bounds all of them together, ``rounds`` each of them."""

    home: Home
    looking: Again
    calls: int | None = None
    rounds: int | None = None
    quiet: bool = False

    @property
    def ceiling(self) -> int:
        """The calls that all campaigns may make together."""
        return self.calls if self.calls is not None else self._each * len(self.looking.stored)

    @property
    def _each(self) -> int:
        return self.looking.declaration.sweep.budget.calls

    @property
    def _one_round(self) -> int:
        return sum(strategy.worst.calls for strategy in self._strategies)

    @property
    def _strategies(self) -> list[Strategy]:
        return [each for each in self.looking.declaration.sweep.strategies if each.name in self.looking.strategies]

    def plan(self) -> dict[str, Any]:
        """Return what would be looked at, under which ids and ceilings; nothing is spent."""
        campaigns = [self._planned(stored) for stored in self.looking.stored]
        used = sum(each["spent"] for each in campaigns)
        return {
            "schema_version": SCHEMA_VERSION,
            "sweep": self.looking.declaration.sweep.name,
            "strategies": list(self.looking.strategies),
            "campaigns": campaigns,
            "left_out": [
                {"at": each.campaign, "as_of": zulu(each.as_of), "why": each.why, "lost": each.lost}
                for each in self.looking.left_out
            ],
            "ceiling": {
                "calls": self.ceiling,
                "rounds": self.rounds or self.looking.declaration.sweep.budget.rounds,
            },
            "spent": {"calls": used},
            "at_most": self._at_most(used, sum(each["stands"] in TO_DO for each in campaigns)),
        }

    def _at_most(self, used: int, to_do: int) -> dict[str, Any]:
        """Return what so many campaigns may use yet: their ceilings, or less where their calls cannot use as much."""
        sweep = self.looking.declaration.sweep
        calls = max(0, min(self.ceiling - used, self._each * to_do))
        worst = [each.worst for each in self._strategies]
        worst += [sweep.judge.worst] if isinstance(sweep.judge, PanelJudge) else []
        tokens = calls * max(each.tokens / max(1, each.calls) for each in worst)
        cost = calls * max(each.cost_usd / max(1, each.calls) for each in worst)
        budget = sweep.budget
        return {
            "calls": calls,
            "tokens": math.ceil(tokens if budget.tokens is None else min(tokens, budget.tokens * to_do)),
            "cost_usd": cost if budget.cost_usd is None else min(cost, budget.cost_usd * to_do),
        }

    def _planned(self, stored: Stored) -> dict[str, Any]:
        campaign = recorded(self.home, self.looking.declaration.sweep.name, stored)
        now = standing(campaign) if campaign is not None else None
        stands = "new" if now is None else "unfinished" if now.due is not None else now.outcome.value
        return {
            "campaign": stored.campaign,
            "at": stored.source.id,
            "as_of": zulu(stored.as_of),
            "until": zulu(stored.until),
            "snapshot": stored.snapshot,
            "not_searched": stored.not_searched,
            "stands": stands,
            "spent": spent(campaign).calls if campaign is not None else 0,
        }

    def run(self, *, as_json: bool) -> int:
        """Run the campaigns in order and tell since when what they saw is there; return the worst exit code."""
        for line in lines(self.plan()):
            note(line)
        codes = [CUT_SHORT] if any(each.lost for each in self.looking.left_out) else []
        done: list[Campaign] = []
        left = self.ceiling
        for stored in self.looking.stored:
            campaign = self._campaign(stored, left)
            if campaign is None:
                codes.append(CUT_SHORT)
                break
            if standing(campaign).due is not None:
                drive(self.home, campaign, quiet=self.quiet)
            left -= spent(campaign).calls
            done.append(campaign)
            codes.append(self._shown(campaign, as_json))
        self._tell(done, as_json=as_json)
        return max(codes, default=CUT_SHORT)

    def _campaign(self, stored: Stored, left: int) -> Campaign | None:
        """Return the campaign over a snapshot, started or as it was recorded; None where the ceiling forbids it."""
        before = recorded(self.home, self.looking.declaration.sweep.name, stored)
        if before is not None:
            if takes_more_than(before, left, self.ceiling):
                return None
            return begin(self.home, self.looking, stored)
        if left < self._one_round:
            note(
                f"the ceiling of {self.ceiling} calls is reached; the snapshot of {stored.source.id} was not looked at"
            )
            return None
        calls = left if left < self._each else None
        overrides = Overrides(None, self.rounds, calls)
        return begin(self.home, self.looking, stored, overrides if overrides != Overrides() else NO_OVERRIDES)

    def _shown(self, campaign: Campaign, as_json: bool) -> int:
        if not as_json:
            return show(self.home, campaign, as_json=False)
        return exit_code(standing(campaign).outcome.value)

    def _tell(self, done: list[Campaign], *, as_json: bool) -> None:
        """Say since when what was seen is there; the last line says who looked, at how much, and found what."""
        name = self.looking.declaration.sweep.name
        found: list[dict[str, Any]] = []
        if done:
            with history(self.home) as connection:
                until = {stored.campaign: stored.until for stored in self.looking.stored}
                found = since(connection, name, {campaign.id: until[campaign.id] for campaign in done})
        said = self._sentence(done, found)
        if as_json:
            campaigns = [summary(self.home, name, campaign.id) for campaign in done]
            put_json({**self.plan(), "looked_at": campaigns, "findings": found, "verdict": said})
            note(said)
            return
        shown = found[:MOST_SHOWN] if sys.stdout.isatty() else found
        if shown:
            put_table(list(_SHOWN), [_row(each, self._written) for each in shown])
        if len(shown) < len(found):
            put(f"and {len(found) - len(shown)} more; --json has all of them")
        put(said)

    @property
    def _written(self) -> Callable[[str | None], str | None]:
        """How instants are written: by their day, where the snapshots are of different days."""
        instants = {instant for stored in self.looking.stored for instant in (stored.as_of, stored.until)}
        days = {zulu(instant)[:_DAY] for instant in instants}
        return _day if len(days) == len(instants) else lambda instant: instant

    def _sentence(self, done: list[Campaign], found: list[dict[str, Any]]) -> str:
        lost = [each.campaign for each in self.looking.left_out if each.lost]
        ran = {campaign.id: standing(campaign).outcome.value for campaign in done}
        cut = sum(outcome != "converged" for outcome in ran.values())
        of = len(self.looking.stored) + len(lost)
        unknown = [each for each in found if each["known_since"] is None]
        parts = [
            f"Looked again with {', '.join(self.looking.strategies)} at {len(done)} of {count(of, 'snapshot')}: "
            f"{count(len(found), 'finding')}, {len(unknown)} of them seen by no campaign of the whole sweep."
        ]
        if found:
            oldest = found[0]
            parts.append(f"The oldest is there since {_since(oldest, self._written)}.")
        if cut:
            parts.append(f"{count(cut, 'campaign')} did not converge: more may be there, and earlier.")
        if lost:
            parts.append(f"Out of reach: {', '.join(lost)}.")
        return " ".join(parts)


def lines(plan: dict[str, Any]) -> Iterator[str]:
    """Yield a plan as lines for people."""
    for each in plan["campaigns"]:
        what = f"snapshot {each['snapshot'][:12]} of {each['at']}, campaign {each['campaign']} ({each['stands']})"
        yield f"{plan['sweep']} as of {each['as_of'].removesuffix(MIDNIGHT)}: {what}"
    for each in plan["left_out"]:
        yield f"{plan['sweep']} as of {each['as_of'].removesuffix(MIDNIGHT)}: not looked at, {each['why']}"
    most = plan["at_most"]
    more = "".join(
        f", {most[name]:g} {word}" for name, word in (("tokens", "tokens"), ("cost_usd", "USD")) if most[name]
    )
    to_do = sum(each["stands"] in TO_DO for each in plan["campaigns"])
    yield (
        f"{', '.join(plan['strategies'])} at {count(to_do, 'stored snapshot')}: at most {most['calls']} calls{more}, "
        "judging included"
    )


def _row(found: dict[str, Any], written: Callable[[str | None], str | None]) -> list[Any]:
    return [
        written(found["first_seen"]),
        written(found["not_seen"]) or "no earlier look",
        written(found["last_seen"]),
        found["status"],
        found["label"],
        ", ".join(found["strategies"]),
        written(found["known_since"]) or "never",
    ]


def _since(found: dict[str, Any], written: Callable[[str | None], str | None]) -> str:
    first, before = written(found["first_seen"]), written(found["not_seen"])
    return f"{first}, and was not there on {before}" if before else f"{first} or earlier"


def _day(instant: str | None) -> str | None:
    return instant[:_DAY] if instant else None
