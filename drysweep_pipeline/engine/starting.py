"""Starting a campaign: its id, its place in the order, its frozen declaration, recorded once."""

import json
from dataclasses import replace
from datetime import UTC, datetime

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.model import Fingerprint, ScriptedMaterial
from drysweep_pipeline.declaration.reach import reach_problems
from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.engine import behind, standing
from drysweep_pipeline.engine.campaign import (
    FILE,
    NO_OVERRIDES,
    Campaign,
    LookedAgain,
    Overrides,
    as_json,
    campaigns,
    find,
    load,
    ordinary,
    recorded,
)
from drysweep_pipeline.engine.redacting import check_known
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.state import Driver, State, read_state, read_states, write_state
from drysweep_pipeline.errors import DeclarationError, Refused
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.ledger import Ledger, journal, open_ledger
from drysweep_pipeline.material import check_reachable
from drysweep_pipeline.values import CAMPAIGN_ID


def default_id(home: SweepHome, as_of: datetime) -> str:
    """Return the campaign id for an instant: ``YYYYMMDDTHHMMSSZ``, with ``.2`` and so on where it is taken."""
    plain = as_of.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    taken = {path.name for path in recorded(home)}
    return next(name for n in range(1, len(taken) + 3) if (name := plain if n == 1 else f"{plain}.{n}") not in taken)


def id_of(home: SweepHome, asked: str | None, as_of: datetime) -> str:
    """Return the id that is asked for, else the one for an instant. Raises ``DeclarationError`` for what is none."""
    name = asked if asked is not None else default_id(home, as_of)
    if not CAMPAIGN_ID.fullmatch(name):
        raise DeclarationError(f"{name!r} is no campaign id", key="campaign", help=f"ids match {CAMPAIGN_ID.pattern}")
    return name


def start(
    home: Home,
    declaration: Declaration,
    *,
    as_of: datetime,
    driver: Driver,
    campaign: str | None = None,
    overrides: Overrides = NO_OVERRIDES,
    now: datetime | None = None,
    queued: bool = False,
    looked_again: LookedAgain | None = None,
) -> Campaign:
    """Record a campaign and return it; one that is recorded already under the same declaration is returned as it is.

    A ``queued`` one takes its place in the order now, and starts when those recorded before it have ended. One that
    looks again reads the snapshot that ``looked_again`` names, and the material as it is now need not be there.
    Raises ``DeclarationError`` for a bad id, bad overrides or a secret that is not known here, ``MaterialError``
    where the material is out of reach, ``Refused`` where the declaration changed meanwhile, ``IntegrityError`` where
    the ledger lacks what was landed.
    """
    sweep_home = home.sweep(declaration.sweep.name)
    check_overrides(declaration, overrides)
    _check_reach(declaration, home)
    check_known(declaration)
    with open_ledger(sweep_home.ledger) as ledger:
        name = id_of(sweep_home, campaign, as_of)
        if (known := find(home, declaration.sweep.name, name)) is not None:
            behind.check_all_campaigns(ledger, sweep_home)
            recorded = _same(known, declaration, overrides)
        else:
            _same_identity(sweep_home, declaration)
            _mend_last(ledger, sweep_home)
            if looked_again is None:
                _reach_material(declaration, as_of)
            recorded = _new(sweep_home, declaration, name, as_of, overrides, now or datetime.now(UTC), looked_again)
        _record(ledger, recorded, driver, queued)
    return recorded


def released(campaign: Campaign) -> Campaign:
    """Return a queued campaign that starts now, with its angles going on where those before it stopped meanwhile."""
    state = read_state(campaign.state_path)
    if state is None or not state.queued or campaign.folder(1).exists():
        return campaign
    states = [each for each in read_states(campaign.home.root / "state") if not each.looked_again]
    offset = max(campaign.offset, sum(each.rounds for each in states if each.seq < campaign.seq))
    moved = replace(campaign, offset=offset)
    write_json(campaign.home.landing(campaign.id) / FILE, as_json(moved))
    return moved


def _mend_last(ledger: Ledger, home: SweepHome) -> None:
    """Take in what the sweep's last campaign landed and a process did not live to commit."""
    for name in campaigns(home.home, home.name)[-1:]:
        repair(ledger, load(home.home, home.name, name))


def check_overrides(declaration: Declaration, overrides: Overrides) -> None:
    """Raise ``DeclarationError`` where a campaign could not run under a K or ceilings that are asked for."""
    file = declaration.path
    if overrides.k is not None and overrides.k < 2:
        raise DeclarationError(f"convergence.k must be 2 or more, got {overrides.k}", file=file, key="convergence.k")
    if overrides.rounds is not None and overrides.rounds < 1:
        raise DeclarationError("a campaign needs at least one round", file=file, key="budget.rounds")
    if overrides.past is not None and overrides.past < 1:
        raise DeclarationError(f"--past {overrides.past} looks at no round", file=file, key="past", help="1 or more")
    if overrides.calls is not None and overrides.calls < declaration.sweep.price(1):
        raise DeclarationError("the ceiling on calls is below one round", file=file, key="budget.calls")


def _check_reach(declaration: Declaration, home: Home) -> None:
    """Raise ``DeclarationError`` where a strategy or judge is declared to read what lies in the home."""
    for problem in reach_problems(declaration, home.root):
        raise problem


def _reach_material(declaration: Declaration, as_of: datetime) -> None:
    """Raise ``MaterialError`` where the material cannot be reached, so that no campaign is recorded in vain."""
    material = declaration.sweep.material
    if not isinstance(material, ScriptedMaterial):
        check_reachable(material, declaration.base, as_of)


def _same_identity(home: SweepHome, declaration: Declaration) -> None:
    """Raise ``Refused`` where the sweep's earlier campaigns told findings apart by other fields."""
    now = declaration.sweep.fingerprint
    for path in recorded(home)[-1:]:
        before = Fingerprint.model_validate(json.loads(read_json(path / FILE)["declaration"])["sweep"]["fingerprint"])
        if before != now:
            raise Refused(
                f"the ledger of {home.name} tells findings apart by {before.said}, not by {now.said}",
                file=declaration.path,
                key="fingerprint.fields" if before.fields != now.fields else "fingerprint.normalise",
                help="give the sweep another name, or use another home",
            )


def _same(recorded: Campaign, declaration: Declaration, overrides: Overrides) -> Campaign:
    if overrides not in (NO_OVERRIDES, recorded.overrides):
        raise Refused(
            f"campaign {recorded.id} was started with other ceilings or another K",
            key="campaign",
            help="`drysweep resume` widens ceilings; K stays as it was",
        )
    if recorded.declaration.digest != declaration.digest:
        raise Refused(
            f"campaign {recorded.id} was started under another declaration of {declaration.sweep.name}",
            file=declaration.path,
            help="start a new campaign, or restore the declaration",
        )
    return recorded


def _new(
    home: SweepHome,
    declaration: Declaration,
    name: str,
    as_of: datetime,
    overrides: Overrides,
    now: datetime,
    looked_again: LookedAgain | None,
) -> Campaign:
    seq = max((read_json(path / FILE)["seq"] for path in recorded(home)), default=0) + 1
    # Whoever looks again begins with the first angle, and moves nobody else's.
    offset = 0 if looked_again else offset_of_next(home)
    campaign = Campaign(
        home, name, seq, as_of.astimezone(UTC), now, declaration, offset, overrides, looked_again=looked_again
    )
    write_json(home.landing(name) / FILE, as_json(campaign))
    return campaign


def offset_of_next(home: SweepHome) -> int:
    """Return how many rounds of angles the sweep's campaigns took so far."""
    last = next(reversed(ordinary(home)), None)
    return last["offset"] + _rounds_taken(home, last["campaign"]) if last else 0


def _rounds_taken(home: SweepHome, campaign: str) -> int:
    state = read_state(home.state(campaign))
    return state.rounds if state else 0


def _record(ledger: Ledger, campaign: Campaign, driver: Driver, queued: bool) -> None:
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
        as_of, again = campaign.as_of.isoformat(), campaign.looked_again is not None
        begun = State(campaign.home.name, campaign.id, as_of, campaign.seq, driver, k=policy.k, queued=queued)
        write_state(campaign.state_path, replace(begun, looked_again=again))
    standing.publish(ledger, campaign)
