"""A campaign's journal on disk: its decided rounds and what people answered, folded into where it stands.

``decision.json`` of a round is written in two steps: at intake with what was fresh, at the decision with the rest. The
fold reads all of a campaign's rounds every time, so a round that is run again cannot turn the clock back.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from drysweep_pipeline.budget import Budget, Spent
from drysweep_pipeline.convergence import Answer, RoundResult, Standing, after_answer, after_round
from drysweep_pipeline.durable import read_json, sha256_of, write_json
from drysweep_pipeline.engine.campaign import Campaign

DECISION = "decision.json"
CALLS = "calls.jsonl"
JUDGED = "judged.json"


@dataclass(frozen=True, slots=True)
class Lapsed:
    """An accepted risk that lapsed, since the file that it was accepted for is another one: why, and what it is now."""

    fp: str
    reason: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Landed:
    """What a round's first intake found, as landed: fingerprints that were fresh, and what it did to lives.

    ``spoilt`` are strategies whose landed file was not what had been landed, with why. Before these three were landed
    they were worked out each time, and are None.
    """

    fresh: tuple[str, ...]
    reopened: tuple[str, ...]
    taken_at: str
    expired: tuple[str, ...] | None = None
    lapsed: tuple[Lapsed, ...] | None = None
    spoilt: dict[str, str] | None = None
    again_at: str | None = None
    """When a later process took it in, where the one that found it did not live to; that is its place among others."""

    @property
    def committed_at(self) -> datetime:
        """When it came into the ledger."""
        return datetime.fromisoformat(self.again_at or self.taken_at)


def write_landed(campaign: Campaign, round: int, landed: Landed) -> None:
    """Land what intake found fresh; who takes in again what was landed says so, and changes nothing else."""
    write_json(campaign.folder(round) / DECISION, {"round": round, "intake": asdict(landed)})


def read_landed(campaign: Campaign, round: int) -> Landed | None:
    """Return what the round's first intake found, or None where there was none yet."""
    path = campaign.folder(round) / DECISION
    if not path.exists():
        return None
    data = read_json(path)["intake"]
    expired, lapsed = data.get("expired"), data.get("lapsed")
    return Landed(
        tuple(data["fresh"]),
        tuple(data["reopened"]),
        data["taken_at"],
        None if expired is None else tuple(expired),
        None if lapsed is None else tuple(Lapsed(**each) for each in lapsed),
        data.get("spoilt"),
        data.get("again_at"),
    )


def write_judged(campaign: Campaign, round: int, at: datetime) -> None:
    """Land that a round's verdicts are taken in now: what a person said before that stands.

    A later process that does it again, where the one before did not live to, takes the place among others.
    """
    write_json(campaign.folder(round) / JUDGED, {"at": at.isoformat()})


def judged_at(campaign: Campaign, round: int) -> datetime | None:
    """Return when a round's verdicts were taken in, or None where that was not landed."""
    path = campaign.folder(round) / JUDGED
    return datetime.fromisoformat(read_json(path)["at"]) if path.exists() else None


def write_decision(campaign: Campaign, result: RoundResult, standing: Standing, at: datetime) -> None:
    """Land a round's decision beside what its intake found."""
    path = campaign.folder(result.round) / DECISION
    calls = campaign.folder(result.round) / CALLS
    decided = {
        "decided_at": at.isoformat(),
        # What was spent is decided with the round, and is appended to no more.
        "calls_sha256": sha256_of(calls) if calls.exists() else None,
        "result": {**asdict(result), "asked": sorted(result.asked), "not_run": sorted(result.not_run)},
        "standing": asdict(standing),
    }
    write_json(path, {**read_json(path), "decision": decided})


def read_result(campaign: Campaign, round: int) -> RoundResult | None:
    """Return what a round was decided on, or None where it was not decided yet."""
    path = campaign.folder(round) / DECISION
    decision = read_json(path).get("decision") if path.exists() else None
    if decision is None:
        return None
    data = decision["result"]
    return RoundResult(
        **{
            **data,
            "asked": frozenset(data["asked"]),
            "not_run": frozenset(data["not_run"]),
            "spent": Spent(**data["spent"]),
        }
    )


def decided_at(campaign: Campaign, round: int) -> datetime | None:
    """Return when a round was decided, or None where it was not decided yet."""
    path = campaign.folder(round) / DECISION
    decision = read_json(path).get("decision") if path.exists() else None
    return None if decision is None else datetime.fromisoformat(decision["decided_at"])


def stands_since(campaign: Campaign, rounds: int) -> datetime:
    """Return when a campaign with so many decided rounds came to stand where it stands: by its last round or answer."""
    said = [action for action in read_actions(campaign) if action["action"] == "answer"]
    answered = [datetime.fromisoformat(each["at"]) for each in said if each["after_round"] == rounds]
    return answered[-1] if answered else decided_at(campaign, rounds) or campaign.started_at


def write_action(campaign: Campaign, number: int, action: dict[str, Any]) -> None:
    """Land something that a person did, under its number in the order of the campaign's actions."""
    write_json(campaign.home.actions(campaign.id) / f"{number:06d}.json", action)


def read_actions(campaign: Campaign) -> list[dict[str, Any]]:
    """Return what people did in a campaign, in order."""
    folder = campaign.home.actions(campaign.id)
    return [read_json(path) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []


def answers_of(campaign: Campaign) -> dict[int, list[Answer]]:
    """Return what people answered a campaign, in order, by the round after which they did."""
    answers: dict[int, list[Answer]] = {}
    for action in read_actions(campaign):
        if action["action"] == "answer":
            answers.setdefault(action["after_round"], []).append(Answer(**action["answer"]))
    return answers


def standing(campaign: Campaign) -> Standing:
    """Return where a campaign stands, from all its decided rounds and all answers."""
    return _folded(campaign, None)


def stood(campaign: Campaign) -> list[Standing]:
    """Return every place where a campaign ever stood, in order; the last is where it stands."""
    return list(_stood(campaign, None))


def at_first(campaign: Campaign) -> Standing:
    """Return where a campaign stood when it was recorded, before anything was done or said."""
    return Standing(campaign.ceilings, price=campaign.declaration.sweep.price(1))


def standing_before(campaign: Campaign, round: int) -> Standing:
    """Return where a campaign stood when a round began."""
    return _folded(campaign, round - 1)


def budget_of(campaign: Campaign, round: int) -> Budget:
    """Return the money of a round: its ceilings, what was spent before it, and what its journal says."""
    before = standing_before(campaign, round)
    free = round <= before.free_until
    return Budget(None if free else before.ceilings, before.spent, campaign.folder(round) / CALLS)


def spent(campaign: Campaign) -> Spent:
    """Return what a campaign has spent: in its decided rounds, and in the one that is under way or never was decided.

    Calls that are under way, or whose process died, count at the worst.
    """
    now = standing(campaign)
    return now.spent.plus(budget_of(campaign, now.rounds + 1).used)


def _folded(campaign: Campaign, until: int | None) -> Standing:
    *_, now = _stood(campaign, until)
    return now


def _stood(campaign: Campaign, until: int | None) -> Iterator[Standing]:
    now = at_first(campaign)
    yield now
    answers = answers_of(campaign)
    while True:
        for said in answers.get(now.rounds, []):
            now, _ = after_answer(now, said)
            yield now
        result = None if now.rounds == until else read_result(campaign, now.rounds + 1)
        if result is None:
            return
        now, _ = after_round(now, campaign.policy, result)
        yield now
