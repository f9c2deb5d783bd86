"""A whole sweep as it is declared, its rules, ceilings and schedule."""

import re
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    Field,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from drysweep_pipeline.declaration.model.canaries import (
    Canaries,
    are_told_apart,
    can_be_expected,
    can_be_planted,
    can_be_reported,
)
from drysweep_pipeline.declaration.model.judges import AnyJudge, LlmJudge, NoJudge
from drysweep_pipeline.declaration.model.materials import AnyMaterial
from drysweep_pipeline.declaration.model.models import Model
from drysweep_pipeline.declaration.model.parts import (
    NOT_REPORTED,
    EnvironmentName,
    Name,
    Part,
    first_repeated,
    not_allowed,
)
from drysweep_pipeline.declaration.model.receivers import AnyReceiver
from drysweep_pipeline.declaration.model.strategies import AnyStrategy, LlmStrategy
from drysweep_pipeline.normalisers import Normaliser
from drysweep_pipeline.values import Rule, Severity

# Minute, hour, day of the month, month, day of the week; Dagster has the last word on the rest of the syntax.
_CRON_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
_CRON_FIELD = re.compile(r"[0-9A-Za-z*/,#-]+")


def _can_identify(fields: tuple[str, ...]) -> tuple[str, ...]:
    repeated = first_repeated(list(fields))
    if repeated is not None:
        raise not_allowed(f"the field {fields[repeated]!r} is named twice", at=(repeated,))
    for index, name in enumerate(fields):
        if name in NOT_REPORTED:
            raise not_allowed(f"no finder reports {name!r}, so it cannot be part of a fingerprint", at=(index,))
    return fields


IdentityFields = Annotated[
    tuple[Annotated[str, Field(min_length=1, json_schema_extra={"not": {"enum": sorted(NOT_REPORTED)}})], ...],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_can_identify),
]


class Fingerprint(Part):
    """The fields that make a finding the same finding, in this order, and what is made alike in them."""

    fields: IdentityFields = Field(
        description="Columns that every finding has, in order; together they make a finding the same finding"
    )
    normalise: dict[str, Annotated[tuple[Normaliser, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="What is made alike in the texts of a field, before anything else is done"
    )

    @field_validator("normalise")
    @classmethod
    def _are_of_fields(cls, normalise: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        fields = info.data.get("fields", tuple(normalise))
        for name in normalise:
            if name not in fields:
                raise not_allowed(
                    f"{name!r} is no field of the fingerprint", f"the fields are {', '.join(fields)}", (name,)
                )
        return normalise

    @property
    def said(self) -> str:
        """The fields, and what is made alike in them, for a sentence."""
        alike = {name: f" ({', '.join(names)})" for name, names in self.normalise.items()}
        return ", ".join(f"{name}{alike.get(name, '')}" for name in self.fields)


class Convergence(Part):
    """When a search has gone quiet: the rule, K, and what must have been tried."""

    rule: Rule = Field(
        default=Rule.DRY,
        description="dry: nothing new was found; clean: nothing blocking was raised that is not settled",
    )
    k: StrictInt = Field(
        default=2, json_schema_extra={"minimum": 2}, description="How many quiet rounds in a row converge"
    )
    blocking: tuple[Severity, ...] = Field(
        default=(Severity.BLOCKER, Severity.MAJOR),
        min_length=1,  # where nothing blocks, every round is clean, whatever it raises
        description="The severities that keep a round from being clean",
    )
    cover: Literal["none", "all_angles"] = Field(
        default="none", description="all_angles: every angle must have been used on this snapshot as well"
    )
    suspected_churn: Literal["log", "ask"] = Field(
        default="log", description="Whether suspected churn is only recorded, or a person is asked"
    )

    @field_validator("k")
    @classmethod
    def _is_more_than_one(cls, k: int) -> int:
        if k < 2:
            raise not_allowed(f"convergence.k must be 2 or more, got {k}", "a single quiet round is noise")
        return k


class Budget(Part):
    """Ceilings, all fixed before a campaign starts; calls are finder and judge calls together."""

    rounds: StrictInt = Field(ge=1, description="The most rounds")
    calls: StrictInt = Field(ge=1, description="The most calls, of strategies and of the judge together")
    tokens: StrictInt | None = Field(default=None, ge=1, description="The most tokens")
    cost_usd: float | None = Field(default=None, gt=0, description="The most US dollars")
    minutes: float | None = Field(default=None, gt=0, description="The most minutes of looking and judging")
    on_exceeded: Literal["stop", "ask"] | None = Field(
        default=None,
        description="Whether a ceiling ends the campaign (a dry one, unless given) or a person decides (a clean one)",
    )


class Schedule(Part):
    """When the sweep starts a campaign by itself."""

    cron: str = Field(description="When: minute, hour, day of the month, month, day of the week")
    timezone: str = Field(default="UTC", description="Whose clock, by its IANA name")
    if_waiting: Literal["skip", "queue", "supersede"] = Field(
        default="skip", description="What a tick does while an earlier campaign runs or waits for a person"
    )

    @field_validator("cron")
    @classmethod
    def _has_five_fields(cls, cron: str) -> str:
        parts = cron.split()
        if len(parts) != len(_CRON_LIMITS) or not all(_CRON_FIELD.fullmatch(part) for part in parts):
            raise not_allowed(f"{cron!r} is not a cron schedule", 'five fields are expected, such as "0 6 * * *"')
        for part, (low, high) in zip(parts, _CRON_LIMITS, strict=True):
            # The number after a slash is a step, the one after # a week; neither is a time.
            numbers = [int(number) for number in re.findall(r"(?<![0-9/#])[0-9]+", part)]
            if any(not low <= number <= high for number in numbers):
                raise not_allowed(f"{part!r} is not between {low} and {high} in the cron schedule {cron!r}")
        return cron

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError):
            help = "names are those of the IANA database, such as Europe/Berlin"
            raise not_allowed(f"there is no time zone {timezone!r}", help) from None
        return timezone


class Redaction(Part):
    """How secrets are made unreadable before anything is written, and which variables hold some, or hold none.

    ``env``: variables that hold secrets, beside those that strategies, judges and material name. ``plain``: those of
    them that hold none.
    """

    mode: Literal["hash", "mask", "off"] = Field(
        default="hash",
        description="hash: equal secrets get equal marks; mask: all get the same one; off: none is masked",
    )
    env: tuple[EnvironmentName, ...] = Field(
        default=(), description="Variables that hold secrets, beside those that are named elsewhere"
    )
    plain: tuple[EnvironmentName, ...] = Field(default=(), description="Variables named elsewhere that hold no secret")


def models_of(who: Part | None) -> tuple[Model, ...]:
    """Return the models that a strategy or a judge asks."""
    if isinstance(who, LlmJudge):
        return who.each
    return (who,) if isinstance(who, LlmStrategy) else ()


class Sweep(Part):
    """A declared search."""

    name: Name = Field(description="Its name: lower-case letters, digits and _, a letter first, at most 63 long")
    description: str = Field(default="", description="One line for people")
    owners: tuple[str, ...] = Field(
        default=(), description="Owners as Dagster knows them: team:platform, or an address"
    )
    material: AnyMaterial = Field(description="What is searched")
    fingerprint: Fingerprint = Field(description="Which fields make a finding the same finding")
    strategies: tuple[AnyStrategy, ...] = Field(
        min_length=1, description="The ways of looking, each blind to the others"
    )
    judge: AnyJudge = Field(default=NoJudge(), description="Who says whether a finding is one")
    convergence: Convergence = Field(default=Convergence(), description="When the search has gone quiet")
    budget: Budget = Field(description="The ceilings, all fixed before a campaign starts")
    turns: Literal["auto", "manual"] = Field(
        default="auto", description="manual: each further round waits for a go-ahead"
    )
    fixed_by: Literal["person", "evidence"] = Field(
        default="person", description="evidence: what a later campaign of a dry sweep provably no longer sees is fixed"
    )
    schedule: Schedule | None = Field(default=None, description="When campaigns start by themselves")
    canaries: Canaries | None = Field(default=None, description="Known problems to plant in a copy of the material")
    redaction: Redaction = Field(
        default=Redaction(), description="How secrets are masked, and which variables hold some"
    )
    notify: tuple[AnyReceiver, ...] = Field(default=(), description="Who is told what a campaign came to")

    @field_validator("canaries")
    @classmethod
    def _can_be_met(cls, canaries: Canaries | None, info: ValidationInfo) -> Canaries | None:
        material, fingerprint = info.data.get("material"), info.data.get("fingerprint")
        strategies = info.data.get("strategies", ())
        if canaries is None or material is None or fingerprint is None or not strategies:
            return canaries
        if fingerprint.normalise:
            what = "canaries are not for a sweep whose fingerprint has normalise"
            raise not_allowed(what, "a planted name that is rewritten is no longer known for one")
        can_be_planted(canaries, material)
        for index, canary in enumerate(canaries.expect):
            can_be_reported(canary, index, fingerprint.fields)
            can_be_expected(canary, index, strategies)
        are_told_apart(canaries.expect, fingerprint.fields)
        return canaries

    @field_validator("strategies")
    @classmethod
    def _have_names_of_their_own(cls, strategies: tuple[AnyStrategy, ...]) -> tuple[AnyStrategy, ...]:
        names = [strategy.name for strategy in strategies]
        repeated = first_repeated(names)
        if repeated is not None:
            first = names.index(names[repeated])
            raise not_allowed(f"strategies[{first}] is named {names[repeated]!r} as well", at=(repeated, "name"))
        return strategies

    @property
    def on_exceeded(self) -> str:
        """What a ceiling does: a dry search stops, a clean one asks, unless declared otherwise."""
        if self.budget.on_exceeded is not None:
            return self.budget.on_exceeded
        return "ask" if self.convergence.rule is Rule.CLEAN else "stop"

    @field_validator("strategies")
    @classmethod
    def _choose_for_fields(cls, strategies: tuple[AnyStrategy, ...], info: ValidationInfo) -> tuple[AnyStrategy, ...]:
        known = info.data["fingerprint"].fields if "fingerprint" in info.data else ()
        for index, strategy in enumerate(strategies):
            for name in strategy.choices if isinstance(strategy, LlmStrategy) and known else ():
                if name not in known:
                    help = f"the fields are {', '.join(known)}"
                    raise not_allowed(f"{name!r} is no field of the fingerprint", help, (index, "choices", name))
        return strategies

    @field_validator("budget")
    @classmethod
    def _can_be_kept(cls, budget: Budget, info: ValidationInfo) -> Budget:
        """Refuse a ceiling on money where something is asked that nobody knows the price of."""
        asked = (*info.data.get("strategies", ()), info.data.get("judge"))
        for model in (each for who in asked for each in models_of(who)):
            if budget.cost_usd is not None and model.cost(1, 1) is None:
                what = f"the price of {model.model} is not known, so that no ceiling on it can be kept"
                raise not_allowed(what, "declare its price, or no cost_usd", at=("cost_usd",))
        return budget

    def asked(self, round: int) -> tuple[AnyStrategy, ...]:
        """Return the strategies that take part in a round, in declared order."""
        return tuple(strategy for strategy in self.strategies if strategy.asked(round))

    def price(self, round: int) -> int:
        """Return the calls that the strategies of a round take at most, without any retry."""
        return sum(strategy.worst.calls for strategy in self.asked(round))
