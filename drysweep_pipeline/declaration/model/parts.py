"""What every part of a declaration is made of: names, queries, what runs in a child, and how a validator refuses."""

import re
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from drysweep_pipeline.values import MOST_USED, SWEEP_NAME, Usage

_NAME_HELP = "a name has lower-case letters, digits and _, begins with a letter, and is at most 63 long"
# What editors say in place of the pattern.
Name = Annotated[str, Field(pattern=rf"^{SWEEP_NAME.pattern}$", json_schema_extra={"patternErrorMessage": _NAME_HELP})]
Scalar = StrictBool | StrictInt | StrictFloat | str
# What a finder may not report cannot tell one finding from another.
NOT_REPORTED = frozenset({"fingerprint", "verdict", "state", "strategy", "round"})
# An interpreter that imports what reads tables needs about that much.
MIN_MEMORY_MB = 64
# What a child is told by these names is told by drysweep, and where its files lie is none of a child's business.
OWN_VARIABLES = ("DRYSWEEP_", "DAGSTER_")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What is sent to somebody else, or answered by them, is never more.
MOST_SENT = 10**9
_CALL_HELP = "write module:name, such as judging:rule"
_CALL = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
# What is filled into the argv of a strategy, beside ``angle.KEY``.
ARGV_NAMES = ("material", "round", "campaign", "seed")
# Those of them that differ between rounds, or between campaigns.
VARYING = frozenset({"round", "campaign", "seed"})


def not_allowed(what: str, help: str | None = None, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """Return the error of a validator; ``at`` leads from the validated value to the part that is wrong."""
    # As data and not as a template, because what people wrote may hold braces.
    return PydanticCustomError("not_allowed", "{what}", {"what": what, "help": help, "at": at})


def first_repeated(words: list[str]) -> int | None:
    """Return where the first word stands that was there before, or None."""
    return next((index for index, word in enumerate(words) if word in words[:index]), None)


def is_ours_to_pass_on(name: str) -> str:
    """Return the name of a variable that a child may be given. Raises a validator's error otherwise."""
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise not_allowed(f"{name!r} is not the name of an environment variable")
    if name.startswith(OWN_VARIABLES):
        raise not_allowed(f"{name!r} is not passed on", "it may lead a child to what drysweep keeps")
    return name


def _names_a_function(call: str) -> str:
    if not _CALL.fullmatch(call):
        raise not_allowed(f"{call!r} names no function", _CALL_HELP)
    return call


def is_filled_in(name: str, angles: tuple[dict[str, Any], ...], at: tuple[str | int, ...]) -> None:
    """Refuse a placeholder that has no value, at every angle."""
    if name in ARGV_NAMES:
        return
    kind, _, key = name.partition(".")
    if kind != "angle" or not key:
        known = ", ".join(f"{{{each}}}" for each in (*ARGV_NAMES, "angle.KEY"))
        raise not_allowed(f"{{{name}}} is no placeholder", f"there is {known}", at=at)
    if not angles:
        raise not_allowed(f"{{{name}}} has no value: no angles are declared", "declare angles", at=at)
    for number, angle in enumerate(angles):
        if key not in angle:
            what = f"{{{name}}} has no value: angles[{number}] has no key {key!r}"
            raise not_allowed(what, f"it has {', '.join(angle)}" if angle else None, at=at)


# The patterns are for schemas; the validators refuse in words. Editors know letters of the alphabet only as such.
Call = Annotated[
    str,
    AfterValidator(_names_a_function),
    Field(json_schema_extra={"pattern": r"^[^:\s]+:[^:\s]+$", "patternErrorMessage": _CALL_HELP}),
]
EnvironmentName = Annotated[
    str, AfterValidator(is_ours_to_pass_on), Field(json_schema_extra={"pattern": f"^{_ENVIRONMENT_NAME.pattern}$"})
]


class Part(BaseModel):
    """Base of all parts of a declaration: immutable, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Query(Part):
    """SQL kept in a file beside the declaration; ``text`` is filled in when the declaration is read."""

    file: str = Field(description="A UTF-8 file with one SELECT, in the folder of the declaration or below it")
    text: SkipJsonSchema[str] = ""


class Send(Part):
    """Rows of a SELECT over the snapshot, sent to who cannot read it; what is over a cap is refused, never cut.

    ``allow_empty``: that there are none is a look at nothing, and not a query that no longer fits the material.
    """

    query: Query = Field(description="The SELECT whose rows are sent")
    max_rows_sent: StrictInt = Field(
        default=1_000, ge=1, le=MOST_SENT, description="More rows than this are refused, never cut"
    )
    max_chars: StrictInt = Field(
        default=100_000, ge=1, le=MOST_SENT, description="More characters than this are refused, never cut"
    )
    allow_empty: StrictBool = Field(
        default=False, description="Having no rows to send is a look at nothing, and not a strategy that did not run"
    )


class AtMost(Part):
    """What one look or one ruling may use at most; that much is set aside before it begins."""

    calls: StrictInt = Field(
        default=1, ge=1, le=MOST_USED.calls, description="The most calls that one look, or one ruling, is or reports"
    )
    tokens: StrictInt = Field(default=0, ge=0, le=MOST_USED.tokens, description="The most tokens of it")
    cost_usd: float = Field(default=0.0, ge=0, le=MOST_USED.cost_usd, description="The most US dollars of it")

    @property
    def usage(self) -> Usage:
        """The same as what an attempt uses."""
        return Usage(self.calls, self.tokens, self.cost_usd)


class InAChild(Part):
    """What is declared of whatever runs in a child process: what it is given beside its task, and its limits."""

    env: tuple[EnvironmentName, ...] = Field(
        default=(), description="Variables of this environment that it is given as well"
    )
    reads: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        default=(), description="What else it may read, relative to the declaration"
    )
    memory_mb: StrictInt = Field(
        default=4096, ge=MIN_MEMORY_MB, description="The most memory of each of its processes, in MB"
    )
    at_most: AtMost = Field(
        default=AtMost(),
        description="What one look, or one ruling, may use at most; that much is set aside before it begins",
    )

    @property
    def worst(self) -> Usage:
        """What one call of it uses at most, as declared."""
        return self.at_most.usage
