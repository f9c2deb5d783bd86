"""A campaign: one execution of a sweep, recorded before its first round with its declaration frozen.

``landing/<campaign>/campaign.json`` is the truth of it; the ledger's row and the state file follow from it. Folding
its rounds and people's answers into where it stands lives in ``engine.journal``.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.convergence import Policy
from drysweep_pipeline.declaration import Declaration, freeze_json, thaw_json
from drysweep_pipeline.durable import read_json
from drysweep_pipeline.errors import NotFound
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.values import Place, RoundKey

SCHEMA_VERSION = 1
FILE = "campaign.json"


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a person asked for beside the declaration, for one campaign."""

    k: int | None = None
    rounds: int | None = None
    calls: int | None = None
    past: int | None = None
    """How many rounds it looks beyond its convergence, to know what K missed."""


NO_OVERRIDES = Overrides()


@dataclass(frozen=True, slots=True)
class LookedAgain:
    """The earlier campaign whose stored snapshot a campaign looks at again, instead of the material as it is now.

    ``seq`` is that campaign's, ``place`` where its material lay. Some of the sweep's strategies look, others do not.
    """

    campaign: str
    seq: int
    snapshot: str
    not_searched: int
    place: str = ""


@dataclass(frozen=True, slots=True)
class Campaign:
    """One execution of a sweep; ``offset`` is how many rounds of angles the sweep's earlier campaigns took.

    ``looked_again`` is None for all but those that look at a stored snapshot.
    """

    home: SweepHome
    id: str
    seq: int
    as_of: datetime
    started_at: datetime
    declaration: Declaration
    offset: int = 0
    overrides: Overrides = Overrides()
    looked_again: LookedAgain | None = None

    @property
    def policy(self) -> Policy:
        """What the campaign agreed to, overrides included."""
        sweep = self.declaration.sweep
        k = self.overrides.k or sweep.convergence.k
        quiet = sweep.convergence
        return Policy(
            quiet.rule, k, sweep.on_exceeded, sweep.turns, quiet.cover, quiet.suspected_churn, self.overrides.past or 0
        )

    @property
    def ceilings(self) -> Ceilings:
        """The ceilings it started with, overrides included."""
        budget = self.declaration.sweep.budget
        declared = Ceilings(budget.rounds, budget.calls, budget.tokens, budget.cost_usd, budget.minutes)
        return declared.widened(self.overrides.rounds, self.overrides.calls)

    @property
    def name(self) -> str:
        """Its name in a home, as people and commands have it: the sweep, a slash, the id."""
        return f"{self.home.name}/{self.id}"

    def key(self, round: int) -> RoundKey:
        """Return the key of one of its rounds."""
        return RoundKey(self.id, round)

    def place(self, round: int) -> Place:
        """Return the place of one of its rounds in the order of looking."""
        return Place(self.as_of, self.seq, round)

    def folder(self, round: int) -> Path:
        """Return where a round's files lie."""
        return self.home.round(self.key(round))

    @property
    def state_path(self) -> Path:
        """Where the campaign's state file lies."""
        return self.home.state(self.id)


def load(home: Home, sweep: str, campaign: str) -> Campaign:
    """Return a recorded campaign. Raises ``NotFound``."""
    if (found := find(home, sweep, campaign)) is None:
        raise NotFound("campaign", f"{sweep}/{campaign}", [p.name for p in recorded(home.sweep(sweep))][-5:])
    return found


def find(home: Home, sweep: str, campaign: str) -> Campaign | None:
    """Return a recorded campaign, or None where there is no record of it, or none any more."""
    sweep_home = home.sweep(sweep)
    path = sweep_home.landing(campaign) / FILE
    if not path.exists():
        return None
    data = read_json(path)
    return Campaign(
        sweep_home,
        data["campaign"],
        data["seq"],
        datetime.fromisoformat(data["as_of"]),
        datetime.fromisoformat(data["started_at"]),
        thaw_json(data["declaration"]),
        data["offset"],
        Overrides(**data["overrides"]),
        LookedAgain(**data["looked_again"]) if data.get("looked_again") else None,
    )


def campaigns(home: Home, sweep: str) -> list[str]:
    """Return the ids of a sweep's campaigns in the order they were recorded."""
    found = [(read_json(path / FILE)["seq"], path.name) for path in recorded(home.sweep(sweep))]
    return [name for _, name in sorted(found)]


def ordinary(home: SweepHome) -> list[dict[str, Any]]:
    """Return the records of a sweep's campaigns that looked at the material, by sequence; not those that looked again.

    What goes on from campaign to campaign, such as the angles, goes on along these.
    """
    records = [read_json(path / FILE) for path in recorded(home)]
    return sorted((each for each in records if not each.get("looked_again")), key=lambda each: int(each["seq"]))


def recorded(home: SweepHome) -> list[Path]:
    """Return the landing folders of a sweep's recorded campaigns, by name."""
    folder = home.root / "landing"
    return sorted(path for path in folder.iterdir() if (path / FILE).exists()) if folder.is_dir() else []


def as_json(campaign: Campaign) -> dict[str, Any]:
    """Return a campaign's record as it is landed."""
    overrides = campaign.overrides
    return {
        "schema_version": SCHEMA_VERSION,
        "sweep": campaign.home.name,
        "campaign": campaign.id,
        "seq": campaign.seq,
        "as_of": campaign.as_of.isoformat(),
        "started_at": campaign.started_at.isoformat(),
        "offset": campaign.offset,
        "overrides": asdict(overrides),
        "looked_again": asdict(campaign.looked_again) if campaign.looked_again else None,
        "digest": campaign.declaration.digest,
        "declaration": freeze_json(campaign.declaration),
    }
