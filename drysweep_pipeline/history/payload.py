"""What findings say of themselves, in the published history: what each says now, and what it said before.

What a finding says holds from the round that reported it so until one later in the order reports it otherwise. Most
findings say the same all the time; only for the others are former words kept.
"""

from collections.abc import Sequence

import duckdb

from drysweep_pipeline.fingerprint import sql_label
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.spelling import rank
from drysweep_pipeline.values import RoundKey

TEMPORARY = ("incoming", "coming")
"""The temporary tables that are made on the way."""

# What is replaced on the way is kept until its transaction ends: of a long past in one, that would be all of it.
_ROUNDS_AT_ONCE = 20
_ARRIVED = "select campaign, round from arriving order by as_of, seq, round"
_NAMES = ("severity", "subject", "kind", "scope", "title", "path", "line", "owner", "evidence", "attributes")
_SAID = ", ".join(_NAMES)
_BEFORE = ", ".join(f"before.said.{name} as {name}" for name in _NAMES)
_HASHED = "hash(row({}))".format(", ".join(f"cast({{0}}{name} as varchar)" for name in _NAMES))
# The worst report speaks for the finding; among equals the first strategy and row, so that it is always the same one.
# What a finding said before is known by a hash: reading all that findings say would take the longer the more there are.
_INCOMING = f"""
    create or replace temp table incoming as
    with reported as (
        select
            *,
            row_number() over (
                partition by fp
                order by
                    {rank("severity")},
                    strategy,
                    row
            ) as nth,
            {sql_label("identity")} as label
        from read_parquet($files, hive_partitioning = false)
    ), worst as (
        select
            reported.fp, label, {_SAID}, {_HASHED.format("")} as said_hash, arriving.as_of, arriving.seq, arriving.round
        from reported
        join arriving on arriving.campaign = $campaign and arriving.round = $round
        where reported.nth = 1
    )
    select
        worst.*,
        p.fp is not null and (p.as_of, p.seq, p.round) > (worst.as_of, worst.seq, worst.round) as late,
        p.fp is not null as known,
        p.fp is not null and p.said_hash is distinct from worst.said_hash as changed
    from worst
    left join history.published.payload p on p.sweep = $sweep and p.fp = worst.fp
"""
_HOW_MANY = "select count(*) filter (changed and not late), count(*) filter (late) from incoming"
_KEEP_FORMER = f"""
    insert into history.published.former_payload by name
    select sweep, fp, label, {_SAID}, as_of, seq, round
    from history.published.payloads
    where
        sweep = ?
        and fp in (select fp from incoming where changed and not late)
        and standing
"""
# A round that comes after those that stand later in the order: what it says holds until the finding is sighted again,
# from where on it is what was said before. Of rounds that arrived with it, the later ones are still to come.
_KEEP_LATE = f"""
    insert into history.published.former_payload by name
    with former as (
        select i.fp, arg_max(v, {{'as_of': v.as_of, 'seq': v.seq, 'round': v.round}}) as said
        from incoming i
        join history.published.payloads v on
            v.sweep = $sweep and v.fp = i.fp and (v.as_of, v.seq, v.round) < (i.as_of, i.seq, i.round)
        where i.late
        group by i.fp
    ), before as (
        select *, {_HASHED.format("said.")} as said_hash
        from former
    ), again as (
        select i.fp, min({{'as_of': c.as_of, 'seq': c.seq, 'round': s.round}}) as place
        from incoming i
        join history.published.sightings s on s.sweep = $sweep and s.fp = i.fp
        join history.published.campaigns c on c.sweep = s.sweep and c.campaign = s.campaign
        where
            i.late
            and (c.as_of, c.seq, s.round) > (i.as_of, i.seq, i.round)
            and not exists (select 1 from coming where coming.campaign = s.campaign and coming.round = s.round)
        group by i.fp
    ), differing as (
        select i.*
        from incoming i
        left join before on before.fp = i.fp
        where i.late and (before.fp is null or i.said_hash <> before.said_hash)
    )
    select $sweep as sweep, fp, label, {_SAID}, as_of, seq, round
    from differing
    union all by name
    select
        $sweep as sweep, before.fp, before.said.label as label, {_BEFORE},
        again.place.as_of as as_of, again.place.seq as seq, again.place.round as round
    from differing
    join before using (fp)
    join again using (fp)
    where not exists (
        select 1
        from history.published.payloads v
        where
            v.sweep = $sweep
            and v.fp = before.fp
            and (v.as_of, v.seq, v.round) = (again.place.as_of, again.place.seq, again.place.round)
    )
"""
# Of most findings a round says what was said before; their rows are not written anew.
_STANDS_ON = """
    update history.published.payload p
    set as_of = i.as_of, seq = i.seq, round = i.round
    from incoming i
    where p.sweep = ? and p.fp = i.fp and i.known and not i.changed and not i.late
"""
_FORGET_OLDER = """
    delete from history.published.payload
    where sweep = ? and fp in (select fp from incoming where changed and not late)
"""
_ADD_PAYLOAD = f"""
    insert into history.published.payload by name
    select
        ? as sweep, fp, label, {_SAID}, as_of, seq, round, said_hash,
        as_of as since_as_of, seq as since_seq, round as since_round
    from incoming
    where (changed or not known) and not late
"""
_COMING = "create or replace temp table coming as select campaign, round from arriving"
_CAME = "delete from coming where campaign = ? and round = ?"


def arrived(connection: duckdb.DuckDBPyConnection) -> list[list[RoundKey]]:
    """Return the rounds of the table ``arriving`` in their order, in the parts that are one transaction each."""
    connection.execute(_COMING)
    rounds = [RoundKey(campaign, round) for campaign, round in connection.execute(_ARRIVED).fetchall()]
    return [rounds[first : first + _ROUNDS_AT_ONCE] for first in range(0, len(rounds), _ROUNDS_AT_ONCE)]


def add(connection: duckdb.DuckDBPyConnection, place: SweepHome, rounds: Sequence[RoundKey]) -> None:
    """Let rounds that arrived, in the caller's transaction and after those before them, say what their findings are."""
    for key in rounds:
        connection.execute(_CAME, [key.campaign, key.round])
        _add_round(connection, place, key)


def _add_round(connection: duckdb.DuckDBPyConnection, place: SweepHome, key: RoundKey) -> None:
    # Whoever only asks the history loads this module too.
    from drysweep_pipeline import landing

    files = [str(path) for path in landing.readable(place.round(key))]
    if not files:
        return
    given = {"files": files, "sweep": place.name, "campaign": key.campaign, "round": key.round}
    connection.execute(_INCOMING, given)
    changed, late = connection.execute(_HOW_MANY).fetchall()[0]
    if changed:
        connection.execute(_KEEP_FORMER, [place.name])
        connection.execute(_FORGET_OLDER, [place.name])
    if late:
        connection.execute(_KEEP_LATE, {"sweep": place.name})
    connection.execute(_STANDS_ON, [place.name])
    connection.execute(_ADD_PAYLOAD, [place.name])
