"""A campaign: one execution of a sweep, recorded before its first round with its declaration frozen.

``landing/<campaign>/campaign.json`` is the truth of it; the ledger's row and the state file follow from it. Folding
its rounds and people's answers into where it stands lives in ``engine.journal``.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.convergence import Policy
from drysweep_pipeline.declaration import Declaration, freeze_json, thaw_json
from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.engine.state import Driver, State, read_state, write_state
from drysweep_pipeline.errors import DeclarationError, NotFound, Refused
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.ledger import Ledger, journal, open_ledger
from drysweep_pipeline.values import CAMPAIGN_ID, Place, RoundKey

SCHEMA_VERSION = 1
_FILE = "campaign.json"


@dataclass(frozen=True, slots=True)
class Overrides:
    """What a person asked for beside the declaration, for one campaign."""

    k: int | None = None
    rounds: int | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Campaign:
    """One execution of a sweep; ``offset`` is how many rounds of angles the sweep's earlier campaigns took."""

    home: SweepHome
    id: str
    seq: int
    as_of: datetime
    started_at: datetime
    declaration: Declaration
    offset: int = 0
    overrides: Overrides = Overrides()

    @property
    def policy(self) -> Policy:
        """What the campaign agreed to, overrides included."""
        sweep = self.declaration.sweep
        k = self.overrides.k or sweep.convergence.k
        return Policy(sweep.convergence.rule, k, sweep.on_exceeded, sweep.turns, sweep.convergence.cover)

    @property
    def ceilings(self) -> Ceilings:
        """The ceilings it started with, overrides included."""
        budget = self.declaration.sweep.budget
        declared = Ceilings(budget.rounds, budget.calls, budget.tokens, budget.cost_usd, budget.minutes)
        return declared.widened(self.overrides.rounds, self.overrides.calls)

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


def default_id(home: SweepHome, as_of: datetime) -> str:
    """Return the campaign id for an instant: ``YYYYMMDDTHHMMSSZ``, with ``.2`` and so on where it is taken."""
    plain = as_of.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    taken = {path.name for path in _recorded(home)}
    return next(name for n in range(1, len(taken) + 3) if (name := plain if n == 1 else f"{plain}.{n}") not in taken)


def start(
    home: Home,
    declaration: Declaration,
    *,
    as_of: datetime,
    driver: Driver,
    campaign: str | None = None,
    overrides: Overrides = Overrides(),
    now: datetime | None = None,
) -> Campaign:
    """Record a campaign and return it; one that is recorded already under the same declaration is returned as it is.

    Raises ``DeclarationError`` for a bad id or bad overrides, ``Refused`` where the declaration changed meanwhile.
    """
    sweep_home = home.sweep(declaration.sweep.name)
    _check(declaration, overrides)
    with open_ledger(sweep_home.ledger) as ledger:
        name = campaign or default_id(sweep_home, as_of)
        if not CAMPAIGN_ID.fullmatch(name):
            raise DeclarationError(
                f"{name!r} is no campaign id", key="campaign", help=f"ids match {CAMPAIGN_ID.pattern}"
            )
        if (sweep_home.landing(name) / _FILE).exists():
            recorded = _same(load(home, declaration.sweep.name, name), declaration)
        else:
            recorded = _new(sweep_home, declaration, name, as_of, overrides, now or datetime.now(UTC))
        _record(ledger, recorded, driver)
    return recorded


def load(home: Home, sweep: str, campaign: str) -> Campaign:
    """Return a recorded campaign. Raises ``NotFound``."""
    sweep_home = home.sweep(sweep)
    path = sweep_home.landing(campaign) / _FILE
    if not path.exists():
        raise NotFound("campaign", f"{sweep}/{campaign}", [p.name for p in _recorded(sweep_home)][-5:])
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
    )


def campaigns(home: Home, sweep: str) -> list[str]:
    """Return the ids of a sweep's campaigns in the order they were recorded."""
    recorded = [(read_json(path / _FILE)["seq"], path.name) for path in _recorded(home.sweep(sweep))]
    return [name for _, name in sorted(recorded)]


def _recorded(home: SweepHome) -> list[Path]:
    folder = home.root / "landing"
    return sorted(path for path in folder.iterdir() if (path / _FILE).exists()) if folder.is_dir() else []


def _check(declaration: Declaration, overrides: Overrides) -> None:
    file = declaration.path
    if overrides.k is not None and overrides.k < 2:
        raise DeclarationError(f"convergence.k must be 2 or more, got {overrides.k}", file=file, key="convergence.k")
    if overrides.rounds is not None and overrides.rounds < 1:
        raise DeclarationError("a campaign needs at least one round", file=file, key="budget.rounds")
    if overrides.calls is not None and overrides.calls < len(declaration.sweep.asked(1)):
        raise DeclarationError("the ceiling on calls is below one round", file=file, key="budget.calls")


def _same(recorded: Campaign, declaration: Declaration) -> Campaign:
    if recorded.declaration.digest != declaration.digest:
        raise Refused(
            f"campaign {recorded.id} was started under another declaration of {declaration.sweep.name}",
            file=declaration.path,
            help="start a new campaign, or restore the declaration",
        )
    return recorded


def _new(
    home: SweepHome, declaration: Declaration, name: str, as_of: datetime, overrides: Overrides, now: datetime
) -> Campaign:
    earlier = [read_json(path / _FILE) for path in _recorded(home)]
    last = max(earlier, key=lambda data: data["seq"], default=None)
    campaign = Campaign(
        home,
        name,
        last["seq"] + 1 if last else 1,
        as_of.astimezone(UTC),
        now,
        declaration,
        last["offset"] + _rounds_taken(home, last["campaign"]) if last else 0,
        overrides,
    )
    write_json(home.landing(name) / _FILE, _as_json(campaign))
    return campaign


def _rounds_taken(home: SweepHome, campaign: str) -> int:
    state = read_state(home.state(campaign))
    return state.rounds if state else 0


def _as_json(campaign: Campaign) -> dict[str, Any]:
    overrides = campaign.overrides
    return {
        "schema_version": SCHEMA_VERSION,
        "sweep": campaign.home.name,
        "campaign": campaign.id,
        "seq": campaign.seq,
        "as_of": campaign.as_of.isoformat(),
        "started_at": campaign.started_at.isoformat(),
        "offset": campaign.offset,
        "overrides": {"k": overrides.k, "rounds": overrides.rounds, "calls": overrides.calls},
        "digest": campaign.declaration.digest,
        "declaration": freeze_json(campaign.declaration),
    }


def _record(ledger: Ledger, campaign: Campaign, driver: Driver) -> None:
    policy = campaign.policy
    with ledger.transaction():
        journal.record_campaign(
            ledger,
            campaign.id,
            campaign.seq,
            campaign.as_of,
            policy.rule,
            policy.k,
            campaign.declaration.digest,
            campaign.started_at,
        )
    if read_state(campaign.state_path) is None:
        as_of = campaign.as_of.isoformat()
        write_state(
            campaign.state_path,
            State(campaign.home.name, campaign.id, as_of, campaign.seq, driver, k=policy.k),
        )
