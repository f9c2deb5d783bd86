"""What the history holds of one campaign, as plain rows: the questions that summaries and reports ask.

Instants come as ISO 8601 texts in UTC ending in ``Z``. How the answers are shown is ``reports``' business.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from drysweep_pipeline.errors import NotFound
from drysweep_pipeline.history.reading import Row, rows
from drysweep_pipeline.instants import zulu_of
from drysweep_pipeline.spelling import rank

_CAMPAIGN = """
    select
        sweep, campaign, epoch_us(as_of) as as_of, outcome, reason, rule, k, rounds, quiet, repeats, looked_again,
        strategies, seen, confirmed, rejected, undecided, unjudged, calls, tokens, cost_usd, snapshot, declaration,
        not_searched, epoch_us(started_at) as started_at, epoch_us(ended_at) as ended_at
    from campaigns
    where sweep = ? and campaign = ?
"""
_KNOWN = "select campaign from published.campaigns where sweep = ? order by as_of desc, seq desc"
_LEDGER_SEEN = "select count(distinct fp) as seen from published.sightings where sweep = ?"
_PUBLISHED = "select epoch_us(published_at) as at from published.sweeps where sweep = ?"
_ROUNDS = """
    select
        round, complete, quiet, repeat, fresh, reopened, blocking, rows, distinct_findings, calls, tokens, cost_usd,
        seconds, tripped, snapshot, not_searched, outcome, reason
    from rounds
    where sweep = ? and campaign = ?
    order by round
"""
_EVENTS = """
    select name, round, epoch_us("at") as "at", cast(fp as varchar) as fp, label, actor, reason, evidence, verified,
        cast(expires as varchar) as expires
    from events
    where sweep = ? and campaign = ?
    order by seq
"""
# The angle is told where the strategy has taken several in the campaign.
_NOT_RUN = """
    with runs as (
        select strategy, round, any_value(angle) as angle
        from published.strategy_runs
        where sweep = $sweep and campaign = $campaign
        group by strategy, round
    )
    select e.round, e.actor as strategy, e.reason, if(several.angles > 1, r.angle, null) as angle
    from published.events e
    left join runs r on r.strategy = e.actor and r.round = e.round
    left join (select strategy, count(distinct angle) as angles from runs group by strategy) several
        on several.strategy = e.actor
    where e.sweep = $sweep and e.campaign = $campaign and e.name = 'finder_not_run'
    order by e.seq
"""
_UNVERIFIED = """
    select cast(fp as varchar) as fp
    from published.events
    where sweep = $sweep and name = 'finding_contested'
    qualify row_number() over (partition by fp order by seq desc) = 1 and verified = false
"""
_FINDINGS = f"""
    select
        cast(f.fp as varchar) as fp, coalesce(f.label, cast(f.fp as varchar)) as label, f.status, f.state, f.verdict,
        f.severity, f.subject, f.kind, f.scope, f.title, f.path, f.line, f.owner, f.evidence, f.attributes, f.state_by,
        f.state_reason, cast(f.expires as varchar) as expires, said.reason as verdict_reason, f.first_campaign,
        f.first_round, f.last_campaign, f.last_round, f.sightings, here.strategies
    from all_findings f
    join (
        select fp, list_sort(list(distinct strategy)) as strategies
        from published.sightings
        where sweep = $sweep and campaign = $campaign
        group by fp
    ) here on here.fp = f.fp
    left join (
        select fp, last(reason order by ord) as reason
        from published.verdicts
        where sweep = $sweep
        group by fp
    ) said on said.fp = f.fp
    where f.sweep = $sweep
    order by
        {rank("f.severity")},
        f.label,
        f.fp
"""
_STATES = """
    select
        cast(f.fp as varchar) as fp, coalesce(f.label, cast(f.fp as varchar)) as label, f.status, f.state, f.verdict,
        f.severity, here.raised_last
    from all_findings f
    join (
        select fp, max(round) as raised_last
        from published.sightings
        where sweep = $sweep and campaign = $campaign
        group by fp
    ) here on here.fp = f.fp
    where f.sweep = $sweep
    order by f.label, f.fp
"""
_EARLIER = """
    (c.as_of, c.seq) < (select (as_of, seq) from published.campaigns where sweep = $sweep and campaign = $campaign)
"""
_YIELD = """
    select
        strategy, found, unique_found, shared, rejected, calls, tokens, cost_usd, seconds, cost_per_unique,
        canaries_expected, canaries_seen, isolation
    from strategy_yield
    where sweep = ? and campaign = ?
    order by unique_found desc, found desc, strategy
"""
# A campaign without a decided round looked at nothing, and one that looked again did so with some strategies only.
_PREVIOUS = f"""
    select
        c.campaign, epoch_us(c.as_of) as as_of, c.outcome, c.reason, c.k, c.rounds, c.snapshot, c.declaration
    from campaigns c
    where c.sweep = $sweep and c.looked_again is null and c.rounds > 0 and {_EARLIER}
    order by c.as_of desc, c.seq desc
    limit 1
"""
_CHANGES = """
    select
        d.change, d.open_again, d.raised_from is not null as raised, f.severity, f.owner, count(*) as findings,
        count(*) filter (d.looked_for) as looked_for
    from campaign_diff($previous, $campaign) d
    join findings f on f.sweep = d.sweep and f.fp = d.fp
    where d.sweep = $sweep
    group by all
"""
_CHANGED = f"""
    select
        d.change, d.open_again, d.raised_from, cast(f.fp as varchar) as fp,
        coalesce(f.label, cast(f.fp as varchar)) as label, f.severity, f.owner, f.status, f.title, f.path, f.line
    from campaign_diff($previous, $campaign) d
    join findings f on f.sweep = d.sweep and f.fp = d.fp
    where
        d.sweep = $sweep
        and (list_contains($changes, d.change) or d.open_again is not null or d.raised_from is not null)
    order by
        {rank("f.severity")},
        d.change,
        label,
        f.fp
    limit $most
"""
_REJECTED_AGAIN = """
    select count(*) as findings
    from all_findings f
    semi join (select fp from sightings where sweep = $sweep and campaign = $campaign) here on here.fp = f.fp
    semi join (select fp from sightings where sweep = $sweep and campaign = $previous) before on before.fp = f.fp
    where f.sweep = $sweep and f.status = 'rejected'
"""
_REJECTED_FRESH = """
    select count(*) as findings
    from all_findings
    where sweep = $sweep and first_campaign = $campaign and status = 'rejected'
"""
_UNSETTLED = f"""
    select
        cast(f.fp as varchar) as fp, coalesce(f.label, cast(f.fp as varchar)) as label, f.severity, f.status, f.owner,
        f.title, f.path, f.line
    from findings f
    semi join (select fp from sightings where sweep = $sweep and campaign = $campaign) here on here.fp = f.fp
    where
        f.sweep = $sweep
        and list_contains($severities, f.severity)
        and not list_contains(['contested', 'accepted_risk'], f.state)
        -- What was declined was a nit; what is reported as worse by now, nobody declined.
        and not (f.state = 'declined' and f.severity = 'nit')
        and {{which}}
    order by
        {rank("f.severity")},
        label,
        f.fp
    limit $most
"""
_ALL = "true"
_SAID_NEW = "change in ('fresh', 'reopened') or open_again is not null"
# What is reported as worse than before is new to a threshold that it did not reach before.
_NEW = f"""
    f.fp in (
        select fp
        from campaign_diff($previous, $campaign)
        where
            sweep = $sweep
            and ({_SAID_NEW} or (raised_from is not null and not list_contains($severities, raised_from)))
    )
"""
# What was rejected is in no difference, and may be listed all the same.
_NEW_TO = f"""
    select cast(fp as varchar) as fp, {_SAID_NEW} as new
    from campaign_diff($previous, $campaign)
    where sweep = $sweep and ({_SAID_NEW} or raised_from is not null)
    union all
    select cast(f.fp as varchar), true
    from all_findings f
    join published.campaigns c on c.sweep = f.sweep and c.campaign = f.first_campaign
    join published.campaigns p on p.sweep = f.sweep and p.campaign = $previous
    where f.sweep = $sweep and f.status = 'rejected' and (c.as_of, c.seq) > (p.as_of, p.seq)
"""
_FORERUNNERS = f"""
    select c.rounds
    from published.campaigns c
    where
        c.sweep = $sweep and c.outcome = 'converged' and {_EARLIER}
        -- Some strategies over a stored snapshot take another number of rounds than all of them over the material.
        and not exists (
            select 1
            from published.looked_again a
            where a.sweep = c.sweep and a.campaign in (c.campaign, $campaign)
        )
    order by c.as_of desc, c.seq desc
    limit $most
"""
# Strategies are those of the first round, since others may have come to it later.
_FRESH = """
    select
        coalesce(f.label, cast(f.fp as varchar)) as label, f.first_round as round, f.verdict, f.severity, f.subject,
        f.kind, f.scope, f.title, f.path, f.line, f.owner, f.evidence, f.attributes, here.strategies
    from all_findings f
    join (
        select fp, round, list_sort(list(distinct strategy)) as strategies
        from published.sightings
        where sweep = $sweep and campaign = $campaign
        group by fp, round
    ) here on here.fp = f.fp and here.round = f.first_round
    where f.sweep = $sweep and f.first_campaign = $campaign
    order by f.first_round desc, label
    limit $most
"""
_KNOWN_BEFORE = f"""
    select
        coalesce(f.label, cast(f.fp as varchar)) as label, f.subject, f.kind, f.severity, f.scope, f.title, f.path,
        f.line, f.owner, f.evidence, f.attributes, f.verdict
    from all_findings f
    join published.campaigns c on c.sweep = f.sweep and c.campaign = f.first_campaign
    where f.sweep = $sweep and {_EARLIER}
    order by c.as_of desc, c.seq desc, label
    limit $most
"""
_REOPENED = f"""
    with mine as (
        select distinct fp
        from published.events
        where sweep = $sweep and campaign = $campaign and name = 'finding_reopened' and round >= $since
    )
    select cast(e.fp as varchar) as fp, coalesce(any_value(p.label), cast(e.fp as varchar)) as label, count(*) as times
    from published.events e
    semi join mine on mine.fp = e.fp
    join published.campaigns c on c.sweep = e.sweep and c.campaign = e.campaign
    left join published.payload p on p.sweep = e.sweep and p.fp = e.fp
    where e.sweep = $sweep and e.name = 'finding_reopened' and (e.campaign = $campaign or {_EARLIER})
    group by e.fp
    order by times desc, label
"""
_RAISED = """
    select coalesce(f.label, cast(f.fp as varchar)) as label, f.severity, f.state, f.verdict, here.rounds
    from all_findings f
    join (
        select fp, count(distinct round) as rounds
        from published.sightings
        where sweep = $sweep and campaign = $campaign
        group by fp
        having max(round) = $last
    ) here on here.fp = f.fp
    where f.sweep = $sweep
    order by here.rounds desc, label
"""
# Who did not run to its end has not looked: failure is not silence (R5).
_ANGLES = """
    select distinct strategy, angle
    from published.strategy_runs r
    where
        sweep = ? and campaign = ? and status = 'ok'
        and not exists (
            select 1
            from published.events e
            where
                e.sweep = r.sweep and e.campaign = r.campaign and e.round = r.round and e.actor = r.strategy
                and e.name = 'finder_not_run'
        )
"""
_REJECTED = "select cast(fp as varchar) as fp from all_findings where sweep = $sweep and verdict = 'rejected'"
_BLOCKING = "select severity from published.blocking where sweep = ? and campaign = ?"


@dataclass(frozen=True, slots=True)
class Past:
    """One campaign in an open history."""

    connection: duckdb.DuckDBPyConnection
    sweep: str
    campaign: str

    def head(self) -> Row:
        """Return the campaign's own row. Raises ``NotFound`` where it was not published."""
        found = self._rows(_CAMPAIGN)
        if not found:
            known = [row["campaign"] for row in rows(self.connection, _KNOWN, [self.sweep])]
            raise NotFound("campaign", f"{self.sweep}/{self.campaign}", known)
        return {**found[0], **{name: zulu_of(found[0][name]) for name in ("as_of", "started_at", "ended_at")}}

    def ledger_seen(self) -> int:
        """Return how many findings all campaigns of the sweep have seen."""
        return int(rows(self.connection, _LEDGER_SEEN, [self.sweep])[0]["seen"])

    def known_at(self) -> str | None:
        """Return when the history was published: verdicts and states are as they were recorded by then."""
        return zulu_of(next((row["at"] for row in rows(self.connection, _PUBLISHED, [self.sweep])), None))

    def rounds(self) -> list[Row]:
        """Return the decided rounds, in order."""
        return self._rows(_ROUNDS)

    def events(self) -> list[Row]:
        """Return what happened, in the order of the ledger, without what an event does not say."""
        told = [{**row, "at": zulu_of(row["at"])} for row in self._rows(_EVENTS)]
        return [{key: value for key, value in row.items() if value is not None} for row in told]

    def not_run(self) -> list[Row]:
        """Return the strategies that did not run to their end: round, strategy, reason, and the angle if it varies."""
        told = [{**row, "angle": json.loads(row["angle"]) if row["angle"] else None} for row in self._named(_NOT_RUN)]
        return [{key: value for key, value in row.items() if key != "angle" or value is not None} for row in told]

    def unverified(self) -> set[str]:
        """Return the findings of the sweep whose latest contest has evidence that the material did not have."""
        return {row["fp"] for row in rows(self.connection, _UNVERIFIED, {"sweep": self.sweep})}

    def findings(self) -> list[Row]:
        """Return the findings sighted in the campaign, rejected ones included, the worst first."""
        return rows(self.connection, _FINDINGS, {"sweep": self.sweep, "campaign": self.campaign})

    def new_since(self, previous: str) -> dict[str, bool]:
        """Return by fingerprint what is fresh, reopened or open again, rejected ones included, and what was raised.

        False stands for those that were known and open before, and are only reported as worse now.
        """
        return {row["fp"]: row["new"] for row in self._named(_NEW_TO, previous=previous)}

    def states(self) -> list[Row]:
        """Return where the findings sighted in the campaign stand, without what they are, in the order of labels."""
        return rows(self.connection, _STATES, {"sweep": self.sweep, "campaign": self.campaign})

    def rejected(self) -> frozenset[str]:
        """Return the fingerprints of the sweep's rejected findings, which nobody is told who did not ask."""
        return frozenset(row["fp"] for row in rows(self.connection, _REJECTED, {"sweep": self.sweep}))

    def strategies(self) -> list[Row]:
        """Return what each strategy found, the one with the most unique findings first."""
        return self._rows(_YIELD)

    def blocking(self) -> set[str]:
        """Return the severities that block in this campaign."""
        return {row["severity"] for row in self._rows(_BLOCKING)}

    def forerunners(self, most: int) -> list[int]:
        """Return how many rounds the converged campaigns before this one took, the newest first."""
        return [row["rounds"] for row in self._named(_FORERUNNERS, most=most)]

    def previous(self) -> Row | None:
        """Return the sweep's campaign before this one in the order (as_of, seq), or None; whatever became of it.

        One that looked again is none, nor is one without a decided round.
        """
        found = self._named(_PREVIOUS)
        return {**found[0], "as_of": zulu_of(found[0]["as_of"])} if found else None

    def changes(self, previous: str) -> list[Row]:
        """Return how many findings changed how since another campaign, by severity and owner; without rejected ones."""
        return self._named(_CHANGES, previous=previous)

    def changed(self, previous: str, changes: Sequence[str], most: int) -> list[Row]:
        """Return the findings that changed so, or are open again or reported as worse, since another campaign.

        The worst come first, rejected ones are left out. ``open_again`` is what such a finding was before, and
        ``raised_from`` the severity that it had; else None.
        """
        return self._named(_CHANGED, previous=previous, changes=list(changes), most=most)

    def rejected_again(self, previous: str) -> int:
        """Return how many rejected findings this campaign and another one sighted both."""
        return int(self._named(_REJECTED_AGAIN, previous=previous)[0]["findings"])

    def rejected_fresh(self) -> int:
        """Return how many rejected findings were sighted first in this campaign: its rounds counted them as fresh."""
        return int(self._named(_REJECTED_FRESH)[0]["findings"])

    def unsettled(self, severities: Sequence[str], most: int | None, *, new_since: str | None = None) -> list[Row]:
        """Return what the campaign sighted of such severities that nothing settled, the worst first; no rejected ones.

        ``new_since``: only what is fresh, reopened or open again since that campaign, or was none of them then.
        """
        given = {"severities": list(severities), "most": most}
        if new_since is None:
            return self._named(_UNSETTLED.format(which=_ALL), **given)
        return self._named(_UNSETTLED.format(which=_NEW), **given, previous=new_since)

    def fresh(self, most: int) -> list[Row]:
        """Return what the campaign found first, with its round and who reported it then, the newest first."""
        return self._named(_FRESH, most=most)

    def known(self, most: int) -> list[Row]:
        """Return what campaigns before this one found, the newest first."""
        return self._named(_KNOWN_BEFORE, most=most)

    def reopened(self, since: int) -> list[Row]:
        """Return how often what came back from round ``since`` on came back in this campaign and those before it."""
        return self._named(_REOPENED, since=since)

    def raised(self, last: int) -> list[Row]:
        """Return what the campaign's last round raised, and in how many of its rounds each was raised."""
        return self._named(_RAISED, last=last)

    def angles(self) -> set[tuple[str, str]]:
        """Return the angles that were looked along to the end, as (strategy, JSON text of the angle)."""
        return {(row["strategy"], row["angle"]) for row in self._rows(_ANGLES)}

    def _named(self, sql: str, **given: Any) -> list[Row]:
        return rows(self.connection, sql, {"sweep": self.sweep, "campaign": self.campaign, **given})

    def _rows(self, sql: str) -> list[Row]:
        return rows(self.connection, sql, [self.sweep, self.campaign])
