"""``drysweep campaigns``: the campaigns there are, with their outcomes."""

from typing import Annotated

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, home_of

_COLUMNS = ("sweep", "campaign", "as_of", "outcome", "reason", "k", "rounds", "quiet", "seen", "confirmed", "rejected")
_QUERY = f"""
    select {", ".join(_COLUMNS)}
    from campaigns
    where $sweep is null or sweep = $sweep
    order by sweep, as_of, seq
"""


def campaigns(
    sweep: Annotated[str | None, typer.Argument(metavar="[SWEEP]", help="Only this sweep's.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """List campaigns in the order of looking, each with its outcome."""
    from drysweep_pipeline.cli.output import put_json, put_table
    from drysweep_pipeline.history.reading import history

    place = home_of(home)
    rows = []
    if place.history.exists():
        with history(place) as connection:
            rows = connection.execute(_QUERY, {"sweep": sweep}).fetchall()
    listed = [[value.isoformat() if hasattr(value, "isoformat") else value for value in row] for row in rows]
    if json:
        put_json({"schema_version": 1, "campaigns": [dict(zip(_COLUMNS, row, strict=True)) for row in listed]})
    else:
        put_table(list(_COLUMNS), listed)
    return 0
