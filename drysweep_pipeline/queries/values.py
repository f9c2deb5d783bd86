"""The values of a named query's parameters: as they were given, or what its defaults stand for in a history.

``only`` is the sweep, where there is one; ``latest`` its newest campaign that has a decided round, in the order
(as_of, seq), those that looked again left out; ``previous`` the one before that, or before the latest that was given.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.history.reading import rows
from drysweep_pipeline.queries import NamedQuery, Parameter

_CAMPAIGNS = "select sweep, campaign, rounds, looked_again from campaigns order by sweep, as_of, seq"


def values(connection: Any, query: NamedQuery, given: Mapping[str, str]) -> dict[str, Any]:
    """Return what each parameter is bound to; a campaign may be given as SWEEP/ID.

    Raises ``Refused`` for a parameter that the query lacks or a value of the wrong kind, and ``NotFound`` where the
    history has no such sweep or campaign.
    """
    known = {parameter.name: parameter for parameter in query.parameters}
    for name in given:
        if name not in known:
            help = f"it takes {', '.join(known)}" if known else "it takes none"
            raise Refused(f"{query.name} has no parameter {name}", key=name, help=help)
    if not any(parameter.default in ("only", "latest", "previous") for parameter in query.parameters):
        return {name: _plain(parameter, given.get(name)) for name, parameter in known.items()}
    return _looked_up(connection, known, dict(given))


def _looked_up(connection: Any, known: Mapping[str, Parameter], given: dict[str, str]) -> dict[str, Any]:
    campaigns = rows(connection, _CAMPAIGNS, [])
    places = [name for name, parameter in known.items() if parameter.default in ("latest", "previous")]
    sweep = _sweep(campaigns, given, places)
    mine = [row for row in campaigns if row["sweep"] == sweep]
    for name in places:
        if name in given:
            given[name] = _campaign(mine, sweep, given[name])
    found: dict[str, Any] = {}
    # The latest comes first, since the one before it depends on it.
    for name, parameter in sorted(known.items(), key=lambda item: item[1].default == "previous"):
        if parameter.default == "only":
            found[name] = sweep
        elif parameter.default in ("latest", "previous") and name not in given:
            latest = next((found[n] for n in found if known[n].default == "latest"), None)
            found[name] = _newest(mine, sweep, before=latest if parameter.default == "previous" else None)
        else:
            found[name] = _plain(parameter, given.get(name))
    return {name: found[name] for name in known}


def _sweep(campaigns: list[dict[str, Any]], given: Mapping[str, str], places: Iterable[str]) -> str:
    """Return the sweep that is asked about: as given, that of a campaign that was, or the only one there is."""
    sweeps = sorted({row["sweep"] for row in campaigns})
    if "sweep" in given:
        if given["sweep"] not in sweeps:
            raise NotFound("sweep", given["sweep"], sweeps)
        return given["sweep"]
    named = {sweep for place in places if place in given for sweep in _having(campaigns, given[place])}
    candidates = sorted(named) or sweeps
    if not candidates:
        raise NotFound("campaign", "of any sweep")
    if len(candidates) > 1:
        raise Refused(f"there are {len(candidates)} sweeps", key="sweep", help=f"say which: {_choices(candidates)}")
    return candidates[0]


def _having(campaigns: list[dict[str, Any]], campaign: str) -> set[str]:
    sweep, _, name = campaign.rpartition("/")
    return {sweep} if sweep else {row["sweep"] for row in campaigns if row["campaign"] == name}


def _campaign(mine: list[dict[str, Any]], sweep: str, given: str) -> str:
    """Return the id of a campaign given as [SWEEP/]ID. Raises ``NotFound`` where the sweep has none of that id."""
    name = given.removeprefix(f"{sweep}/")
    names = [row["campaign"] for row in mine]
    if name not in names:
        raise NotFound(f"campaign of {sweep}", name, names[::-1])
    return name


def _newest(mine: list[dict[str, Any]], sweep: str, before: str | None) -> str:
    names = [
        row["campaign"] for row in mine if (row["rounds"] and row["looked_again"] is None) or row["campaign"] == before
    ]
    if before is not None:
        names = names[: names.index(before)]
    if not names:
        what = f"{sweep} has no campaign before {before}" if before else f"{sweep} has no campaign with a decided round"
        raise Refused(what, help="there is nothing to ask about yet")
    return str(names[-1])


def _plain(parameter: Parameter, given: str | None) -> Any:
    """Return a value of the kind of the parameter's default, or that default. Raises ``Refused`` for another kind."""
    if given is None:
        if parameter.default is None:
            help = f"-p {parameter.name}=VALUE: {parameter.meaning}"
            raise Refused(f"{parameter.name} has to be given", key=parameter.name, help=help)
        return parameter.literal
    if not isinstance(parameter.literal, int):
        return given
    try:
        return int(given)
    except ValueError:
        raise Refused(f"{given!r} is no whole number", key=parameter.name, help=parameter.meaning) from None


def _choices(sweeps: list[str]) -> str:
    return ", ".join(f"-p sweep={sweep}" for sweep in sweeps)
