"""Strategies as they are declared, a class a kind."""

import json
from typing import Annotated, Any, Literal

from pydantic import (
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from drysweep_pipeline.declaration.model.models import Model, Prompt, Terms, most_tokens
from drysweep_pipeline.declaration.model.parts import (
    Call,
    InAChild,
    Name,
    Part,
    Query,
    Scalar,
    Send,
    is_filled_in,
    not_allowed,
)
from drysweep_pipeline.declaration.model.services import Service
from drysweep_pipeline.programs import filled, placeholders
from drysweep_pipeline.values import ONE_CALL, Usage


class Strategy(Part):
    """What every strategy declares, whatever its kind."""

    name: Name
    kind: str
    angles: tuple[dict[str, Scalar], ...] = ()
    angle_order: Literal["declared", "shuffled"] = "declared"
    timeout_s: float = Field(default=120.0, gt=0)
    max_rows: int = Field(default=1_000_000, ge=1)
    needs: tuple[str, ...] = ()
    proves_absence: StrictBool = True

    def asked(self, round: int) -> bool:
        """Tell whether this strategy is part of a round; all but scripted ones always are."""
        return True

    @property
    def worst(self) -> Usage:
        """What one call of it uses at most."""
        return ONE_CALL


class SqlStrategy(Strategy):
    """One SELECT over the snapshot's tables; the values of the angle are bound as ``$name``."""

    kind: Literal["sql"]
    query: Query


class OutsideStrategy(Strategy):
    """What strategies declare whose search happens where drysweep cannot see it: in a child process, or far away.

    ``deterministic``: the same material and angle give the same findings, whatever the seed and the round. What is not
    declared to be so is taken for left to chance; and since what is asked may change unnoticed, not seeing a finding
    again is no evidence, unless declared.
    """

    deterministic: StrictBool = False
    proves_absence: StrictBool = False


class ChildStrategy(InAChild, OutsideStrategy):
    """What strategies declare that search in a child process."""


class CommandStrategy(ChildStrategy):
    """A program that prints findings, a JSON object a line or as a SARIF log; ``argv`` meets no shell."""

    kind: Literal["command"]
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    format: Literal["jsonl", "sarif"] = "jsonl"
    ok_exit_codes: tuple[Annotated[StrictInt, Field(ge=0, le=255)], ...] = Field(default=(0,), min_length=1)
    allow_bare: StrictBool = False

    @field_validator("argv")
    @classmethod
    def _can_be_filled_in(cls, argv: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        angles = info.data.get("angles", ())
        for index, word in enumerate(argv):
            for name in placeholders([word]):
                is_filled_in(name, angles, at=(index,))
        return argv

    @field_validator("allow_bare")
    @classmethod
    def _is_about_a_log(cls, allow_bare: bool, info: ValidationInfo) -> bool:
        if allow_bare and info.data.get("format") == "jsonl":
            raise not_allowed("allow_bare is for format: sarif", "JSON lines always end with the mark of the end")
        return allow_bare


class PythonStrategy(ChildStrategy):
    """A function, ``module:name``, that is called with the material, the angle and a generator of random numbers."""

    kind: Literal["python"]
    call: Call


class HttpStrategy(Service, OutsideStrategy):
    """A service that is sent the task, and rows of the snapshot where declared, and answers with findings."""

    kind: Literal["http"]
    send: Send | None = None


def query_of(strategy: Strategy) -> Query | None:
    """Return the SQL that a strategy searches with, or that says what is sent for it; None where there is none."""
    if isinstance(strategy, SqlStrategy):
        return strategy.query
    send = getattr(strategy, "send", None)
    return send.query if isinstance(send, Send) else None


def names_in_argv(strategy: Strategy) -> list[str]:
    """Return the placeholders in the argv of a strategy; none where it has no argv."""
    return placeholders(strategy.argv) if isinstance(strategy, CommandStrategy) else []


class LlmStrategy(OutsideStrategy, Model, Terms):
    """A model that is asked what is wrong with the rows that it is sent.

    ``choices``: the values that it may give for a field of the fingerprint.
    """

    kind: Literal["llm"]
    prompt: Prompt
    send: Send
    choices: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(default_factory=dict)
    deterministic: Literal[False] = False
    proves_absence: Literal[False] = False

    @field_validator("prompt")
    @classmethod
    def _can_be_filled_in(cls, prompt: Prompt, info: ValidationInfo) -> Prompt:
        for name in placeholders([prompt.text]):
            if name.startswith("angle."):
                is_filled_in(name, info.data.get("angles", ()), at=("file",))
        return prompt

    def asks(self, angle: dict[str, Any]) -> str:
        """Return the prompt at an angle."""
        words = {name: value if isinstance(value, str) else json.dumps(value) for name, value in angle.items()}
        return filled([self.prompt.text], {f"angle.{name}": word for name, word in words.items()})[0]

    @property
    def worst(self) -> Usage:
        """What one request uses at most: all that may be sent, and all that may be answered."""
        # A list of choices is told twice, where no provider enforces it.
        allowed = "".join(each for choices in self.choices.values() for each in choices) * 2
        sent = max(most_tokens(self.send, self.asks(angle), allowed) for angle in self.angles or ({},))
        return Usage(1, sent + self.max_output_tokens, self.cost(sent, self.max_output_tokens) or 0.0)


class ScriptedStrategy(Strategy):
    """Findings written down in advance, a list a round; ``not_run`` fails, null is not asked."""

    kind: Literal["scripted"]
    rounds: tuple[tuple[dict[str, Any], ...] | Literal["not_run"] | None, ...] = ()

    def asked(self, round: int) -> bool:
        """Tell whether the script has an entry for this round."""
        return round <= len(self.rounds) and self.rounds[round - 1] is not None


AnyStrategy = Annotated[
    SqlStrategy | CommandStrategy | PythonStrategy | HttpStrategy | LlmStrategy | ScriptedStrategy,
    Field(discriminator="kind"),
]
