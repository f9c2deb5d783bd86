"""Which finding is meant by a fingerprint, the beginning of one, or a label; and how it was sighted last."""

import unicodedata
from dataclasses import dataclass, replace
from uuid import UUID

from drysweep_pipeline import landing
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.history import history
from drysweep_pipeline.history.reading import rows
from drysweep_pipeline.ledger import Ledger, lives
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import Severity

_SHORTEST = 6
_NAMED = """
    select fp, label
    from published.payload
    where
        sweep = $sweep
        and (label = $name or cast(fp as varchar) = lower($name)
            or ($may_begin and starts_with(cast(fp as varchar), lower($name))))
    order by label = $name desc, label
    limit 6
"""
_SIGHTED = """
    select fp, severity, scope, path, subject
    from read_parquet($1)
    where fp = cast($2 as uuid)
    order by {rank}, strategy, row
    limit 1
""".format(rank="case severity when 'blocker' then 0 when 'major' then 1 when 'minor' then 2 else 3 end")


@dataclass(frozen=True, slots=True)
class Sighted:
    """A finding as a round sighted it at worst."""

    fp: UUID
    label: str
    severity: Severity
    scope: str
    path: str | None = None
    subject: str | None = None


def sighted(ledger: Ledger, campaign: Campaign, name: str) -> Sighted:
    """Return a finding as the campaign sighted it last, else as the sweep's other campaigns did.

    Raises ``NotFound`` where nothing was sighted under this name, ``Refused`` where several findings have it.
    """
    fp, label = _meant(campaign, name)
    for at in lives.sighted_in(ledger, fp, campaign.id):
        looked = campaign if at.campaign == campaign.id else load(campaign.home.home, campaign.home.name, at.campaign)
        return replace(sighted_in_round(looked, at.round, fp), label=label)
    raise NotFound("finding", name)


def sighted_in_round(campaign: Campaign, round: int, fp: UUID) -> Sighted:
    """Return a finding as one round sighted it at worst. Raises ``NotFound`` where its landed files do not have it."""
    files = [str(file) for file in landing.readable(campaign.folder(round))]
    with scratch() as connection:
        found = connection.execute(_SIGHTED, [files, str(fp)]).fetchall() if files else []
    if not found:
        raise NotFound("finding", f"{fp} in round {campaign.key(round)}")
    fp, severity, scope, path, subject = found[0]
    return Sighted(fp, str(fp), Severity(severity), scope, path, subject)


def _meant(campaign: Campaign, name: str) -> tuple[UUID, str]:
    wanted = unicodedata.normalize("NFC", name.strip())
    parameters = {"sweep": campaign.home.name, "name": wanted, "may_begin": len(wanted) >= _SHORTEST}
    with history(campaign.home.home) as connection:
        found = rows(connection, _NAMED, parameters)
    whole = [row for row in found if wanted == row["label"] or wanted.lower() == str(row["fp"])] or found
    if not whole:
        raise NotFound("finding", name, _like(campaign, wanted))
    if len(whole) > 1:
        those = ", ".join(str(row["fp"]) for row in whole[:5])
        raise Refused(
            f"{name!r} names several findings", help=f"name the one that is meant by its fingerprint: {those}"
        )
    return whole[0]["fp"], whole[0]["label"]


_LIKE = """
    select label
    from published.payload
    where sweep = $sweep
    order by jaro_winkler_similarity(label, $name) desc, label
    limit 3
"""


def _like(campaign: Campaign, name: str) -> list[str]:
    with history(campaign.home.home) as connection:
        return [row["label"] for row in rows(connection, _LIKE, {"sweep": campaign.home.name, "name": name})]
