"""A whole sweep as it is declared, its rules, ceilings and schedule."""

import re
from typing import Annotated, Literal
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
from drysweep_pipeline.declaration.model.strategies import AnyStrategy, LlmStrategy
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
    tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1), AfterValidator(_can_identify)
]


class Fingerprint(Part):
    """The fields that make a finding the same finding, in this order."""

    fields: IdentityFields


class Convergence(Part):
    """When a search has gone quiet: the rule, K, and what must have been tried."""

    rule: Rule = Rule.DRY
    k: StrictInt = Field(default=2, json_schema_extra={"minimum": 2})
    blocking: tuple[Severity, ...] = (Severity.BLOCKER, Severity.MAJOR)
    cover: Literal["none", "all_angles"] = "none"
    suspected_churn: Literal["log", "ask"] = "log"

    @field_validator("k")
    @classmethod
    def _is_more_than_one(cls, k: int) -> int:
        if k < 2:
            raise not_allowed(f"convergence.k must be 2 or more, got {k}", "a single quiet round is noise")
        return k


class Budget(Part):
    """Ceilings, all fixed before a campaign starts; calls are finder and judge calls together."""

    rounds: StrictInt = Field(ge=1)
    calls: StrictInt = Field(ge=1)
    tokens: StrictInt | None = Field(default=None, ge=1)
    cost_usd: float | None = Field(default=None, gt=0)
    minutes: float | None = Field(default=None, gt=0)
    on_exceeded: Literal["stop", "ask"] | None = None


class Schedule(Part):
    """When the sweep starts a campaign by itself."""

    cron: str
    timezone: str = "UTC"
    if_waiting: Literal["skip", "queue", "supersede"] = "skip"

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

    mode: Literal["hash", "mask", "off"] = "hash"
    env: tuple[EnvironmentName, ...] = ()
    plain: tuple[EnvironmentName, ...] = ()


def models_of(who: Part | None) -> tuple[Model, ...]:
    """Return the models that a strategy or a judge asks."""
    if isinstance(who, LlmJudge):
        return who.each
    return (who,) if isinstance(who, LlmStrategy) else ()


class Sweep(Part):
    """A declared search."""

    name: Name
    description: str = ""
    owners: tuple[str, ...] = ()
    material: AnyMaterial
    fingerprint: Fingerprint
    strategies: tuple[AnyStrategy, ...] = Field(min_length=1)
    judge: AnyJudge = NoJudge()
    convergence: Convergence = Convergence()
    budget: Budget
    turns: Literal["auto", "manual"] = "auto"
    fixed_by: Literal["person", "evidence"] = "person"
    schedule: Schedule | None = None
    canaries: Canaries | None = None
    redaction: Redaction = Redaction()

    @field_validator("canaries")
    @classmethod
    def _can_be_met(cls, canaries: Canaries | None, info: ValidationInfo) -> Canaries | None:
        material, fingerprint = info.data.get("material"), info.data.get("fingerprint")
        strategies = info.data.get("strategies", ())
        if canaries is None or material is None or fingerprint is None or not strategies:
            return canaries
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
