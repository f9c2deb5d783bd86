"""Intake: the candidates of a round into ``seen`` and ``sightings``, before anybody judges them (R1, R2).

One set-based pass inside the caller's transaction. Fresh is what has no sighting at an earlier place in the order
(as_of, seq, round); a backfilled campaign therefore looks only at what lies before it, and moves the first place of
what it found earlier than anybody. The payload stays in the landed files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from drysweep_pipeline.ledger.store import Ledger
from drysweep_pipeline.values import Place

_WAVE = """
    create or replace temp table wave as
    select fp, strategy, cast(count(*) as integer) as hits
    from read_parquet(?, hive_partitioning = false)
    group by fp, strategy
"""
_NO_WAVE = "create or replace temp table wave (fp uuid, strategy varchar, hits integer)"
_CANDIDATES = "create or replace temp table candidates as select distinct fp from wave"
_IS_NEWEST = """
    select not exists (select 1 from campaigns where (as_of, seq) > (cast(? as timestamptz), ?))
"""
_EARLIER = """
    create or replace temp table earlier as
    select s.fp
    from seen s
    semi join candidates using (fp)
    join campaigns c using (seq)
    where (c.as_of, c.seq, s.round) < (cast(? as timestamptz), ?, ?)
"""
# Every row of seen that matches, also of a fingerprint that was there twice: one pass answers both questions.
_KNOWN = "create or replace temp table earlier as select fp from seen where fp in (select fp from candidates)"
# The engine keeps each block of seen that it reads as long as there is memory, and being handed that memory takes the
# machine longer than reading does. A single pass looks at none of them again; the limit is for what it holds besides.
_ENOUGH = """
    select
        cast(least(
            parse_formatted_bytes(current_setting('memory_limit')),
            current_setting('threads') * 67108864 + (select count(*) from wave) * 256
        ) as bigint)
"""
_FRESH = "create or replace temp table fresh as select fp from candidates anti join earlier using (fp)"
_FRESH_LANDED = "create or replace temp table fresh as select cast(unnest(cast(? as varchar[])) as uuid) as fp"
# Only ever to an earlier place: an intake that is done again must not undo what a backfill moved meanwhile.
_MOVE_FIRST = """
    update seen
    set seq = $seq, round = $round
    from campaigns c
    where
        c.seq = seen.seq
        and seen.fp in (select fp from fresh)
        and (c.as_of, c.seq, seen.round) > (cast($as_of as timestamptz), $seq, $round)
"""
_ADD_SEEN = "insert into seen select fp, cast(? as integer), cast(? as integer) from fresh anti join seen using (fp)"
_ADD_SEEN_NEWEST = "insert into seen select fp, cast(? as integer), cast(? as integer) from fresh"
_ADD_SIGHTINGS = "insert into sightings select fp, strategy, ?, cast(? as integer), hits from wave"
_COUNTS = """
    select
        (select coalesce(sum(hits), 0) from wave), (select count(*) from candidates), (select count(*) from fresh)
"""
_TWICE = "create or replace temp table twice as select fp from {} group by fp having count(*) > 1"
_SEEN_NOW = "seen semi join candidates using (fp)"


@dataclass(frozen=True, slots=True)
class Counts:
    """What a round brought: rows reported, distinct findings, and how many of those were fresh."""

    rows: int
    distinct: int
    fresh: int


def take_in(
    ledger: Ledger, campaign: str, place: Place, files: Sequence[Path], landed_fresh: Sequence[str] | None = None
) -> Counts:
    """Take the candidates of verified files in, and return the counts; the caller holds the transaction.

    ``landed_fresh`` is what this round's first intake found fresh, where that was landed already: it is not computed
    twice, since a campaign backfilled meanwhile would change the answer.
    """
    connection = ledger.connection
    if files:
        connection.execute(_WAVE, [[str(file) for file in files]])
    else:
        connection.execute(_NO_WAVE)
    connection.execute(_CANDIDATES)
    newest = bool(_one(connection, _IS_NEWEST, [place.as_of, place.seq])[0])
    _find_fresh(connection, place, newest, landed_fresh)
    only_new = newest and landed_fresh is None
    _add(connection, campaign, place, only_new)
    connection.execute(_TWICE.format("earlier" if only_new else _SEEN_NOW))
    return Counts(*_one(connection, _COUNTS, []))


def fresh_of(ledger: Ledger) -> list[str]:
    """Return the fingerprints of the round just taken in that were fresh, sorted."""
    return [row[0] for row in ledger.connection.execute("select cast(fp as varchar) from fresh order by fp").fetchall()]


def seen_twice(ledger: Ledger) -> list[str]:
    """Return fingerprints of the round just taken in that ``seen`` holds more than once; there must be none."""
    return [row[0] for row in ledger.connection.execute("select cast(fp as varchar) from twice order by fp").fetchall()]


def _find_fresh(
    connection: duckdb.DuckDBPyConnection, place: Place, newest: bool, landed_fresh: Sequence[str] | None
) -> None:
    if landed_fresh is not None:
        connection.execute(_FRESH_LANDED, [list(landed_fresh)])
        return
    if newest:
        _pass_over_seen(connection)
    else:
        connection.execute(_EARLIER, [place.as_of, place.seq, place.round])
    connection.execute(_FRESH)


def _pass_over_seen(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(f"set memory_limit = '{_one(connection, _ENOUGH, [])[0]}B'")
    connection.execute(_KNOWN)
    # Not where that failed: an aborted transaction takes nothing more, and what ends it closes the ledger.
    connection.execute("reset memory_limit")


def _add(connection: duckdb.DuckDBPyConnection, campaign: str, place: Place, newest: bool) -> None:
    first = [place.seq, place.round]
    if newest:
        connection.execute(_ADD_SEEN_NEWEST, first)
    else:
        connection.execute(_MOVE_FIRST, {"seq": place.seq, "round": place.round, "as_of": place.as_of})
        connection.execute(_ADD_SEEN, first)
    connection.execute(_ADD_SIGHTINGS, [campaign, place.round])


def _one(connection: duckdb.DuckDBPyConnection, sql: str, parameters: list[object]) -> tuple[int, ...]:
    rows: list[tuple[int, ...]] = connection.execute(sql, parameters).fetchall()
    return rows[0]
