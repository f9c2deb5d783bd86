"""Scenarios: scripted rounds, what people did after them, and how it must end.

Only the format is known here; whether an action is allowed is for the rules to say when it is played. A finding
that lacks a field of the fingerprint is no error of the format: its finder is ``not_run``.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field, StrictInt, TypeAdapter, ValidationError

from drysweep_pipeline.declaration.model import Convergence, IdentityFields, Name, Part
from drysweep_pipeline.declaration.notation import Day, Instant, Text, instant
from drysweep_pipeline.declaration.refusals import (
    Problem,
    Written,
    did_you_mean,
    first_of,
    in_file_order,
    problems,
    shown,
)
from drysweep_pipeline.declaration.yaml_reader import Keys, read_yaml
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.values import Rule, Severity, Verdict

NOT_RUN = "not_run"
MIN_K = 2
DEFAULT_AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
# What a replay prints, and so what may be expected of it.
EXPECTABLE = (
    *("outcome", "reason", "rounds", "quiet", "new", "seen", "confirmed", "rejected", "undecided", "unjudged"),
    *("calls", "states", "events", "error", "k", "ledger_seen", "not_searched"),
)


@dataclass(frozen=True, slots=True)
class _Acted:
    """What every action keeps: the line it stands on, so that refusing it later can name it."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    line: int | None = field(default=None, kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class Fix(_Acted):
    """The finding was fixed."""

    finding: Text


@dataclass(frozen=True, slots=True)
class Contest(_Acted):
    """Somebody says with evidence that the finding is wrong."""

    finding: Text
    evidence: Text
    by: Text


@dataclass(frozen=True, slots=True)
class AcceptRisk(_Acted):
    """Somebody lives with the finding, until the end of a day where one is given."""

    finding: Text
    by: Text
    expires: Day = None


@dataclass(frozen=True, slots=True)
class Decline(_Acted):
    """The finding was recorded and will not be fixed."""

    finding: Text


@dataclass(frozen=True, slots=True)
class Escalate(_Acted):
    """The finding was handed to a person."""

    finding: Text


@dataclass(frozen=True, slots=True)
class Confirm(_Acted):
    """A person overrules a rejection or a missing verdict."""

    finding: Text
    by: Text


@dataclass(frozen=True, slots=True)
class RevertResolves(_Acted):
    """What the revert test of the next rounds answers for a finding and a fix: yes."""

    finding: Text
    fix: Text


@dataclass(frozen=True, slots=True)
class Go(_Acted):
    """A person lets the next round start."""

    by: Text


@dataclass(frozen=True, slots=True)
class Stop(_Acted):
    """A person stops the campaign."""

    by: Text


@dataclass(frozen=True, slots=True)
class Decide(_Acted):
    """A person's answer to a campaign that waits for one; ``rounds`` goes with ``continue`` alone."""

    choice: Literal["accept", "continue", "redraft"]
    rounds: Annotated[StrictInt, Field(ge=1)] | None = None


Action = Fix | Contest | AcceptRisk | Decline | Escalate | Confirm | RevertResolves | Go | Stop | Decide

ACTIONS: dict[str, type[Action]] = {
    "fix": Fix,
    "contest": Contest,
    "accept_risk": AcceptRisk,
    "decline": Decline,
    "escalate": Escalate,
    "confirm": Confirm,
    "revert_resolves": RevertResolves,
    "go": Go,
    "stop": Stop,
    "decide": Decide,
}
# Actions written as one text, and the field that the text is.
_ONE_TEXT = {"fix": "finding", "decline": "finding", "escalate": "finding", "go": "by", "stop": "by"}


class ScriptBudget(Part):
    """The ceilings of a script, which may leave calls open; a declared sweep may not."""

    rounds: StrictInt = Field(default=10, ge=1)
    calls: StrictInt | None = Field(default=None, ge=1)
    on_exceeded: Literal["stop", "ask"] | None = None


@dataclass(frozen=True, slots=True)
class ScriptedRound:
    """What each finder reports in one round, what the judge says, and what people do once it is decided."""

    finders: dict[str, tuple[dict[str, Any], ...] | Literal["not_run"]]
    verdicts: dict[str, Verdict]
    after: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class ScriptedCampaign:
    """The rounds of one campaign, and what must come of them; ``as_of`` is in UTC."""

    as_of: datetime
    rounds: tuple[ScriptedRound, ...]
    expect: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A policy and the campaigns it is tried on, against one ledger; ``is_list``: the file says ``campaigns``."""

    path: Path
    why: str
    convergence: Convergence
    budget: ScriptBudget
    turns: Literal["auto", "manual"]
    fingerprint: tuple[str, ...]
    campaigns: tuple[ScriptedCampaign, ...]
    is_list: bool

    @property
    def on_exceeded(self) -> Literal["stop", "ask"]:
        """What a ceiling does: a dry search stops, a clean one asks, unless the script says otherwise."""
        return self.budget.on_exceeded or ("ask" if self.convergence.rule is Rule.CLEAN else "stop")


def under(scenario: Scenario, k: int | None, rule: Rule | None) -> Scenario:
    """Return a scenario under another K or rule, where one is given. Raises ``DeclarationError`` for a K below two."""
    if k is not None and k < MIN_K:
        raise DeclarationError(f"convergence.k must be {MIN_K} or more, got {k}", key="convergence.k")
    given = {name: value for name, value in (("k", k), ("rule", rule)) if value is not None}
    return replace(scenario, convergence=scenario.convergence.model_copy(update=given))


class _Round(Part):
    finders: dict[Name, tuple[dict[str, Any], ...] | Literal["not_run"]] = Field(min_length=1)
    verdicts: dict[str, Literal["confirmed", "rejected", "undecided"]] = Field(default_factory=dict)
    after: tuple[dict[str, Any], ...] = ()


class _Campaign(Part):
    as_of: Instant
    rounds: tuple[_Round, ...] = Field(min_length=1)
    expect: dict[str, Any]


class _Script(Part):
    why: Text
    convergence: Convergence = Convergence()
    budget: ScriptBudget = ScriptBudget()
    turns: Literal["auto", "manual"] = "auto"
    fingerprint: IdentityFields = ("subject", "kind")


class _OneCampaign(_Script):
    rounds: tuple[_Round, ...] = Field(min_length=1)
    expect: dict[str, Any]


class _Campaigns(_Script):
    campaigns: tuple[_Campaign, ...] = Field(min_length=1)


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file.

    Raises ``DeclarationError``, with file, line and key, for the first wrong thing, saying how many more there are.
    """
    document = read_yaml(path)
    data = document.data
    if not isinstance(data, dict):
        raise DeclarationError(f"expected a mapping with 'why', 'rounds' and 'expect', got {shown(data)}", file=path)
    is_list = "campaigns" in data
    written = Written(path, data, _Campaigns if is_list else _OneCampaign, document)
    _refuse_both(written)
    refusals = in_file_order(written, _found(written))
    if refusals:
        raise first_of(refusals, validated=False)
    return _scenario(written, is_list)


def _refuse_both(written: Written) -> None:
    """Raise where the keys of one campaign stand beside a list of campaigns."""
    for key in ("rounds", "expect"):
        if "campaigns" in written.data and key in written.data:
            help = "'rounds' and 'expect' then stand in each campaign"
            raise written.refusal((key,), f"{key!r} and 'campaigns' stand side by side", help)


def _found(written: Written) -> list[Problem]:
    try:
        written.model.model_validate(written.data)
    except ValidationError as error:
        return problems(error, written)
    found: list[Problem] = []
    for keys, round_data in _rounds(written.data):
        found += _finding_problems(written, keys, round_data["finders"])
        for index, action in enumerate(round_data.get("after", ())):
            found += _action(written, (*keys, "after", index), action)[1]
    for keys, campaign in _campaigns(written.data):
        found += _expect_problems(written, (*keys, "expect"), campaign["expect"])
    return found


def _campaigns(data: dict[str, Any]) -> list[tuple[Keys, dict[str, Any]]]:
    if "campaigns" in data:
        return [(("campaigns", index), campaign) for index, campaign in enumerate(data["campaigns"])]
    return [((), data)]


def _rounds(data: dict[str, Any]) -> list[tuple[Keys, dict[str, Any]]]:
    return [
        ((*keys, "rounds", index), each)
        for keys, campaign in _campaigns(data)
        for index, each in enumerate(campaign["rounds"])
    ]


def _finding_problems(written: Written, keys: Keys, finders: dict[str, Any]) -> list[Problem]:
    words = [severity.value for severity in Severity]
    found = []
    for name, findings in finders.items():
        for index, finding in enumerate(() if findings == NOT_RUN else findings):
            severity = finding.get("severity", Severity.MAJOR)
            if severity not in words:
                place = (*keys, "finders", name, index, "severity")
                what = f"expected a severity, got {shown(severity)}"
                found.append(Problem(place, written.refusal(place, what, did_you_mean(severity, words))))
    return found


def _expect_problems(written: Written, keys: Keys, expect: dict[str, Any]) -> list[Problem]:
    unknown = [(*keys, key) for key in expect if key not in EXPECTABLE]
    return [
        Problem(place, written.refusal(place, f"unknown key {place[-1]!r}", did_you_mean(place[-1], EXPECTABLE)))
        for place in unknown
    ]


def _action(written: Written, keys: Keys, data: dict[str, Any]) -> tuple[Action | None, list[Problem]]:
    """Return the action that one entry of ``after`` stands for, or what is wrong with it."""
    if len(data) != 1:
        what = f"expected one action, got {len(data)} keys"
        return None, [Problem(keys, written.refusal(keys, what, "each action is an entry of the list by itself"))]
    [(name, body)] = data.items()
    below = (*keys, name)
    if name not in ACTIONS:
        return None, [Problem(below, written.refusal(below, f"unknown action {name!r}", did_you_mean(name, ACTIONS)))]
    spelled = _spelled_out(name, body)
    here = Written(written.file, spelled, ACTIONS[name], written.document, below)
    if isinstance(spelled, dict) and "line" in spelled:
        return None, [Problem((*below, "line"), here.refusal(("line",), "unknown key 'line'"))]
    line = here.document.line(below) if here.document else None
    try:
        action = TypeAdapter[Action](ACTIONS[name]).validate_python(_with_line(spelled, line))
    except ValidationError as error:
        return None, [_as_written(written, below, each) for each in problems(error, here)]
    if isinstance(action, Decide) and action.choice == "continue" and action.rounds is None:
        what, help = "'continue' does not say for how many rounds", "write decide: {continue: 2}"
        return None, [Problem(below, written.refusal(below, what, help))]
    return action, []


def _as_written(written: Written, below: Keys, problem: Problem) -> Problem:
    """Return a problem of a spelled-out action at the key that people wrote."""
    fields = {"choice": (), "rounds": ("continue",)} if below[-1] == "decide" else {}
    short = () if below[-1] in _ONE_TEXT else fields.get(str(problem.keys[-1]) if problem.keys else "", problem.keys)
    place = (*below, *short)
    return Problem(place, written.refusal(place, problem.refusal.what, problem.refusal.help))


def _with_line(spelled: Any, line: int | None) -> Any:
    return {**spelled, "line": line} if isinstance(spelled, dict) else spelled


def _spelled_out(name: str, body: Any) -> Any:
    """Return the body of an action as the mapping of its fields, short forms written out."""
    if name in _ONE_TEXT:
        return {_ONE_TEXT[name]: body}
    if name == "decide":
        if isinstance(body, dict) and list(body) == ["continue"]:
            return {"choice": "continue", "rounds": body["continue"]}
        return {"choice": body}
    return body


def _scenario(written: Written, is_list: bool) -> Scenario:
    script = written.model.model_validate(written.data)
    return Scenario(
        path=written.file,
        why=script.why,
        convergence=script.convergence,
        budget=script.budget,
        turns=script.turns,
        fingerprint=script.fingerprint,
        campaigns=tuple(_campaign(written, keys, each) for keys, each in _campaigns(written.data)),
        is_list=is_list,
    )


def _campaign(written: Written, keys: Keys, data: dict[str, Any]) -> ScriptedCampaign:
    rounds = tuple(_round(written, (*keys, "rounds", index), each) for index, each in enumerate(data["rounds"]))
    return ScriptedCampaign(instant(data.get("as_of", DEFAULT_AS_OF)), rounds, data["expect"])


def _round(written: Written, keys: Keys, data: dict[str, Any]) -> ScriptedRound:
    finders = {
        name: found if found == NOT_RUN else tuple(map(_texts, found)) for name, found in data["finders"].items()
    }
    verdicts = {label: Verdict(word) for label, word in data.get("verdicts", {}).items()}
    acted = [_action(written, (*keys, "after", index), each)[0] for index, each in enumerate(data.get("after", ()))]
    return ScriptedRound(finders, verdicts, tuple(action for action in acted if action is not None))


def _texts(finding: dict[str, Any]) -> dict[str, Any]:
    """Return a finding whose dates are text, as a finder that prints JSON would report them."""
    return {key: value.isoformat() if isinstance(value, date) else value for key, value in finding.items()}
