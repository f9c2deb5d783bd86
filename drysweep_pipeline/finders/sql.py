"""The SQL finder: one SELECT over the snapshot's tables, the values of the angle bound as ``$name``."""

from drysweep_pipeline import sandbox
from drysweep_pipeline.declaration.model import SqlStrategy
from drysweep_pipeline.errors import FinderError, Refused, RowsRefused
from drysweep_pipeline.finders.request import Found, Request


def search(request: Request) -> Found:
    """Run the strategy's query. Raises ``FinderError`` at the deadline, over the row cap, or where SQL fails."""
    strategy = request.strategy
    assert isinstance(strategy, SqlStrategy)
    if request.database is None:
        raise FinderError("the material has no tables to query")
    offered = {**request.look.angle, "seed": request.look.seed, "round": request.round}
    try:
        wanted = sandbox.check_query(strategy.query.text)
    except Refused as error:
        raise RowsRefused(f"{strategy.query.file}: {error.what}", help=error.help) from None
    bound = {name: value for name, value in offered.items() if name in wanted}
    with sandbox.locked(request.database) as connection:
        rows = sandbox.run(
            connection,
            strategy.query.text,
            bound,
            seconds=strategy.timeout_s,
            max_rows=strategy.max_rows,
            holding=request.children.holding,
        )
    return Found(table=rows)
