"""What the history must say of a home, said a second time: from the landed files alone, in plain Python.

It shares no code with the product and remembers nothing: every question is answered by going through all that was
landed again, in the order of the instants at which it was taken in. It knows dry campaigns of one snapshot, without
canaries or churn, whose files are what was landed.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]
Place = tuple[datetime, int, int]
_LEADS_TO = {
    "fix": "fixed",
    "contest": "contested",
    "accept_risk": "accepted_risk",
    "decline": "declined",
    "escalate": "escalated",
    "withdraw": "open",
}
_EVENTS = {
    "fix": "finding_fixed",
    "contest": "finding_contested",
    "accept_risk": "risk_accepted",
    "decline": "finding_declined",
    "escalate": "finding_escalated",
    "confirm": "finding_confirmed",
}
_WITHDRAWN = {
    "fixed": "fix_withdrawn",
    "contested": "contest_withdrawn",
    "accepted_risk": "risk_withdrawn",
    "declined": "decline_withdrawn",
}
_ANSWERED = {"accept": "accepted", "redraft": "returned", "stop": "stopped"}
_PAYLOAD = ("severity", "subject", "kind", "scope", "title", "path", "line", "owner", "evidence", "attributes")
_SEVERITIES = ("blocker", "major", "minor", "nit")
OPEN = ("open", "reopened", "escalated")
_CALM = ("contested", "accepted_risk", "rejected")
SETTLED = ("contested", "accepted_risk", "declined", "rejected")


@dataclass(frozen=True)
class Life:
    """A state that a finding took: from which place on, when that was known, who moved it and why."""

    state: str
    place: Place
    known_at: datetime
    by: str | None = None
    reason: str | None = None
    expires: date | None = None
    revision: str | None = None


@dataclass
class Round:
    """A decided round as it was landed."""

    campaign: "Campaign"
    number: int
    folder: Path

    @cached_property
    def manifest(self) -> Row:
        return _json(self.folder / "manifest.json")

    @cached_property
    def intake(self) -> Row:
        return dict(_json(self.folder / "decision.json")["intake"])

    @cached_property
    def decision(self) -> Row:
        return dict(_json(self.folder / "decision.json")["decision"])

    @cached_property
    def rows(self) -> list[Row]:
        files = [run["file"]["name"] for run in self.manifest["runs"] if run["file"]]
        return [row for name in files for row in _parquet(self.folder / name)]

    @cached_property
    def verdicts(self) -> list[Row]:
        return sorted(_parquet(self.folder / "verdicts.parquet"), key=lambda row: str(row["fp"]))

    @cached_property
    def used(self) -> Row:
        lines = (self.folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()
        told = [json.loads(line) for line in lines]
        settled = [each for each in told if "settle" in each]
        assert len(settled) * 2 == len(told), "no call was lost"
        return {key: sum(each[key] for each in settled) for key in ("calls", "tokens", "cost_usd")}

    @property
    def place(self) -> Place:
        return (self.campaign.as_of, self.campaign.seq, self.number)

    @property
    def taken_at(self) -> datetime:
        return _at(self.intake["taken_at"])

    @property
    def decided_at(self) -> datetime:
        return _at(self.decision["decided_at"])

    @property
    def judged_at(self) -> datetime:
        path = self.folder / "judged.json"
        return _at(_json(path)["at"]) if path.exists() else self.decided_at

    @property
    def not_run(self) -> list[Row]:
        return [run for run in self.manifest["runs"] if run["status"] != "ok"]

    def payload(self, fp: str) -> Row:
        """Return what the worst report of a finding says; of equals, that of the first strategy and row."""
        said = [row for row in self.rows if str(row["fp"]) == fp]
        worst = min(said, key=lambda row: (_SEVERITIES.index(row["severity"]), row["strategy"], row["row"]))
        return {name: worst[name] for name in _PAYLOAD}


@dataclass
class Campaign:
    """A campaign as it was landed."""

    folder: Path

    @cached_property
    def record(self) -> Row:
        return _json(self.folder / "campaign.json")

    @cached_property
    def declared(self) -> Row:
        return dict(json.loads(self.record["declaration"])["sweep"])

    @property
    def id(self) -> str:
        return str(self.record["campaign"])

    @property
    def seq(self) -> int:
        return int(self.record["seq"])

    @property
    def as_of(self) -> datetime:
        return _at(self.record["as_of"])

    @property
    def again(self) -> Row | None:
        found: Row | None = self.record["looked_again"]
        return found

    @cached_property
    def rounds(self) -> list[Round]:
        return [Round(self, int(path.name[1:]), path) for path in sorted(self.folder.glob("r*"))]

    @cached_property
    def actions(self) -> list[Row]:
        return [_json(path) for path in sorted(self.folder.glob("actions/*.json"))]

    @cached_property
    def stands(self) -> tuple[str, str | None, datetime | None]:
        """Outcome, reason and when it ended, None where it has not."""
        told: list[tuple[datetime, Row]] = [(each.decided_at, each.decision["standing"]) for each in self.rounds]
        told += [(_at(each["at"]), each["answer"]) for each in self.actions if each["action"] == "answer"]
        outcome, reason, ended = "running", None, None
        for at, each in sorted(told, key=lambda one: one[0]):
            if "kind" not in each:
                outcome, reason = each["outcome"], each["reason"]
            else:
                outcome = _ANSWERED.get(each["kind"], "running")
                reason = reason if outcome in ("accepted", "returned") else None
            ended = None if outcome in ("running", "needs_decision") else at
        return outcome, reason, ended

    @cached_property
    def raised(self) -> set[str]:
        return {str(row["fp"]) for each in self.rounds for row in each.rows}


@dataclass
class Past:
    """What came of a sweep by a time of recording; all of it without one."""

    sweep: str
    campaigns: list[Campaign]
    until: datetime | None = None
    lives: dict[str, list[Life]] = field(default_factory=dict)
    verdicts: list[Row] = field(default_factory=list)
    events: list[Row] = field(default_factory=list)
    fresh: Counter[Place] = field(default_factory=Counter)
    reopened: Counter[Place] = field(default_factory=Counter)
    rounds: list[Round] = field(default_factory=list)
    _seen: dict[str, Place] = field(default_factory=dict)

    def state(self, fp: str) -> str:
        return self.lives[fp][-1].state if fp in self.lives else "open"

    def verdict(self, fp: str) -> str:
        said = [each["verdict"] for each in self.verdicts if each["fp"] == fp]
        return said[-1] if said else "none"

    def play(self) -> "Past":
        """Go through all steps in the order of their instants."""
        steps = [step for campaign in self.campaigns for step in _steps(campaign)]
        for at, _, kind, campaign, what in sorted(steps, key=lambda step: step[:2]):
            getattr(self, f"_{kind}")(at, campaign, what)
        return self

    def _intake(self, at: datetime, campaign: Campaign, round: Round) -> None:
        before = [fp for fp, place in self._seen.items() if place < round.place]
        sighted = {str(row["fp"]) for row in round.rows}
        self.fresh[round.place] = len(sighted - set(before))
        for fp in sighted:
            self._seen[fp] = min(self._seen.get(fp, round.place), round.place)
        self.rounds.append(round)
        self._run_out(at, campaign, round)
        for run in round.not_run:
            self._log(at, "finder_not_run", campaign, round.number, actor=run["strategy"], reason=run["reason"])
        seq = campaign.again["seq"] if campaign.again else campaign.seq
        for fp in sorted(sighted):
            if self.state(fp) == "fixed" and self.lives[fp][-1].place < (campaign.as_of, seq, 0):
                self.lives[fp].append(Life("reopened", round.place, at))
                self.reopened[round.place] += 1
                self._log(at, "finding_reopened", campaign, round.number, fp)

    def _run_out(self, at: datetime, campaign: Campaign, round: Round) -> None:
        for fp in sorted(self.lives) if campaign.again is None else ():
            expires = self.lives[fp][-1].expires
            if self.state(fp) == "accepted_risk" and expires is not None and expires < campaign.as_of.date():
                self.lives[fp].append(Life("open", round.place, at))
                self._log(at, "acceptance_expired", campaign, round.number, fp)

    def _judged(self, at: datetime, campaign: Campaign, round: Round) -> None:
        for row in round.verdicts:
            said = {name: row[name] for name in ("fp", "verdict", "reason", "judge", "calls")}
            self._say(said, campaign, round.number, round.decided_at)

    def _say(self, said: Row, campaign: Campaign, round: int, known_at: datetime) -> None:
        told = {"campaign": campaign.id, "round": round, "ord": len(self.verdicts) + 1, "known_at": known_at}
        self.verdicts.append({**said, "fp": str(said["fp"]), **told})

    def _decision(self, at: datetime, campaign: Campaign, round: Round) -> None:
        stands = round.decision["standing"]
        if stands["reason"] in ("rounds", "calls"):
            self._log(at, "budget_exceeded", campaign, round.number, reason=stands["reason"])
        if stands["outcome"] == "needs_decision":
            self._log(at, "decision_requested", campaign, round.number, reason=stands["reason"])
        if stands["outcome"] == "failed":
            lost = sorted(run["strategy"] for run in round.not_run)
            self._log(at, "campaign_failed", campaign, round.number, reason=f"not_run: {', '.join(lost)}")

    def _action(self, at: datetime, campaign: Campaign, action: Row) -> None:
        round = action["after_round"]
        if action["action"] == "answer":
            said = action["answer"]
            name = {"stop": "campaign_stopped", "resume": "campaign_resumed"}.get(said["kind"])
            name = name or f"decision_{said['kind']}"
            self._log(at, name, campaign, round, actor=said["by"], reason=said["reason"])
            return
        for done in action["deeds"]:
            self._do(at, campaign, round, (campaign.as_of, campaign.seq, action["frozen"]), done)

    def _do(self, at: datetime, campaign: Campaign, round: int, place: Place, done: Row) -> None:
        fp, deed, was = done["fp"], done["deed"], self.state(done["fp"])
        expires = date.fromisoformat(deed["expires"]) if deed["expires"] else None
        if deed["act"] == "confirm":
            said = {"fp": fp, "verdict": "confirmed", "reason": deed["reason"], "judge": f"person:{deed['by']}"}
            self._say({**said, "calls": 0}, campaign, round, at)
        else:
            revision = deed["revision"] if deed["act"] == "fix" else None
            life = Life(_LEADS_TO[deed["act"]], place, at, deed["by"], deed["reason"], expires, revision)
            self.lives.setdefault(fp, []).append(life)
        name = _WITHDRAWN[was] if deed["act"] == "withdraw" else _EVENTS[deed["act"]]
        more = {"evidence": deed["evidence"], "verified": done["verified"], "expires": expires}
        self._log(at, name, campaign, round, fp, actor=deed["by"], reason=deed["reason"], **more)

    def _log(self, at: datetime, name: str, campaign: Campaign, round: int, fp: str | None = None, **more: Any) -> None:
        empty = dict.fromkeys(("actor", "reason", "evidence", "verified", "expires"))
        told = {"seq": len(self.events) + 1, "at": at, "name": name, "campaign": campaign.id, "round": round, "fp": fp}
        self.events.append({**told, **empty, **more})


def _steps(campaign: Campaign) -> Iterator[tuple[datetime, int, str, Campaign, Any]]:
    """Yield (instant, order among those of one instant, kind, campaign, what) of all that a campaign landed."""
    for round in campaign.rounds:
        yield round.taken_at, 0, "intake", campaign, round
        yield round.judged_at, 1, "judged", campaign, round
        yield round.decided_at, 2, "decision", campaign, round
    for action in campaign.actions:
        yield _at(action["at"]), 3, "action", campaign, action


def _json(path: Path) -> Row:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _parquet(path: Path) -> list[Row]:
    found: list[Row] = pq.read_table(path).to_pylist()
    return found


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


class Oracle:
    """The answers of every view and macro about one sweep of a home."""

    def __init__(self, home: Path, sweep: str) -> None:
        folders = sorted((home / "sweeps" / sweep / "landing").iterdir())
        self.campaigns = sorted((Campaign(folder) for folder in folders), key=lambda each: each.seq)
        self.sweep = sweep
        self.past = Past(sweep, self.campaigns).play()
        self.rounds = sorted(self.past.rounds, key=lambda each: each.place)
        self.by_id = {each.id: each for each in self.campaigns}

    def label(self, fp: str) -> str:
        said = next(row["identity"] for each in self.rounds for row in each.rows if str(row["fp"]) == fp)
        return "/".join(str(value) for value in json.loads(said)[1:])

    # -- views ------------------------------------------------------------------------------------------------------

    def view_campaigns(self) -> list[Row]:
        return [self._campaign(each) for each in self.campaigns]

    def _campaign(self, each: Campaign) -> Row:
        outcome, reason, ended = each.stands
        stands, last = each.rounds[-1].decision["standing"], each.rounds[-1].manifest
        judged = Counter(self.past.verdict(fp) for fp in each.raised)
        used = {key: sum(round.used[key] for round in each.rounds) for key in ("calls", "tokens", "cost_usd")}
        return {
            "campaign": each.id,
            "as_of": each.as_of,
            "seq": each.seq,
            "outcome": outcome,
            "reason": reason,
            "k": each.record["overrides"]["k"] or each.declared["convergence"]["k"],
            "rule": each.declared["convergence"]["rule"],
            "rounds": len(each.rounds),
            "quiet": _quiet_at_the_end([self._is_quiet(round) for round in each.rounds]),
            "repeats": stands["repeats"],
            "missed_by_k": None,
            "looked_again": each.again["campaign"] if each.again else None,
            "strategies": [one["name"] for one in each.declared["strategies"]] if each.again else None,
            "seen": len(each.raised),
            **{word: judged[word] for word in ("confirmed", "rejected", "undecided")},
            "unjudged": judged["unjudged"] + judged["none"],
            **used,
            "seconds": stands["spent"]["minutes"] * 60,
            "snapshot": last["snapshot"],
            "declaration": each.record["digest"],
            "not_searched": last["not_searched"],
            "started_at": _at(each.record["started_at"]),
            "ended_at": ended,
        }

    def _is_quiet(self, round: Round) -> bool:
        return not (round.not_run or self.past.fresh[round.place] or self.past.reopened[round.place])

    def view_rounds(self) -> list[Row]:
        return [self._round(each) for each in self.rounds]

    def _round(self, each: Round) -> Row:
        stands, result = each.decision["standing"], each.decision["result"]
        before = each.campaign.rounds[: each.number]
        earlier = before[-2].decision["standing"]["spent"]["minutes"] if each.number > 1 else 0
        return {
            "campaign": each.campaign.id,
            "as_of": each.campaign.as_of,
            "seq": each.campaign.seq,
            "round": each.number,
            "complete": not each.not_run,
            "quiet": self._is_quiet(each),
            "repeat": result["repeat"] and self._is_quiet(each),
            "fresh": self.past.fresh[each.place],
            "reopened": self.past.reopened[each.place],
            "blocking": 0,
            "rows": len(each.rows),
            "distinct_findings": len({row["fp"] for row in each.rows}),
            **each.used,
            "seconds": (stands["spent"]["minutes"] - earlier) * 60,
            "tripped": each.manifest["tripped"],
            "snapshot": each.manifest["snapshot"],
            "not_searched": each.manifest["not_searched"],
            "quiet_in_a_row": _quiet_at_the_end([self._is_quiet(one) for one in before]),
            "outcome": stands["outcome"],
            "reason": stands["reason"],
            "campaign_outcome": each.campaign.stands[0],
            "taken_at": each.taken_at,
            "decided_at": each.decided_at,
        }

    def view_strategy_runs(self) -> list[Row]:
        runs = [(each, run) for each in self.rounds for run in each.manifest["runs"]]
        return [self._run(each, run, attempt) for each, run in runs for attempt in run["attempts"]]

    def _run(self, each: Round, run: Row, attempt: Row) -> Row:
        last = attempt is run["attempts"][-1]
        return {
            "campaign": each.campaign.id,
            "round": each.number,
            "strategy": run["strategy"],
            **{name: attempt[name] for name in ("attempt", "status", "reason", "seconds")},
            "angle": json.dumps(run["angle"], sort_keys=True),
            "rows": run["file"]["rows"] if run["file"] and last else 0,
            **attempt["usage"],
            "isolation": run["isolation"],
            "canaries_expected": None,
            "canaries_seen": None,
            "outcome": each.campaign.stands[0],
        }

    def view_sightings(self) -> list[Row]:
        found = []
        for each in self.rounds:
            hits = Counter((str(row["fp"]), row["strategy"]) for row in each.rows)
            for (fp, strategy), count in hits.items():
                whose = {"campaign": each.campaign.id, "round": each.number, "hits": count}
                when = {"as_of": each.campaign.as_of, "seq": each.campaign.seq, "outcome": each.campaign.stands[0]}
                found.append({"fp": fp, "strategy": strategy, **whose, **when})
        return found

    def view_verdicts(self) -> list[Row]:
        return [
            {**{name: value for name, value in each.items() if name != "known_at"}, "label": self.label(each["fp"])}
            for each in self.past.verdicts
        ]

    def view_events(self) -> list[Row]:
        return [{**each, "label": self.label(each["fp"]) if each["fp"] else None} for each in self.past.events]

    def view_strategy_yield(self) -> list[Row]:
        return [row for campaign in self.campaigns for row in self._yield(campaign)]

    def _yield(self, campaign: Campaign) -> Iterator[Row]:
        runs = [run for each in campaign.rounds for run in each.manifest["runs"]]
        who: dict[str, set[str]] = {run["strategy"]: set() for run in runs}
        for row in (row for each in campaign.rounds for row in each.rows):
            who[row["strategy"]].add(str(row["fp"]))
        for name, mine in who.items():
            others = set().union(*(theirs for other, theirs in who.items() if other != name))
            attempts = [one for run in runs if run["strategy"] == name for one in run["attempts"]]
            used = {key: sum(one["usage"][key] for one in attempts) for key in ("calls", "tokens", "cost_usd")}
            alone = len(mine - others)
            yield {
                "campaign": campaign.id,
                "strategy": name,
                "found": len(mine),
                "unique_found": alone,
                "shared": len(mine) - alone,
                "rejected": sum(self.past.verdict(fp) == "rejected" for fp in mine),
                **used,
                "seconds": sum(one["seconds"] for one in attempts),
                "cost_per_unique": used["cost_usd"] / alone if alone else None,
                "calls_per_unique": used["calls"] / alone if alone else None,
                "canaries_expected": None,
                "canaries_seen": None,
                "isolation": ", ".join(sorted({run["isolation"] for run in runs if run["strategy"] == name})),
                "outcome": campaign.stands[0],
            }

    def view_angles(self) -> list[Row]:
        return [
            self._angle(campaign, strategy["name"], position, angle)
            for campaign in self.campaigns
            for strategy in campaign.declared["strategies"]
            for position, angle in enumerate(strategy.get("angles") or [{}], start=1)
        ]

    def _angle(self, campaign: Campaign, name: str, position: int, angle: Row) -> Row:
        ran = [
            run["status"] == "ok"
            for each in campaign.rounds
            for run in each.manifest["runs"]
            if run["strategy"] == name and run["angle"] == angle
        ]
        whose = {"campaign": campaign.id, "strategy": name, "position": position, "outcome": campaign.stands[0]}
        return {**whose, "angle": json.dumps(angle, sort_keys=True), "looked": sum(ran), "not_run": len(ran) - sum(ran)}

    def view_all_findings(self) -> list[Row]:
        return self._findings(self.rounds, self.past.verdicts, self.past.lives)

    def view_findings(self) -> list[Row]:
        return _told(self.view_all_findings())

    def view_open_findings(self) -> list[Row]:
        newest = max(each.as_of for each in self.campaigns)
        found = [row for row in self.view_findings() if row["state"] in OPEN]
        ages = [{"age": newest - row["first_as_of"]} for row in found]
        return [{**row, **age, "age_days": age["age"].days} for row, age in zip(found, ages, strict=True)]

    # -- macros -----------------------------------------------------------------------------------------------------

    def all_findings_as_of(self, t: datetime) -> list[Row]:
        lives = {fp: [life for life in each if life.place[0] <= t] for fp, each in self.past.lives.items()}
        return self._findings([each for each in self.rounds if each.place[0] <= t], self.past.verdicts, lives)

    def findings_as_of(self, t: datetime) -> list[Row]:
        return _told(self.all_findings_as_of(t))

    def all_findings_known_at(self, t: datetime) -> list[Row]:
        lives = {fp: [life for life in each if life.known_at <= t] for fp, each in self.past.lives.items()}
        said = [each for each in self.past.verdicts if each["known_at"] <= t]
        return self._findings([each for each in self.rounds if each.taken_at <= t], said, lives)

    def findings_known_at(self, t: datetime) -> list[Row]:
        return _told(self.all_findings_known_at(t))

    def new_between(self, a: datetime, b: datetime) -> list[Row]:
        return [row for row in self.view_findings() if a < row["first_as_of"] <= b]

    def published(self) -> list[Row]:
        rounds = [each for each in self.rounds if each.campaign.again is None]
        last = rounds[-1]
        stands = {"campaign": last.campaign.id, "round": last.number, "as_of": last.campaign.as_of}
        return [{**stands, "outcome": last.campaign.stands[0], "rounds": len(rounds)}]

    def _findings(self, rounds: list[Round], verdicts: list[Row], lives: dict[str, list[Life]]) -> list[Row]:
        """Return where findings stand by these rounds, in order, verdicts and lives."""
        fps = dict.fromkeys(str(row["fp"]) for each in rounds for row in each.rows)
        looked = sorted({each.place[:2] for each in rounds if each.campaign.again is None})
        return [self._finding(fp, rounds, looked, verdicts, lives.get(fp, [])) for fp in fps]

    def _finding(
        self, fp: str, rounds: list[Round], looked: list[tuple[datetime, int]], verdicts: list[Row], lives: list[Life]
    ) -> Row:
        mine = [each for each in rounds if any(str(row["fp"]) == fp for row in each.rows)]
        first, last = mine[0], mine[-1]
        said = [each["verdict"] for each in verdicts if each["fp"] == fp]
        verdict = said[-1] if said else "none"
        life = lives[-1] if lives else Life("open", first.place, first.taken_at)
        pairs = {(each.place, row["strategy"]) for each in mine for row in each.rows if str(row["fp"]) == fp}
        hidden = life.state == "open" and verdict in ("rejected", "undecided")
        return {
            "fp": fp,
            "label": self.label(fp),
            "status": verdict if hidden else life.state,
            "state": life.state,
            "verdict": verdict,
            **last.payload(fp),
            "expires": life.expires,
            "fixed_revision": life.revision,
            "state_by": life.by,
            "state_reason": life.reason,
            "first_campaign": first.campaign.id,
            "first_round": first.number,
            "first_as_of": first.campaign.as_of,
            "last_campaign": last.campaign.id,
            "last_round": last.number,
            "last_as_of": last.campaign.as_of,
            "sightings": len(pairs),
            "strategies": sorted({strategy for _, strategy in pairs}),
            "not_observed": sum(each > last.place[:2] for each in looked),
            "outcome": last.campaign.stands[0],
        }

    def campaign_diff(self, a: str, b: str) -> list[Row]:
        return [row for each in self.view_findings() if (row := self._difference(each, self.by_id[a], self.by_id[b]))]

    def _difference(self, now: Row, a: Campaign, b: Campaign) -> Row | None:
        fp, first = now["fp"], self.by_id[now["first_campaign"]]
        in_a, in_b = fp in a.raised, fp in b.raised
        by_a = (first.as_of, first.seq) <= (a.as_of, a.seq)
        # What people did after a stands at its last round, and so was done between the two.
        end_of_a = (a.as_of, a.seq, len(a.rounds))
        status_a = self._status(fp, end_of_a)
        before_b, by_b = self._status(fp, (b.as_of, b.seq, 0)), self._status(fp, (b.as_of, b.seq, 10**6))
        if not (in_a or in_b or (by_a and self._state(fp, end_of_a) in OPEN)):
            return None
        events = [each for each in self.past.events if each["fp"] == fp]
        reopened = any(each["name"] == "finding_reopened" and each["campaign"] == b.id for each in events)
        if reopened:
            change = "reopened"
        elif in_b:
            change = "still_there" if by_a else "fresh"
        elif by_b == "fixed":
            change = "gone"
        else:
            change = "not_observed" if before_b in OPEN or by_b in OPEN else "settled"
        again = None
        if change == "still_there" and by_b not in SETTLED:
            again = self._again(events, a, b, status_a, before_b, by_b)
        said = {name: now[name] for name in ("fp", "label", "status", "severity", "title", "path", "line")}
        return {
            **said,
            "change": change,
            "open_again": again,
            "raised_from": self._raised_from(now, a, b) if in_b and by_a and by_b not in _CALM else None,
            "sighted_in_a": in_a,
            "sighted_in_b": in_b,
            "looked_for": None if in_b else b.stands[0] == "converged" and self._looked_for(fp, b),
            "campaign_a": a.id,
            "as_of_a": a.as_of,
            "outcome_a": a.stands[0],
            "campaign_b": b.id,
            "as_of_b": b.as_of,
            "outcome_b": b.stands[0],
            "apart": b.as_of - a.as_of,
            "days_apart": (b.as_of.date() - a.as_of.date()).days,
        }

    def _raised_from(self, now: Row, a: Campaign, b: Campaign) -> str | None:
        """How bad a finding was in a and just before it, where it was worse at the end of b and is now."""
        said = [
            (each.place[:2], _SEVERITIES.index(each.payload(now["fp"])["severity"]))
            for each in sorted(self.rounds, key=lambda each: each.place)
            if any(str(row["fp"]) == now["fp"] for row in each.rows)
        ]
        when_a, when_b = ((each.as_of, each.seq) for each in (a, b))
        then = min([bad for at, bad in said if at < when_a][-1:] + [bad for at, bad in said if at == when_a])
        later = [bad for at, bad in said if at <= when_b][-1]
        return _SEVERITIES[then] if max(later, _SEVERITIES.index(now["severity"])) < then else None

    def _again(
        self, events: Iterable[Row], a: Campaign, b: Campaign, status_a: str, before_b: str, by_b: str
    ) -> str | None:
        for each in events:
            where = self.by_id[each["campaign"]]
            between = (a.as_of, a.seq) < (where.as_of, where.seq) <= (b.as_of, b.seq)
            if each["name"] in ("acceptance_expired", "acceptance_lapsed") and between:
                return "expired"
        for was in (status_a, before_b):
            if was in SETTLED:
                return was
        return "fixed" if "fixed" in (status_a, before_b) and by_b != "fixed" else None

    def _looked_for(self, fp: str, b: Campaign) -> bool:
        """Whether b ran a strategy that sighted it before, at that angle, on material it was never sighted on."""
        before = [each for each in self.rounds if each.place[:2] < (b.as_of, b.seq)]
        seen = {
            (run["strategy"], json.dumps(run["angle"], sort_keys=True), each.manifest["snapshot"])
            for each in before
            for run in each.manifest["runs"]
            if any(str(row["fp"]) == fp and row["strategy"] == run["strategy"] for row in each.rows)
        }
        there = {snapshot for _, _, snapshot in seen}
        return any(
            (run["strategy"], json.dumps(run["angle"], sort_keys=True)) in {one[:2] for one in seen}
            and run["status"] == "ok"
            and each.manifest["snapshot"] not in there
            for each in b.rounds
            for run in each.manifest["runs"]
        )

    def _state(self, fp: str, end: Place) -> str:
        lives = [life.state for life in self.past.lives.get(fp, []) if life.place < end]
        return lives[-1] if lives else "open"

    def _status(self, fp: str, end: Place) -> str:
        """Return rejected or the state, by what stands before a place; a judge's word on its last round is known."""
        said = [each["verdict"] for each in self.past.verdicts if each["fp"] == fp and self._spoken_before(each, end)]
        state = self._state(fp, end)
        return "rejected" if state == "open" and said and said[-1] == "rejected" else state

    def _spoken_before(self, said: Row, end: Place) -> bool:
        where = self.by_id[said["campaign"]]
        place = (where.as_of, where.seq, said["round"])
        return place < end or (place == end and not said["judge"].startswith("person:"))


def _quiet_at_the_end(rounds: list[bool]) -> int:
    return next((count for count, quiet in enumerate(reversed(rounds)) if not quiet), len(rounds))


def _told(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["status"] != "rejected"]
