"""Which finding is meant by a fingerprint, the beginning of one, or a label; and how it was sighted last."""

import re
import unicodedata
from dataclasses import dataclass, replace
from uuid import UUID

from drysweep_pipeline import landing
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.history import history
from drysweep_pipeline.history.reading import rows
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import Ledger, lives
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.spelling import rank
from drysweep_pipeline.values import Severity

_SHORTEST = 6
_DIGITS = re.compile(rf"[0-9a-f]{{{_SHORTEST},32}}")
_TOO_FEW = re.compile(rf"[0-9a-f]{{1,{_SHORTEST - 1}}}")
# A label may be longer, but nobody names by more, and likeness takes the product of two lengths.
_COMPARED = 200
_NAMED = """
    select sweep, fp, label, label = $name as whole
    from published.payload
    where
        ($sweep is null or sweep = $sweep)
        and (label = $name or ($begin is not null and starts_with(replace(cast(fp as varchar), '-', ''), $begin)))
    order by whole desc, sweep, label, fp
    limit 6
"""
_SIGHTED = f"""
    select fp, severity, scope, path, subject
    from read_parquet($1, hive_partitioning = false)
    where fp = cast($2 as uuid)
    order by {rank("severity")}, strategy, row
    limit 1
"""
_LIKE = """
    select label
    from published.payload
    where $sweep is null or sweep = $sweep
    group by label
    order by jaro_winkler_similarity(left(label, $compared), $name) desc, label
    limit 3
"""


@dataclass(frozen=True, slots=True)
class Sighted:
    """A finding as a round sighted it at worst."""

    fp: UUID
    label: str
    severity: Severity
    scope: str
    path: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Meant:
    """The finding that a name means, and the sweep that found it."""

    sweep: str
    fp: UUID
    label: str


def sighted(ledger: Ledger, campaign: Campaign, name: str) -> Sighted:
    """Return a finding as the campaign sighted it last, else as the sweep's other campaigns did.

    Raises ``NotFound`` where nothing was sighted under this name, ``Refused`` where several findings have it.
    """
    named = meant(campaign.home.home, name, campaign.home.name)
    for at in lives.sighted_in(ledger, named.fp, campaign.id):
        looked = campaign if at.campaign == campaign.id else load(campaign.home.home, campaign.home.name, at.campaign)
        return replace(sighted_in_round(looked, at.round, named.fp), label=named.label)
    raise NotFound("finding", short(name))


def sighted_in_round(campaign: Campaign, round: int, fp: UUID) -> Sighted:
    """Return a finding as one round sighted it at worst. Raises ``NotFound`` where its landed files do not have it."""
    files = [str(file) for file in landing.readable(campaign.folder(round))]
    with scratch() as connection:
        found = connection.execute(_SIGHTED, [files, str(fp)]).fetchall() if files else []
    if not found:
        raise NotFound("finding", f"{fp} in round {campaign.key(round)}")
    fp, severity, scope, path, subject = found[0]
    return Sighted(fp, str(fp), Severity(severity), scope, path, subject)


def meant(home: Home, name: str, sweep: str | None = None) -> Meant:
    """Return the finding of a fingerprint, at least six of its first characters, or a label; of one sweep or of any.

    Raises ``NotFound``, naming the nearest labels, or ``Refused`` where several findings or sweeps have the name.
    """
    wanted = unicodedata.normalize("NFC", _storable(name).strip())
    if not home.history.exists():
        raise NotFound("finding", short(name))
    with history(home) as connection:
        found = rows(connection, _NAMED, {"sweep": sweep, "name": wanted, "begin": _beginning(wanted)})
        if not found:
            if _TOO_FEW.fullmatch(wanted.lower()):
                raise NotFound("finding", wanted, help=f"of a fingerprint, give at least {_SHORTEST} characters")
            like = {"sweep": sweep, "name": wanted[:_COMPARED], "compared": _COMPARED}
            raise NotFound("finding", short(name), [short(row["label"]) for row in rows(connection, _LIKE, like)])
    having = [row for row in found if row["whole"]] or found
    if len(having) > 1:
        raise _ambiguous(name, having)
    return Meant(having[0]["sweep"], having[0]["fp"], having[0]["label"])


def short(name: str) -> str:
    """Return a name as a refusal shows it, which may be anything of any length."""
    return name if len(name) <= _COMPARED else hidden(name, _COMPARED) + "…"


def _beginning(wanted: str) -> str | None:
    """Return the hexadecimal digits that a fingerprint has to begin with; None where it is none's beginning."""
    digits = wanted.lower().replace("-", "")
    return digits if _DIGITS.fullmatch(digits) else None


def _storable(name: str) -> str:
    """Return a name whose bytes were text; a terminal hands over those that were not as lone surrogates."""
    return name.encode("utf-8", "replace").decode()


def _ambiguous(name: str, having: list[dict[str, object]]) -> Refused:
    sweeps = sorted({str(row["sweep"]) for row in having})
    if len(sweeps) > 1:
        help = f"say which sweep is meant: {', '.join(sweeps)}"
        return Refused(f"{short(name)!r} names findings of {len(sweeps)} sweeps", help=help)
    those = ", ".join(str(row["fp"]) for row in having[:5])
    return Refused(
        f"{short(name)!r} names several findings", help=f"name the one that is meant by its fingerprint: {those}"
    )
