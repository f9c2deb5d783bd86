-- Columns that tables published by an older drysweep lack.
alter table published.lives add column if not exists actor varchar;
alter table published.lives add column if not exists revision varchar;
alter table published.lives add column if not exists basis varchar;
alter table published.events add column if not exists verified boolean;
alter table published.events add column if not exists expires date;
alter table published.strategy_runs add column if not exists canaries_expected integer;
alter table published.strategy_runs add column if not exists canaries_seen integer;
alter table published.strategy_runs add column if not exists isolation varchar;
create table if not exists published.looked_again (
    sweep varchar not null,
    campaign varchar not null,
    source varchar not null,
    strategies varchar[] not null
);
create table if not exists published.angles (
    sweep varchar not null,
    campaign varchar not null,
    strategy varchar not null,
    position integer not null,
    angle varchar not null
);
-- What a finding said of itself in some rounds: ``payload`` is what it says now, and since which place.
alter table published.payload add column if not exists said_hash ubigint;
alter table published.payload add column if not exists since_as_of timestamptz;
alter table published.payload add column if not exists since_seq integer;
alter table published.payload add column if not exists since_round integer;
create table if not exists published.former_payload (
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
