"""Publishing: what a sweep's ledger decided, into the one file that analysts query.

The published file is copied, the copy brought up to date and put in its place in one step, so a reader sees the old
history or the new one and never blocks the ledger. What is missing is found by looking, not by remembering: a
publication that was missed is made up for by the next one.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import filelock

from drysweep_pipeline.durable import make_private, read_json, write_whole
from drysweep_pipeline.errors import Busy, DrysweepError
from drysweep_pipeline.history import parquet, payload
from drysweep_pipeline.history.edition import bring_up, is_current
from drysweep_pipeline.history.reading import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.spelling import literal
from drysweep_pipeline.values import Severity
from drysweep_pipeline.wording import angle_text

if TYPE_CHECKING:
    from drysweep_pipeline.declaration.model import Strategy

WAIT_SECONDS = 60.0
_BLOCKING: tuple[Severity, ...] = (Severity.BLOCKER, Severity.MAJOR)

_TOLD = "select coalesce(max(seq), 0) from published.events where sweep = ?"
_ARRIVING = """
    create or replace temp table arriving as
    select r.campaign, r.round, c.as_of, c.seq
    from rounds r
    join campaigns c using (campaign)
    where
        r.outcome is not null
        and not exists (
            select 1
            from history.published.rounds p
            where p.sweep = ? and p.campaign = r.campaign and p.round = r.round
        )
"""
_CAMPAIGN = """
    campaign, seq, as_of, rule, k, declaration, started_at, outcome, reason, rounds, quiet, repeats, ended_at
"""
_CHANGED = f"""
    create or replace temp table changed as
    select {_CAMPAIGN} from campaigns
    except
    select {_CAMPAIGN} from history.published.campaigns where sweep = ?
"""
_UNKNOWN = """
    select campaign
    from changed
    where not exists (select 1 from history.published.blocking b where b.sweep = ? and b.campaign = changed.campaign)
"""
_ADD_BLOCKING = "insert into history.published.blocking values (?, ?, ?)"
_ADD_LOOKED_AGAIN = """
    insert into history.published.looked_again
    select $sweep, $campaign, $source, $strategies
    where not exists (
        select 1 from history.published.looked_again where sweep = $sweep and campaign = $campaign
    )
"""
_ADD_ANGLE = """
    insert into history.published.angles
    select $sweep, $campaign, $strategy, $position, $angle
    where not exists (
        select 1
        from history.published.angles
        where sweep = $sweep and campaign = $campaign and strategy = $strategy and position = $position
    )
"""
_FORGET_CHANGED = """
    delete from history.published.campaigns
    where sweep = ? and campaign in (select campaign from changed)
"""
_ROUND = """
    round, snapshot, not_searched, complete, rows, distinct_findings, fresh, reopened, taken_at, blocking, quiet,
    repeat, calls, tokens, cost_usd, seconds, tripped, outcome, reason, quiet_in_a_row, decided_at
"""
_RUN = """
    strategy, attempt, status, reason, angle, rows, seconds, calls, tokens, cost_usd, canaries_expected, canaries_seen,
    isolation
"""
_ADD = (
    f"insert into history.published.campaigns by name select ? as sweep, {_CAMPAIGN} from changed",
    f"""
    insert into history.published.rounds by name
    select ? as sweep, campaign, {_ROUND}
    from rounds
    semi join arriving using (campaign, round)
    """,
    f"""
    insert into history.published.strategy_runs by name
    select ? as sweep, campaign, round, {_RUN}
    from strategy_runs
    semi join arriving using (campaign, round)
    """,
    """
    insert into history.published.sightings by name
    select ? as sweep, fp, strategy, campaign, round, hits
    from sightings
    semi join arriving using (campaign, round)
    """,
)
_ADD_LATER = (
    """
    insert into history.published.verdicts by name
    select $sweep as sweep, fp, campaign, round, judge, verdict, reason, calls, ord
    from verdicts
    where ord > (select coalesce(max(ord), 0) from history.published.verdicts where sweep = $sweep)
    """,
    """
    insert into history.published.lives by name
    select $sweep as sweep, fp, state, as_of, seq, round, scope, expires, ord, actor, revision, basis
    from lives
    where ord > (select coalesce(max(ord), 0) from history.published.lives where sweep = $sweep)
    """,
    """
    insert into history.published.events by name
    select $sweep as sweep, seq, "at", name, campaign, round, fp, actor, reason, evidence, verified, expires
    from events
    where seq > (select coalesce(max(seq), 0) from history.published.events where sweep = $sweep)
    """,
)
_FORGET_TIME = "delete from history.published.sweeps where sweep = ?"
_ADD_TIME = "insert into history.published.sweeps values (?, now())"
_TEMPORARY = ("arriving", "changed", *payload.TEMPORARY)
# What a rebuilt ledger says anew, and the landed files of the rounds that it took in.
_REPEATED = (
    *("campaigns", "rounds", "strategy_runs", "sightings", "verdicts", "lives", "events"),
    *("payload", "former_payload"),
)


def publish(
    home: Home,
    sweep: str,
    ledger: Ledger,
    *,
    anew: bool = False,
    files: bool = True,
    wait_seconds: float = WAIT_SECONDS,
) -> None:
    """Bring the published history up to what the sweep's ledger holds, in one step; the caller holds no transaction.

    ``anew`` says all of the sweep again, for a ledger that was rebuilt; without ``files`` there is no Parquet of it.
    Raises ``Busy`` where another sweep is being published for longer than ``wait_seconds``; the next publication makes
    up for this one.
    """
    make_private(home.history.parent)
    with _alone(home.history.parent / "history.lock", wait_seconds):
        write_whole(home.history, lambda part: _fill(part, home, sweep, ledger, anew, files))


def is_behind(home: Home, sweep: str, ledger: Ledger) -> bool:
    """Tell whether something happened that the history does not tell of, as where a process died before it published.

    One that cannot be read is behind as well: who publishes is told why.
    """
    [(happened,)] = ledger.connection.execute("select coalesce(max(seq), 0) from events").fetchall()
    try:
        with history(home) as past:
            [(told,)] = past.execute(_TOLD, [sweep]).fetchall()
    except (DrysweepError, duckdb.Error):
        return True
    return bool(told < happened)


def _forget_writes(history: Path) -> None:
    """Remove what somebody who opened the published file for writing logged beside it."""
    # DuckDB refuses to open a file with the log of an older one beside it.
    history.with_name(history.name + ".wal").unlink(missing_ok=True)


def spoilt_parquet(home: Home, sweep: str, wait_seconds: float = WAIT_SECONDS) -> dict[Path, str]:
    """Return the published Parquet files of a sweep that are not what was written, with what is wrong with each.

    Raises ``Busy`` where something is being published for longer than ``wait_seconds``.
    """
    exported = parquet.Exported(home.parquet, sweep)
    if not parquet.spoilt(exported):
        return {}
    # What looks spoilt may have been about to be replaced.
    with _alone(home.history.parent / "history.lock", wait_seconds):
        return parquet.spoilt(exported)


@contextmanager
def _alone(path: Path, wait_seconds: float) -> Iterator[None]:
    lock = filelock.FileLock(path, timeout=wait_seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        help = "nothing is lost: the next publication makes up for it"
        raise Busy(f"the history is being written since {wait_seconds:g} s", file=path, help=help) from None
    try:
        yield
    finally:
        lock.release()


def _fill(part: Path, home: Home, sweep: str, ledger: Ledger, anew: bool, files: bool) -> None:
    log = part.with_name(part.name + ".wal")
    # Nobody else is publishing, so whatever another process left half made is not being made any more.
    for leftover in part.parent.glob(f".{home.history.name}.*.part*"):
        leftover.unlink(missing_ok=True)
    try:
        if home.history.exists():
            shutil.copyfile(home.history, part)
        else:
            bring_up(part)
        if not _applied(part, home, sweep, ledger, anew, files):
            bring_up(part)
            _applied(part, home, sweep, ledger, anew, files)
    finally:
        log.unlink(missing_ok=True)
    _forget_writes(home.history)


def _applied(part: Path, home: Home, sweep: str, ledger: Ledger, anew: bool, files: bool) -> bool:
    """Bring the copy up to date, or leave it as it is and return False where it has other tables or views."""
    with _attached(ledger.connection, part):
        current = is_current(ledger.connection)
        if current:
            _apply(home, sweep, ledger, anew)
            if files:
                _export(home, sweep, ledger.connection, anew)
    return current


@contextmanager
def _attached(connection: duckdb.DuckDBPyConnection, part: Path) -> Iterator[None]:
    """Have the copy beside the ledger in one connection, so that rows go over without passing through Python."""
    # A path cannot be bound in DuckDB 1.5.
    connection.execute(f"attach {literal(str(part))} as history (storage_version 'v1.5.0')")
    try:
        yield
        connection.execute("checkpoint history")
    finally:
        for name in _TEMPORARY:
            connection.execute(f"drop table if exists temp.{name}")
        connection.execute("detach history")


def _apply(home: Home, sweep: str, ledger: Ledger, anew: bool) -> None:
    connection = ledger.connection
    with ledger.transaction():
        for table in _REPEATED if anew else ():
            connection.execute(f"delete from history.published.{table} where sweep = ?", [sweep])
        connection.execute(_ARRIVING, [sweep])
        connection.execute(_CHANGED, [sweep])
        _add_declared(connection, home, sweep)
        connection.execute(_FORGET_CHANGED, [sweep])
        for statement in _ADD:
            connection.execute(statement, [sweep])
        for statement in _ADD_LATER:
            connection.execute(statement, {"sweep": sweep})
        first, *rest = payload.arrived(connection) or [[]]
        payload.add(connection, home.sweep(sweep), first)
        connection.execute(_FORGET_TIME, [sweep])
        connection.execute(_ADD_TIME, [sweep])
    # Nobody sees the copy before it is whole.
    for rounds in rest:
        with ledger.transaction():
            payload.add(connection, home.sweep(sweep), rounds)


def _export(home: Home, sweep: str, connection: duckdb.DuckDBPyConnection, anew: bool) -> None:
    """Write the Parquet of the campaigns that came to stand, if any did."""
    exported = parquet.Exported(home.parquet, sweep)
    if work := parquet.due(connection, exported, anew):
        parquet.export(connection, exported, work)


def _add_declared(connection: duckdb.DuckDBPyConnection, home: Home, sweep: str) -> None:
    """Publish of campaigns new to the history what blocks, which angles there are, and who looked again at what."""
    # Not above: whoever only asks the history loads this module too, and would wait for all that a declaration needs.
    from drysweep_pipeline.declaration import thaw_json

    for (campaign,) in connection.execute(_UNKNOWN, [sweep]).fetchall():
        path = home.sweep(sweep).landing(campaign) / "campaign.json"
        blocking = _BLOCKING
        if path.exists():
            record = read_json(path)
            declared = thaw_json(record["declaration"]).sweep
            blocking = declared.convergence.blocking
            _add_angles(connection, sweep, campaign, declared.strategies)
            if again := record.get("looked_again"):
                who = [strategy.name for strategy in declared.strategies]
                named = {"sweep": sweep, "campaign": campaign, "source": again["campaign"], "strategies": who}
                connection.execute(_ADD_LOOKED_AGAIN, named)
        for severity in blocking:
            connection.execute(_ADD_BLOCKING, [sweep, campaign, severity.value])


def _add_angles(
    connection: duckdb.DuckDBPyConnection, sweep: str, campaign: str, strategies: "Sequence[Strategy]"
) -> None:
    """Publish the declared angles of a campaign, written as the ledger writes those that were taken."""
    for strategy in strategies:
        for position, angle in enumerate(strategy.angles or ({},), start=1):
            named = {"sweep": sweep, "campaign": campaign, "strategy": strategy.name}
            connection.execute(_ADD_ANGLE, {**named, "position": position, "angle": angle_text(angle)})
