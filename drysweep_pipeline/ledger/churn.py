"""What a round brought at the scope of a fix: the pairs of which one may be the other's doing (R11).

Whether it is, is found out in ``engine.churn``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from drysweep_pipeline.ledger.store import Ledger
from drysweep_pipeline.values import Place

_FIXED = "select 1 from current_lives where state = 'fixed' limit 1"
_AT_A_FIX = """
    with raised as (
        select distinct fp, identity, scope, strategy
        from read_parquet($files, hive_partitioning = false)
        where fp in (select unnest(cast($fresh as uuid[])))
    ),
    scoped as (select distinct fp, identity, scope from raised),
    strategies as (select distinct fp, strategy from raised)
    select
        scoped.fp, scoped.identity, strategies.strategy, life.fp, life.scope, life.revision,
        (life.as_of, life.seq, life.round) < (cast($as_of as timestamptz), $seq, $snapshot)
    from scoped
    join strategies on strategies.fp = scoped.fp
    join current_lives life on life.scope = scoped.scope
    where life.state = 'fixed' and life.fp <> scoped.fp
    order by scoped.fp, life.fp, strategies.strategy
"""


@dataclass(frozen=True, slots=True)
class AtAFix:
    """A fresh finding, a strategy that raised it, at whatever scope, and a fix at one of the finding's scopes.

    ``revision`` is that of the fix; ``before`` tells whether the fix stands before the snapshot that the round read.
    """

    finding: UUID
    identity: str
    strategy: str
    fix: UUID
    scope: str
    revision: str | None
    before: bool


def has_fixes(ledger: Ledger) -> bool:
    """Tell whether any finding is fixed; in most campaigns none is, and nothing has to be compared."""
    return bool(ledger.connection.execute(_FIXED).fetchall())


def at_fixes(
    ledger: Ledger, files: Sequence[Path], fresh: Sequence[str], place: Place, snapshot_round: int
) -> list[AtAFix]:
    """Return the pairs of a round's fresh findings, as its landed files raise them, with fixes at one of their scopes.

    A finding has every scope that any of its rows gave. A pair is there once for each strategy that raised the finding.
    """
    if not files or not fresh:
        return []
    named = {
        "files": [str(file) for file in files],
        "fresh": list(fresh),
        "as_of": place.as_of,
        "seq": place.seq,
        "snapshot": snapshot_round,
    }
    return [AtAFix(*row) for row in ledger.connection.execute(_AT_A_FIX, named).fetchall()]
