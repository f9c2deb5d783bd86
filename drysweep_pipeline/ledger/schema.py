"""The tables of the ledger, as an append-only list of migrations recorded in the transaction that makes them."""

from collections.abc import Callable

import duckdb

from drysweep_pipeline.errors import IntegrityError

_TABLES = """
create table campaigns (
    campaign varchar not null, seq integer not null, as_of timestamptz not null, rule varchar not null,
    k integer not null, declaration varchar not null, started_at timestamptz not null,
    outcome varchar not null, reason varchar, rounds integer not null, quiet integer not null,
    repeats integer not null, ended_at timestamptz
);
create table rounds (
    campaign varchar not null, round integer not null, snapshot varchar not null, not_searched bigint not null,
    complete boolean not null, rows bigint not null, distinct_findings bigint not null, fresh bigint not null,
    reopened bigint not null, taken_at timestamptz not null, judged boolean not null,
    blocking bigint, quiet boolean, repeat boolean, calls bigint, tokens bigint, cost_usd double, seconds double,
    tripped varchar, outcome varchar, reason varchar, quiet_in_a_row integer, decided_at timestamptz
);
create table strategy_runs (
    campaign varchar not null, round integer not null, strategy varchar not null, attempt integer not null,
    status varchar not null, reason varchar, angle varchar not null, rows bigint not null, seconds double not null,
    calls bigint not null, tokens bigint not null, cost_usd double not null
);
create table seen (fp uuid not null, seq integer not null, round integer not null);
create table sightings (
    fp uuid not null, strategy varchar not null, campaign varchar not null, round integer not null,
    hits integer not null
);
create table verdicts (
    fp uuid not null, campaign varchar not null, round integer not null, judge varchar not null,
    verdict varchar not null, reason varchar, calls integer not null, ord bigint not null
);
create table lives (
    fp uuid not null, state varchar not null, as_of timestamptz not null, seq integer not null, round integer not null,
    scope varchar, expires date, ord bigint not null
);
create table events (
    seq bigint not null, "at" timestamptz not null, name varchar not null, campaign varchar not null, round integer,
    fp uuid, actor varchar, reason varchar, evidence varchar
);
create view current_verdicts as select fp, arg_max(verdict, ord) as verdict from verdicts group by fp;
-- A whole row at once, since arg_max passes NULLs over: a risk accepted again without an expiry has none.
create view current_lives as
select unnest(newest) from (select arg_max(life, ord) as newest from lives as life group by fp);
"""


def m001_tables(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the first tables."""
    connection.execute(_TABLES)


def m002_actions(connection: duckdb.DuckDBPyConnection) -> None:
    """Remember which of people's landed actions were taken in."""
    connection.execute("create table actions (campaign varchar not null, number integer not null)")


_FULLER_LIVES = """
alter table events add column verified boolean;
alter table events add column expires date;
alter table lives add column actor varchar;
alter table lives add column revision varchar;
alter table lives add column basis varchar;
create or replace view current_lives as
select unnest(newest) from (select arg_max(life, ord) as newest from lives as life group by fp);
"""


def m003_fuller_lives(connection: duckdb.DuckDBPyConnection) -> None:
    """Remember who moved a finding, the revision of a fix, what a risk was accepted for, and whether evidence held."""
    connection.execute(_FULLER_LIVES)


_RECALL = """
alter table strategy_runs add column canaries_expected integer;
alter table strategy_runs add column canaries_seen integer;
"""


def m004_recall(connection: duckdb.DuckDBPyConnection) -> None:
    """Remember how many of the canaries that a strategy was to report it did."""
    connection.execute(_RECALL)


def m005_isolation(connection: duckdb.DuckDBPyConnection) -> None:
    """Remember what kept each strategy from all but what it was handed."""
    connection.execute("alter table strategy_runs add column isolation varchar")


MIGRATIONS: tuple[Callable[[duckdb.DuckDBPyConnection], None], ...] = (
    m001_tables,
    m002_actions,
    m003_fuller_lives,
    m004_recall,
    m005_isolation,
)


def migrate(connection: duckdb.DuckDBPyConnection, file: str) -> None:
    """Bring a ledger to the newest schema. Raises ``IntegrityError`` where a newer drysweep wrote it."""
    connection.execute('create table if not exists migrations (name varchar not null, "at" timestamptz not null)')
    done = len(connection.execute("select name from migrations").fetchall())
    if done > len(MIGRATIONS):
        raise IntegrityError(f"written by a newer drysweep (schema {done})", file=file, help="upgrade drysweep")
    for step in MIGRATIONS[done:]:
        connection.begin()
        step(connection)
        connection.execute("insert into migrations values (?, now())", [step.__name__])
        connection.commit()
