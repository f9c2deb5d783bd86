-- What analysts query. The names after a dollar sign below are findings.sql under three conditions.

create or replace view published.places as
select
    r.sweep,
    r.campaign,
    r.round,
    c.as_of,
    c.seq,
    r.taken_at,
    r.decided_at,
    c.outcome,
    again.source is null as ordinary,
    row_number() over (partition by r.sweep order by c.as_of, c.seq, r.round) as place
from published.rounds r
join published.campaigns c using (sweep, campaign)
left join published.looked_again again on again.sweep = r.sweep and again.campaign = r.campaign;

-- When a verdict was known: a person's word when it was given, a judge's when its round was decided.
create or replace view published.known_verdicts as
with spoken as (
    select
        sweep,
        fp,
        campaign,
        round,
        min("at") as known_at
    from published.events
    where name = 'finding_confirmed'
    group by sweep, fp, campaign, round
)
select
    v.*,
    case when v.judge like 'person:%' then coalesce(s.known_at, r.decided_at) else r.decided_at end as known_at
from published.verdicts v
left join published.rounds r using (sweep, campaign, round)
left join spoken s on s.sweep = v.sweep and s.fp = v.fp and s.campaign = v.campaign and s.round = v.round;

-- When a move was known: every move of a finding logs one event of its own, so the nth move belongs to the nth event.
create or replace view published.known_lives as
with moves as (
    select
        *,
        row_number() over (partition by sweep, fp order by ord) as nth
    from published.lives
), logged as (
    select
        sweep,
        fp,
        name,
        "at",
        actor,
        reason,
        evidence,
        verified,
        row_number() over (partition by sweep, fp order by seq) as nth
    from published.events
    where fp is not null and regexp_full_match(name, '(finding|risk|acceptance|fix|contest|decline)_.*') and name <> 'finding_confirmed'
)
select
    m.sweep,
    m.fp,
    m.state,
    m.as_of,
    m.seq,
    m.round,
    m.scope,
    m.expires,
    m.ord,
    m.actor,
    m.revision,
    m.basis,
    l.name as event,
    l.actor as logged_by,
    l.reason,
    l.evidence,
    l.verified,
    coalesce(l."at", p.decided_at, m.as_of) as known_at
from moves m
left join logged l on l.sweep = m.sweep and l.fp = m.fp and l.nth = m.nth
left join published.places p on p.sweep = m.sweep and p.seq = m.seq and p.round = m.round;

-- What a finding says of itself from a place on. Where it never said anything else, that is what it says now.
create or replace view published.payloads as
select
    sweep,
    fp,
    label,
    severity,
    subject,
    kind,
    scope,
    title,
    path,
    line,
    owner,
    evidence,
    attributes,
    coalesce(since_as_of, as_of) as as_of,
    coalesce(since_seq, seq) as seq,
    coalesce(since_round, round) as round,
    true as standing
from published.payload
union all by name
select
    *,
    false as standing
from published.former_payload;

create or replace view main.all_findings as
$all_findings;

create or replace view main.findings as
select *
from main.all_findings
where status <> 'rejected';

create or replace view main.open_findings as
select
    f.*,
    newest.as_of - f.first_as_of as age,
    date_diff('day', f.first_as_of, newest.as_of) as age_days
from main.findings f
join (select sweep, max(as_of) as as_of from published.campaigns group by sweep) newest using (sweep)
where f.state in ('open', 'reopened', 'escalated');

create or replace view main.campaigns as
with sighted as (
    select distinct
        sweep,
        campaign,
        fp
    from published.sightings
), judged as (
    select
        sweep,
        fp,
        arg_max(verdict, ord) as verdict
    from published.verdicts
    group by sweep, fp
), counted as (
    select
        s.sweep,
        s.campaign,
        count(*) as seen,
        count(*) filter (j.verdict = 'confirmed') as confirmed,
        count(*) filter (j.verdict = 'rejected') as rejected,
        count(*) filter (j.verdict = 'undecided') as undecided,
        count(*) filter (coalesce(j.verdict, 'none') in ('none', 'unjudged')) as unjudged
    from sighted s
    left join judged j on j.sweep = s.sweep and j.fp = s.fp
    group by s.sweep, s.campaign
), spent as (
    select
        sweep,
        campaign,
        cast(sum(calls) as bigint) as calls,
        cast(sum(tokens) as bigint) as tokens,
        sum(cost_usd) as cost_usd,
        sum(seconds) as seconds,
        arg_max(snapshot, round) as snapshot,
        arg_max(not_searched, round) as not_searched
    from published.rounds
    group by sweep, campaign
), beyond as (
    select
        e.sweep,
        e.campaign,
        cast(coalesce(sum(r.fresh) filter (r.round > e.round), 0) as bigint) as missed_by_k
    from published.events e
    join published.rounds r on r.sweep = e.sweep and r.campaign = e.campaign
    where e.name = 'convergence_reached'
    group by e.sweep, e.campaign
)
select
    c.sweep,
    c.campaign,
    c.as_of,
    c.seq,
    c.outcome,
    c.reason,
    c.k,
    c.rule,
    c.rounds,
    c.quiet,
    c.repeats,
    beyond.missed_by_k,
    again.source as looked_again,
    again.strategies as strategies,
    coalesce(counted.seen, 0) as seen,
    coalesce(counted.confirmed, 0) as confirmed,
    coalesce(counted.rejected, 0) as rejected,
    coalesce(counted.undecided, 0) as undecided,
    coalesce(counted.unjudged, 0) as unjudged,
    coalesce(spent.calls, 0) as calls,
    coalesce(spent.tokens, 0) as tokens,
    coalesce(spent.cost_usd, 0) as cost_usd,
    coalesce(spent.seconds, 0) as seconds,
    spent.snapshot,
    c.declaration,
    coalesce(spent.not_searched, 0) as not_searched,
    c.started_at,
    c.ended_at
from published.campaigns c
left join counted on counted.sweep = c.sweep and counted.campaign = c.campaign
left join spent on spent.sweep = c.sweep and spent.campaign = c.campaign
left join beyond on beyond.sweep = c.sweep and beyond.campaign = c.campaign
-- Grouped, though there is one row a campaign: DuckDB 2.0.1 leaves out the limit of a query of this view that is used
-- twice beside `findings`, where the table is joined as it is.
left join (
    select
        sweep,
        campaign,
        any_value(source) as source,
        any_value(strategies) as strategies
    from published.looked_again
    group by sweep, campaign
) again on again.sweep = c.sweep and again.campaign = c.campaign;

create or replace view main.rounds as
select
    r.sweep,
    r.campaign,
    c.as_of,
    c.seq,
    r.round,
    r.complete,
    r.quiet,
    r.repeat,
    r.fresh,
    r.reopened,
    r.blocking,
    r.rows,
    r.distinct_findings,
    r.calls,
    r.tokens,
    r.cost_usd,
    r.seconds,
    r.tripped,
    r.snapshot,
    r.not_searched,
    r.quiet_in_a_row,
    r.outcome,
    r.reason,
    c.outcome as campaign_outcome,
    r.taken_at,
    r.decided_at
from published.rounds r
join published.campaigns c using (sweep, campaign);

create or replace view main.strategy_runs as
select
    s.sweep,
    s.campaign,
    s.round,
    s.strategy,
    s.attempt,
    s.status,
    s.reason,
    s.angle,
    s.rows,
    s.seconds,
    s.calls,
    s.tokens,
    s.cost_usd,
    s.isolation,
    s.canaries_expected,
    s.canaries_seen,
    c.outcome
from published.strategy_runs s
join published.campaigns c using (sweep, campaign);

create or replace view main.angles as
with looks as (
    select
        sweep,
        campaign,
        strategy,
        angle,
        count(distinct round) filter (status = 'ok') as looked,
        count(distinct round) as asked
    from published.strategy_runs
    group by sweep, campaign, strategy, angle
)
select
    a.sweep,
    a.campaign,
    a.strategy,
    a.position,
    a.angle,
    coalesce(l.looked, 0) as looked,
    coalesce(l.asked - l.looked, 0) as not_run,
    c.outcome
from published.angles a
join published.campaigns c using (sweep, campaign)
left join looks l
    on l.sweep = a.sweep and l.campaign = a.campaign and l.strategy = a.strategy and l.angle = a.angle;

create or replace view main.sightings as
select
    s.sweep,
    s.fp,
    s.strategy,
    s.campaign,
    s.round,
    s.hits,
    c.as_of,
    c.seq,
    c.outcome
from published.sightings s
join published.campaigns c using (sweep, campaign);

create or replace view main.verdicts as
select
    v.sweep,
    v.fp,
    p.label,
    v.campaign,
    v.round,
    v.judge,
    v.verdict,
    v.reason,
    v.calls,
    v.ord
from published.verdicts v
left join published.payload p on p.sweep = v.sweep and p.fp = v.fp;

create or replace view main.events as
select
    e.sweep,
    e.seq,
    e."at",
    e.name,
    e.campaign,
    e.round,
    e.fp,
    p.label,
    e.actor,
    e.reason,
    e.evidence,
    e.verified,
    e.expires
from published.events e
left join published.payload p on p.sweep = e.sweep and p.fp = e.fp;

create or replace view main.strategy_yield as
with found as (
    select distinct
        sweep,
        campaign,
        strategy,
        fp
    from published.sightings
), finders as (
    select
        sweep,
        campaign,
        fp,
        count(*) as strategies
    from found
    group by sweep, campaign, fp
), judged as (
    select
        sweep,
        fp,
        arg_max(verdict, ord) as verdict
    from published.verdicts
    group by sweep, fp
), counted as (
    select
        found.sweep,
        found.campaign,
        found.strategy,
        count(*) as found,
        count(*) filter (finders.strategies = 1) as unique_found,
        count(*) filter (judged.verdict = 'rejected') as rejected
    from found
    join finders using (sweep, campaign, fp)
    left join judged on judged.sweep = found.sweep and judged.fp = found.fp
    group by found.sweep, found.campaign, found.strategy
), spent as (
    select
        sweep,
        campaign,
        strategy,
        cast(sum(calls) as bigint) as calls,
        cast(sum(tokens) as bigint) as tokens,
        sum(cost_usd) as cost_usd,
        sum(seconds) as seconds,
        cast(sum(canaries_expected) as bigint) as canaries_expected,
        cast(sum(canaries_seen) as bigint) as canaries_seen,
        string_agg(distinct isolation, ', ' order by isolation) as isolation
    from published.strategy_runs
    group by sweep, campaign, strategy
)
select
    spent.sweep,
    spent.campaign,
    spent.strategy,
    coalesce(counted.found, 0) as found,
    coalesce(counted.unique_found, 0) as unique_found,
    coalesce(counted.found - counted.unique_found, 0) as shared,
    coalesce(counted.rejected, 0) as rejected,
    spent.calls,
    spent.tokens,
    spent.cost_usd,
    spent.seconds,
    spent.cost_usd / nullif(counted.unique_found, 0) as cost_per_unique,
    spent.calls / nullif(counted.unique_found, 0) as calls_per_unique,
    spent.canaries_expected,
    spent.canaries_seen,
    spent.isolation,
    c.outcome
from spent
join published.campaigns c using (sweep, campaign)
left join counted
    on counted.sweep = spent.sweep and counted.campaign = spent.campaign and counted.strategy = spent.strategy;

create or replace macro main.all_findings_as_of(t) as table
$findings_as_of;

create or replace macro main.findings_as_of(t) as table
select *
from main.all_findings_as_of(t)
where status <> 'rejected';

create or replace macro main.all_findings_known_at(t) as table
$findings_known_at;

create or replace macro main.findings_known_at(t) as table
select *
from main.all_findings_known_at(t)
where status <> 'rejected';

create or replace macro main.new_between(a, b) as table
select *
from main.findings
where first_as_of > cast(a as timestamptz) and first_as_of <= cast(b as timestamptz);

create or replace macro main.campaign_diff(a, b) as table
with pairs as (
    select list({
        'sweep': older.sweep,
        'as_of_a': older.as_of,
        'seq_a': older.seq,
        'last_round_a': older.rounds,
        'outcome_a': older.outcome,
        'as_of_b': newer.as_of,
        'seq_b': newer.seq,
        'outcome_b': newer.outcome
    }) as pairs
    from published.campaigns older
    join published.campaigns newer on newer.sweep = older.sweep
    where older.campaign = a and newer.campaign = b and (older.as_of, older.seq) < (newer.as_of, newer.seq)
), compared as (
    -- No row at all would read as no difference.
    select unnest(
        case
            when pairs is null then error('no sweep has a campaign ' || a || ' and a later one ' || b)
            else pairs
        end,
        recursive := true
    )
    from pairs
), in_a as (
    select distinct sweep, fp from published.sightings where campaign = a
), in_b as (
    select distinct sweep, fp from published.sightings where campaign = b
), reopened_in_b as (
    select distinct sweep, fp from published.events where campaign = b and name = 'finding_reopened'
), run_out as (
    -- Risks that nobody took back: they expired, or what they were accepted for changed, after a and by the end of b.
    select distinct e.sweep, e.fp
    from published.events e
    join published.campaigns c using (sweep, campaign)
    join compared using (sweep)
    where
        e.name in ('acceptance_expired', 'acceptance_lapsed')
        and (c.as_of, c.seq) > (compared.as_of_a, compared.seq_a)
        and (c.as_of, c.seq) <= (compared.as_of_b, compared.seq_b)
), lived as (
    -- What people do after a campaign stands at its last round, and so was done between a and b.
    select
        l.sweep,
        l.fp,
        arg_max(l.state, l.ord) as state_by_b,
        arg_max(l.state, l.ord) filter (
            (l.as_of, l.seq) < (compared.as_of_b, compared.seq_b)
        ) as state_before_b,
        arg_max(l.state, l.ord) filter (
            (l.as_of, l.seq) < (compared.as_of_a, compared.seq_a)
            or (
                (l.as_of, l.seq) = (compared.as_of_a, compared.seq_a)
                and (l.round < compared.last_round_a or l.actor = 'evidence')
            )
        ) as state_by_a
    from published.lives l
    join compared using (sweep)
    where (l.as_of, l.seq) <= (compared.as_of_b, compared.seq_b)
    group by l.sweep, l.fp
), judged as (
    select
        v.sweep,
        v.fp,
        arg_max(v.verdict, v.ord) as verdict_by_b,
        arg_max(v.verdict, v.ord) filter (
            (c.as_of, c.seq) < (compared.as_of_b, compared.seq_b)
        ) as verdict_before_b,
        arg_max(v.verdict, v.ord) filter (
            (c.as_of, c.seq) < (compared.as_of_a, compared.seq_a)
            or (
                (c.as_of, c.seq) = (compared.as_of_a, compared.seq_a)
                and (v.round < compared.last_round_a or v.judge not like 'person:%')
            )
        ) as verdict_by_a
    from published.verdicts v
    join published.campaigns c using (sweep, campaign)
    join compared using (sweep)
    where (c.as_of, c.seq) <= (compared.as_of_b, compared.seq_b)
    group by v.sweep, v.fp
), known as (
    select
        f.*,
        (c.as_of, c.seq) <= (compared.as_of_a, compared.seq_a) as by_a,
        in_a.fp is not null as in_a,
        in_b.fp is not null as in_b
    from main.findings f
    join compared on compared.sweep = f.sweep
    join published.campaigns c on c.sweep = f.sweep and c.campaign = f.first_campaign
    left join in_a on in_a.sweep = f.sweep and in_a.fp = f.fp
    left join in_b on in_b.sweep = f.sweep and in_b.fp = f.fp
), stood as (
    -- The status at the end of a, when b began, and at the end of b.
    select
        f.sweep,
        f.fp,
        case
            when coalesce(l.state_by_a, 'open') = 'open' and v.verdict_by_a = 'rejected' then 'rejected'
            else coalesce(l.state_by_a, 'open')
        end as by_a,
        case
            when coalesce(l.state_before_b, 'open') = 'open' and v.verdict_before_b = 'rejected' then 'rejected'
            else coalesce(l.state_before_b, 'open')
        end as before_b,
        case
            when coalesce(l.state_by_b, 'open') = 'open' and v.verdict_by_b = 'rejected' then 'rejected'
            else coalesce(l.state_by_b, 'open')
        end as by_b
    from known f
    left join lived l on l.sweep = f.sweep and l.fp = f.fp
    left join judged v on v.sweep = f.sweep and v.fp = f.fp
), ranked as (
    -- What never said anything else than it does now is left out.
    select
        p.sweep,
        p.fp,
        p.as_of,
        p.seq,
        p.round,
        list_position(['blocker', 'major', 'minor', 'nit'], p.severity) as rank
    from published.payloads p
    semi join (select sweep, fp from published.former_payload) other on other.sweep = p.sweep and other.fp = p.fp
), worded as (
    -- How bad it was when a began, the worst that it was said to be in a, and how bad it was at the end of b: of
    -- strategies that do not agree on it, another one may speak last in each campaign, which is no news.
    select
        r.sweep,
        r.fp,
        arg_max(r.rank, {'as_of': r.as_of, 'seq': r.seq, 'round': r.round}) filter (
            (r.as_of, r.seq) < (compared.as_of_a, compared.seq_a)
        ) as before_a,
        min(r.rank) filter ((r.as_of, r.seq) = (compared.as_of_a, compared.seq_a)) as worst_in_a,
        arg_max(r.rank, {'as_of': r.as_of, 'seq': r.seq, 'round': r.round}) filter (
            (r.as_of, r.seq) <= (compared.as_of_b, compared.seq_b)
        ) as by_b
    from ranked r
    join compared using (sweep)
    group by r.sweep, r.fp
), ran as (
    select distinct r.sweep, r.campaign, r.round, r.strategy, r.angle, rounds.snapshot
    from published.strategy_runs r
    join published.rounds rounds on rounds.sweep = r.sweep and rounds.campaign = r.campaign and rounds.round = r.round
    where
        r.status = 'ok'
        and not exists (
            select 1
            from published.events e
            where
                e.sweep = r.sweep and e.campaign = r.campaign and e.round = r.round
                and e.actor = r.strategy and e.name = 'finder_not_run'
        )
), seen_before as (
    -- How, and on what material, those that b did not sight were sighted before it.
    select distinct s.sweep, s.fp, s.strategy, ran.angle, rounds.snapshot
    from published.sightings s
    join compared using (sweep)
    join published.campaigns c on c.sweep = s.sweep and c.campaign = s.campaign
    join published.rounds rounds on rounds.sweep = s.sweep and rounds.campaign = s.campaign and rounds.round = s.round
    semi join (select sweep, fp from known where not in_b) missed on missed.sweep = s.sweep and missed.fp = s.fp
    left join ran
        on ran.sweep = s.sweep and ran.campaign = s.campaign and ran.round = s.round and ran.strategy = s.strategy
    where (c.as_of, c.seq) < (compared.as_of_b, compared.seq_b)
), looked_for as (
    select distinct seen.sweep, seen.fp
    from seen_before seen
    join ran look
        on look.sweep = seen.sweep and look.strategy = seen.strategy and look.angle = seen.angle and look.campaign = b
    -- On material that it was sighted on it is certainly still there, however often nobody sights it again.
    where not exists (
        select 1
        from seen_before there
        where there.sweep = seen.sweep and there.fp = seen.fp and there.snapshot = look.snapshot
    )
)
select
    f.sweep,
    f.fp,
    f.label,
    case
        when reopened_in_b.fp is not null then 'reopened'
        when f.in_b and f.by_a then 'still_there'
        when f.in_b then 'fresh'
        when stood.by_b = 'fixed' then 'gone'
        when stood.before_b in ('open', 'reopened', 'escalated') or stood.by_b in ('open', 'reopened', 'escalated')
            then 'not_observed'
        else 'settled'
    end as change,
    -- Nobody was told to expect these: what kept them from counting ended since a, and b sighted them.
    case
        when
            not f.in_b or not f.by_a or reopened_in_b.fp is not null
            or stood.by_b in ('contested', 'accepted_risk', 'declined', 'rejected')
            then null
        when run_out.fp is not null then 'expired'
        when stood.by_a in ('contested', 'accepted_risk', 'declined', 'rejected') then stood.by_a
        when stood.before_b in ('contested', 'accepted_risk', 'declined', 'rejected') then stood.before_b
        when 'fixed' in (stood.by_a, stood.before_b) and stood.by_b <> 'fixed' then 'fixed'
    end as open_again,
    case
        when
            f.in_b
            and f.by_a
            and stood.by_b not in ('contested', 'accepted_risk', 'rejected')
            and list_min([worded.before_a, worded.worst_in_a])
            > greatest(worded.by_b, list_position(['blocker', 'major', 'minor', 'nit'], f.severity))
            then list_extract(['blocker', 'major', 'minor', 'nit'], list_min([worded.before_a, worded.worst_in_a]))
    end as raised_from,
    f.status,
    f.severity,
    f.title,
    f.path,
    f.line,
    f.in_a as sighted_in_a,
    f.in_b as sighted_in_b,
    case when not f.in_b then compared.outcome_b = 'converged' and looked_for.fp is not null end as looked_for,
    a as campaign_a,
    compared.as_of_a,
    compared.outcome_a,
    b as campaign_b,
    compared.as_of_b,
    compared.outcome_b,
    compared.as_of_b - compared.as_of_a as apart,
    date_diff('day', compared.as_of_a, compared.as_of_b) as days_apart
from known f
join compared on compared.sweep = f.sweep
join stood on stood.sweep = f.sweep and stood.fp = f.fp
left join reopened_in_b on reopened_in_b.sweep = f.sweep and reopened_in_b.fp = f.fp
left join run_out on run_out.sweep = f.sweep and run_out.fp = f.fp
left join looked_for on looked_for.sweep = f.sweep and looked_for.fp = f.fp
left join worded on worded.sweep = f.sweep and worded.fp = f.fp
where
    f.in_a
    or f.in_b
    or (f.by_a and stood.by_a in ('open', 'reopened', 'escalated'));

create or replace macro main.published() as table
select
    s.sweep,
    s.published_at,
    arg_max(p.campaign, p.place) as campaign,
    arg_max(p.round, p.place) as round,
    max(p.as_of) as as_of,
    arg_max(p.outcome, p.place) as outcome,
    count(p.place) as rounds
from published.sweeps s
left join published.places p on p.sweep = s.sweep and p.ordinary
group by s.sweep, s.published_at;
