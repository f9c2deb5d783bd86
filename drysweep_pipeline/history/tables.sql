-- What the views read. The schema is named after what it holds: what the ledgers of all sweeps published.
create schema published;

create table published.edition (views varchar not null);

create table published.sweeps (sweep varchar not null, published_at timestamptz not null);

create table published.campaigns (
    sweep varchar not null,
    campaign varchar not null,
    seq integer not null,
    as_of timestamptz not null,
    rule varchar not null,
    k integer not null,
    declaration varchar not null,
    started_at timestamptz not null,
    outcome varchar not null,
    reason varchar,
    rounds integer not null,
    quiet integer not null,
    repeats integer not null,
    ended_at timestamptz
);

create table published.blocking (sweep varchar not null, campaign varchar not null, severity varchar not null);

create table published.looked_again (
    sweep varchar not null,
    campaign varchar not null,
    source varchar not null,
    strategies varchar[] not null
);

create table published.angles (
    sweep varchar not null,
    campaign varchar not null,
    strategy varchar not null,
    position integer not null,
    angle varchar not null
);

create table published.rounds (
    sweep varchar not null,
    campaign varchar not null,
    round integer not null,
    snapshot varchar not null,
    not_searched bigint not null,
    complete boolean not null,
    rows bigint not null,
    distinct_findings bigint not null,
    fresh bigint not null,
    reopened bigint not null,
    taken_at timestamptz not null,
    blocking bigint,
    quiet boolean,
    repeat boolean,
    calls bigint,
    tokens bigint,
    cost_usd double,
    seconds double,
    tripped varchar,
    outcome varchar,
    reason varchar,
    quiet_in_a_row integer,
    decided_at timestamptz
);

create table published.strategy_runs (
    sweep varchar not null,
    campaign varchar not null,
    round integer not null,
    strategy varchar not null,
    attempt integer not null,
    status varchar not null,
    reason varchar,
    angle varchar not null,
    rows bigint not null,
    seconds double not null,
    calls bigint not null,
    tokens bigint not null,
    cost_usd double not null,
    canaries_expected integer,
    canaries_seen integer,
    isolation varchar
);

create table published.sightings (
    sweep varchar not null,
    fp uuid not null,
    strategy varchar not null,
    campaign varchar not null,
    round integer not null,
    hits integer not null
);

create table published.payload (
    sweep varchar not null,
    fp uuid not null,
    label varchar not null,
    severity varchar not null,
    subject varchar,
    kind varchar,
    scope varchar,
    title varchar,
    path varchar,
    line bigint,
    owner varchar,
    evidence varchar,
    attributes varchar,
    as_of timestamptz not null,
    seq integer not null,
    round integer not null
);

create table published.verdicts (
    sweep varchar not null,
    fp uuid not null,
    campaign varchar not null,
    round integer not null,
    judge varchar not null,
    verdict varchar not null,
    reason varchar,
    calls integer not null,
    ord bigint not null
);

create table published.lives (
    sweep varchar not null,
    fp uuid not null,
    state varchar not null,
    as_of timestamptz not null,
    seq integer not null,
    round integer not null,
    scope varchar,
    expires date,
    ord bigint not null,
    actor varchar,
    revision varchar,
    basis varchar
);

create table published.events (
    sweep varchar not null,
    seq bigint not null,
    "at" timestamptz not null,
    name varchar not null,
    campaign varchar not null,
    round integer,
    fp uuid,
    actor varchar,
    reason varchar,
    evidence varchar,
    verified boolean,
    expires date
);
