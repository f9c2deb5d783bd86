"""Campaigns, rounds, strategy runs and events in the ledger: what happened, in the order it happened."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.instants import of_microseconds
from drysweep_pipeline.landing import Manifest, StrategyRun
from drysweep_pipeline.ledger.intake import Counts
from drysweep_pipeline.ledger.store import Ledger
from drysweep_pipeline.values import Event, Outcome, Rule
from drysweep_pipeline.wording import angle_text

_CAMPAIGN = "select seq, epoch_us(as_of) from campaigns where campaign = ?"
_ADD_CAMPAIGN = """
    insert into campaigns
    values (?, ?, cast(? as timestamptz), ?, ?, ?, cast(? as timestamptz), 'running', null, 0, 0, 0, null)
"""
_STAND = """
    update campaigns
    set outcome = $outcome, reason = $reason, rounds = $rounds, quiet = $quiet, repeats = $repeats,
        -- A round that is run again must not move the end of its campaign.
        ended_at = case when outcome = $outcome then ended_at else cast($ended_at as timestamptz) end
    where campaign = $campaign
"""
_END = "update campaigns set ended_at = cast(? as timestamptz) where campaign = ?"
_ROUND = """
    select judged, outcome, fresh, reopened, complete, rows, distinct_findings
    from rounds
    where campaign = ? and round = ?
"""
_ROUNDS = """
    select campaign, round, judged, outcome, fresh, reopened, complete, rows, distinct_findings
    from rounds
"""
_ADD_ROUND = """
    insert into rounds (
        campaign, round, snapshot, not_searched, complete, rows, distinct_findings, fresh, reopened, taken_at, judged
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, cast(? as timestamptz), false)
"""
_ADD_RUN = """
    insert into strategy_runs (
        campaign, round, strategy, attempt, status, reason, angle, rows, seconds, calls, tokens, cost_usd,
        canaries_expected, canaries_seen, isolation
    ) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_NOT_RUN = """
    select distinct actor
    from events
    where name = 'finder_not_run' and campaign = ? and round = ?
    order by actor
"""
_DECIDE = """
    update rounds
    set complete = ?, blocking = ?, quiet = ?, repeat = ?, calls = ?, tokens = ?, cost_usd = ?, seconds = ?,
        tripped = ?, outcome = ?, reason = ?, quiet_in_a_row = ?, decided_at = cast(? as timestamptz)
    where campaign = ? and round = ?
"""
_ACTIONS = "select campaign, max(number) from actions group by campaign"
_ADD_EVENT = """
    insert into events
    select (select coalesce(max(seq), 0) + 1 from events), cast(? as timestamptz), ?, ?, cast(? as integer),
        cast(? as uuid), ?, ?, ?, ?, cast(? as date)
"""


@dataclass(frozen=True, slots=True)
class CampaignRow:
    """A campaign's place in the order."""

    seq: int
    as_of: datetime


@dataclass(frozen=True, slots=True)
class RoundRow:
    """How far a round has come, and what it brought; ``outcome`` is None until it is decided."""

    judged: bool
    outcome: Outcome | None
    fresh: int
    reopened: int
    complete: bool
    rows: int
    distinct: int


def campaign_row(ledger: Ledger, campaign: str) -> CampaignRow | None:
    """Return a campaign's row, or None where the ledger does not know it."""
    rows = ledger.connection.execute(_CAMPAIGN, [campaign]).fetchall()
    if not rows:
        return None
    seq, microseconds = rows[0]
    return CampaignRow(seq, of_microseconds(microseconds))


def record_campaign(
    ledger: Ledger,
    campaign: str,
    seq: int,
    as_of: datetime,
    rule: Rule,
    k: int,
    declaration: str,
    started_at: datetime,
) -> None:
    """Record a campaign once; a second time changes nothing."""
    if campaign_row(ledger, campaign) is None:
        ledger.connection.execute(_ADD_CAMPAIGN, [campaign, seq, as_of, rule.value, k, declaration, started_at])


def record_standing(ledger: Ledger, campaign: str, standing: Standing, at: datetime) -> None:
    """Record where a campaign stands now; the rounds' own decisions stay as they were."""
    going_on = standing.outcome in (Outcome.RUNNING, Outcome.NEEDS_DECISION)
    parameters = {
        "outcome": standing.outcome.value,
        "reason": standing.reason,
        "rounds": standing.rounds,
        "quiet": standing.quiet,
        "repeats": standing.repeats,
        "ended_at": None if going_on else at,
        "campaign": campaign,
    }
    ledger.connection.execute(_STAND, parameters)


def ends(ledger: Ledger) -> dict[str, datetime | None]:
    """Return when each campaign ended, None for one that has not."""
    found = ledger.connection.execute("select campaign, epoch_us(ended_at) from campaigns").fetchall()
    return {name: None if at is None else of_microseconds(at) for name, at in found}


def set_end(ledger: Ledger, campaign: str, at: datetime) -> None:
    """Record when a campaign ended, for a ledger that is held against another one."""
    ledger.connection.execute(_END, [at, campaign])


def round_row(ledger: Ledger, campaign: str, round: int) -> RoundRow | None:
    """Return a round's row, or None where it was not taken in yet."""
    rows = ledger.connection.execute(_ROUND, [campaign, round]).fetchall()
    if not rows:
        return None
    judged, outcome, *counts = rows[0]
    return RoundRow(judged, Outcome(outcome) if outcome else None, *counts)


def rounds_taken(ledger: Ledger) -> dict[tuple[str, int], RoundRow]:
    """Return all rounds that were taken in, by campaign and number."""
    found = {}
    for campaign, round, judged, outcome, *counts in ledger.connection.execute(_ROUNDS).fetchall():
        found[campaign, round] = RoundRow(judged, Outcome(outcome) if outcome else None, *counts)
    return found


def rounds_of(ledger: Ledger, campaign: str) -> int | None:
    """Return how many rounds of a campaign were taken in, or None where the ledger does not know it."""
    query = "select (select count(*) from rounds r where r.campaign = c.campaign) from campaigns c where campaign = ?"
    rows = ledger.connection.execute(query, [campaign]).fetchall()
    return rows[0][0] if rows else None


def record_round(
    ledger: Ledger, manifest: Manifest, counts: Counts, reopened: int, complete: bool, at: datetime
) -> None:
    """Record a round as taken in, with a row for every attempt of every strategy."""
    key = (manifest.campaign, manifest.round)
    found = (counts.rows, counts.distinct, counts.fresh, reopened)
    ledger.connection.execute(_ADD_ROUND, [*key, manifest.snapshot, manifest.not_searched, complete, *found, at])
    for run in manifest.runs:
        for row in _attempts(run):
            ledger.connection.execute(_ADD_RUN, [*key, *row])


def _attempts(run: StrategyRun) -> Iterator[list[object]]:
    """Yield a row for every attempt; what the last one reported stands with the last one."""
    angle = angle_text(run.angle)
    for number, attempt in enumerate(run.attempts, start=1):
        last = number == len(run.attempts)
        rows = run.file.rows if run.file and last else 0
        recall = (run.canaries.expected, run.canaries.seen) if run.canaries and last else (None, None)
        usage = (attempt.usage.calls, attempt.usage.tokens, attempt.usage.cost_usd)
        ended = (attempt.attempt, attempt.status, attempt.reason)
        yield [run.strategy, *ended, angle, rows, attempt.seconds, *usage, *recall, run.isolation]


def not_run(ledger: Ledger, campaign: str, round: int) -> list[str]:
    """Return the strategies that intake recorded as not run in a round."""
    return [row[0] for row in ledger.connection.execute(_NOT_RUN, [campaign, round]).fetchall()]


def mark_judged(ledger: Ledger, campaign: str, round: int) -> None:
    """Record that the round's judging was done, so that it is not done again."""
    ledger.connection.execute("update rounds set judged = true where campaign = ? and round = ?", [campaign, round])


def record_decision(ledger: Ledger, campaign: str, round: int, decision: Sequence[object]) -> None:
    """Record what was decided of a round; ``decision`` is complete, then the columns from ``blocking`` on."""
    ledger.connection.execute(_DECIDE, [*decision, campaign, round])


def actions_taken(ledger: Ledger) -> dict[str, int]:
    """Return how many of people's landed actions were taken in, by campaign."""
    return dict(ledger.connection.execute(_ACTIONS).fetchall())


def every_action(ledger: Ledger) -> list[tuple[str, int]]:
    """Return all of people's actions that were taken in, by campaign and number."""
    return ledger.connection.execute("select campaign, number from actions").fetchall()


def campaigns_taken(ledger: Ledger) -> list[str]:
    """Return the campaigns that a ledger knows."""
    return [name for (name,) in ledger.connection.execute("select campaign from campaigns").fetchall()]


def record_action(ledger: Ledger, campaign: str, number: int) -> None:
    """Record that a landed action was taken in."""
    ledger.connection.execute("insert into actions values (?, ?)", [campaign, number])


def log(ledger: Ledger, campaign: str, at: datetime, events: Sequence[Event]) -> None:
    """Append events, in this order."""
    for event in events:
        values: list[object] = [at, event.name, campaign, event.round, _uuid(event.fp)]
        values += [event.actor, event.reason, event.evidence, event.verified, event.expires]
        ledger.connection.execute(_ADD_EVENT, values)


def _uuid(text: str | None) -> UUID | None:
    return UUID(text) if text else None
