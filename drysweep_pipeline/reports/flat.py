"""A campaign's findings as flat rows, for formats that are tables: the same columns in the same order in each.

Every row has the outcome of its campaign, since a table is what is cut up and passed on.
"""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from drysweep_pipeline.reports.beyond import missed_by_k
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.values import Outcome

CAMPAIGN = (
    *("sweep", "campaign", "as_of", "outcome", "reason", "lower_bound", "k", "rounds"),
    *("missed_by_k", "looked_again", "looked_with"),
)
"""The columns that are the same in every row. ``looked_with`` is a list of strategies."""
FINDING = (
    *("fp", "label", "status", "state", "verdict", "severity", "subject", "kind", "scope", "title", "path", "line"),
    *("owner", "evidence", "attributes", "strategies", "sightings", "first_campaign", "first_round", "last_campaign"),
    *("last_round", "verdict_reason", "state_by", "state_reason", "expires"),
)
"""The columns of a finding. ``attributes`` is a mapping, ``strategies`` a list of those that saw it here."""
COLUMNS = (*CAMPAIGN, *FINDING)
_HEAD = ("quiet", "repeats", "seen", "confirmed", "rejected", "undecided", "unjudged", "not_searched", "calls")


def campaign_of(said: Contents) -> dict[str, Any]:
    """Return what every row says of its campaign."""
    again = said.told["looked_again"] or {"at": None, "strategies": None}
    return {
        **{name: said.told.get(name) for name in CAMPAIGN},
        "lower_bound": is_lower_bound(said),
        "missed_by_k": missed_by_k(said.told),
        "looked_again": again["at"],
        "looked_with": again["strategies"],
    }


def head_of(said: Contents) -> dict[str, Any]:
    """Return what a file says of its campaign once: what every row says, its counts and its verdict."""
    named = {name: said.told[name] for name in ("schema_version", *_HEAD, "verdict")}
    listed = {"findings": len(said.findings), "rejected_listed": said.asked.rejected, "known_at": said.known_at}
    return {**campaign_of(said), **named, **listed}


def rows_of(said: Contents) -> Iterator[dict[str, Any]]:
    """Yield a row a finding, the worst first, with the ``COLUMNS``."""
    campaign = campaign_of(said)
    for row in said.findings:
        yield {**campaign, **{name: row[name] for name in FINDING}, "attributes": attributes_of(row["attributes"])}


def is_cut_short(said: Contents) -> bool:
    """Tell whether the search was cut short, or goes on: it has not converged."""
    return bool(said.told["outcome"] != Outcome.CONVERGED)


def looked_again(told: Mapping[str, Any]) -> str | None:
    """Return that a campaign looked again, with whom and at what, in a few words; None for all other campaigns.

    What it went quiet on is less than the sweep, so that its outcome never stands without this.
    """
    if not (again := told["looked_again"]):
        return None
    return f"looked again with {', '.join(again['strategies'])} only, at the snapshot of {again['at']}"


def is_lower_bound(said: Contents) -> bool:
    """Tell whether what was found is a lower bound: the search was cut short, or is known to have missed something."""
    return is_cut_short(said) or bool(missed_by_k(said.told))


def attributes_of(text: str | None) -> dict[str, Any]:
    """Return attributes as JSON text has them, each number that could not be written as JSON again as its text."""
    return dict(json.loads(text, parse_constant=str, parse_float=_number)) if text else {}


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text
