"""The plan of a round, recorded before it runs: the snapshot that it reads, and what each strategy is asked."""

from dataclasses import asdict, dataclass

from drysweep_pipeline.declaration.model import ScriptedMaterial
from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.tidings import Freezing, Teller
from drysweep_pipeline.engine.watch import plant
from drysweep_pipeline.errors import RoundGap
from drysweep_pipeline.material import Snapshot, freeze, place_of
from drysweep_pipeline.values import Rule
from drysweep_pipeline.variation import Look, look

PLAN = "plan.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round will do, recorded before it runs: the snapshot it reads and what each strategy is asked."""

    round: int
    snapshot: str
    not_searched: int
    looks: tuple[Look, ...]
    place: str = ""
    """Where the material lies; empty where it lies nowhere."""
    planted: str = ""
    """The copy of the snapshot in which canaries are planted; empty where there are none."""


def plan(campaign: Campaign, round: int) -> Plan:
    """Freeze the material if the round needs it, record the round's plan and return it.

    Raises ``RoundGap`` where another round is due, ``MaterialError`` where the material is out of reach.
    """
    recorded = read_plan(campaign, round)
    if recorded is not None:
        return recorded
    check_due(campaign, round)
    digest, not_searched = _snapshot(campaign, round)
    sweep = campaign.declaration.sweep
    looks = tuple(look(s, sweep.name, campaign.id, round, campaign.offset) for s in sweep.asked(round))
    planted = plant(campaign, snapshot_of(campaign, digest)) if sweep.canaries is not None else None
    copy = planted.snapshot.digest if planted is not None else ""
    planned = Plan(round, digest, not_searched, looks, _place(campaign), copy)
    write_json(campaign.folder(round) / PLAN, asdict(planned))
    return planned


def check_due(campaign: Campaign, round: int) -> None:
    """Raise ``RoundGap`` unless the round is the one that is due."""
    due = journal.standing(campaign).due
    if round != due:
        raise RoundGap(campaign.id, round, due)


def read_plan(campaign: Campaign, round: int) -> Plan | None:
    """Return a round's recorded plan, or None."""
    path = campaign.folder(round) / PLAN
    if not path.exists():
        return None
    data = read_json(path)
    return Plan(**{**data, "looks": tuple(Look(**entry) for entry in data["looks"])})


def _place(campaign: Campaign) -> str:
    """Return where the material lies, or lay when it was frozen; empty where it lies nowhere."""
    if campaign.looked_again is not None:
        return campaign.looked_again.place
    material = campaign.declaration.sweep.material
    place = "" if isinstance(material, ScriptedMaterial) else place_of(material, campaign.declaration.base)
    return redactor_of(campaign).distinct(place)


def _snapshot(campaign: Campaign, round: int) -> tuple[str, int]:
    """Return the digest of the snapshot that a round reads, freezing the material where it is due (R16)."""
    if campaign.looked_again is not None:
        return campaign.looked_again.snapshot, campaign.looked_again.not_searched
    sweep = campaign.declaration.sweep
    dry = sweep.convergence.rule is Rule.DRY
    if dry and round > 1:
        first = read_plan(campaign, 1)
        assert first is not None, "a round that is due has a first round before it"
        return first.snapshot, first.not_searched
    if isinstance(sweep.material, ScriptedMaterial):
        return ("scripted" if dry else f"scripted-{campaign.id}-r{round:03d}"), 0
    Teller(campaign.name, round)(Freezing)
    place, home = campaign.home.snapshots, campaign.home.home.root
    frozen = freeze(sweep.material, campaign.declaration.base, campaign.as_of, place, home)
    return frozen.digest, frozen.not_searched


def snapshot_of(campaign: Campaign, digest: str) -> Snapshot | None:
    """Open a round's snapshot; scripted material has none."""
    if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
        return None
    return Snapshot.open(campaign.home.snapshots / digest)
