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

    name: Name = Field(description="Its own name: lower-case letters, digits and _, a letter first")
    kind: str = Field(description="How it looks")
    angles: tuple[dict[str, Scalar], ...] = Field(
        default=(),
        description="What varies between rounds, a mapping each; SQL has its values as $name, argv as {angle.KEY}",
    )
    angle_order: Literal["declared", "shuffled"] = Field(
        default="declared", description="Whether angles are taken as declared, or permuted anew for each campaign"
    )
    timeout_s: float = Field(default=120.0, gt=0, description="What still runs after so many seconds is interrupted")
    max_rows: int = Field(default=1_000_000, ge=1, description="What gives more rows is cut off, and counts as not run")
    needs: tuple[str, ...] = Field(
        default=(), description="Patterns: where a file that matches cannot be read, the strategy does not run"
    )
    proves_absence: StrictBool = Field(
        default=True, description="Whether not seeing a finding again is evidence that it is fixed"
    )

    def asked(self, round: int) -> bool:
        """Tell whether this strategy is part of a round; all but scripted ones always are."""
        return True

    @property
    def worst(self) -> Usage:
        """What one call of it uses at most."""
        return ONE_CALL


class SqlStrategy(Strategy):
    """One SELECT over the snapshot's tables; the values of the angle are bound as ``$name``."""

    kind: Literal["sql"] = Field(description="One SELECT over the snapshot's tables")
    query: Query = Field(description="The SELECT, in a file")


class OutsideStrategy(Strategy):
    """What strategies declare whose search happens where drysweep cannot see it: in a child process, or far away.

    ``deterministic``: the same material and angle give the same findings, whatever the seed and the round. What is not
    declared to be so is taken for left to chance; and since what is asked may change unnoticed, not seeing a finding
    again is no evidence, unless declared.
    """

    deterministic: StrictBool = Field(
        default=False,
        description="Whether the same material and angle give the same findings, whatever the seed and the round",
    )
    proves_absence: StrictBool = Field(
        default=False,
        description="Whether not seeing a finding again is evidence that it is fixed; here it has to be said",
    )


class ChildStrategy(InAChild, OutsideStrategy):
    """What strategies declare that search in a child process."""


class CommandStrategy(ChildStrategy):
    """A program that prints findings, a JSON object a line or as a SARIF log; ``argv`` meets no shell."""

    kind: Literal["command"] = Field(description="A program that prints findings")
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        min_length=1,
        description="The program and its arguments; no shell reads them; {material}, {seed}, {angle.KEY} are filled in",
    )
    format: Literal["jsonl", "sarif"] = Field(
        default="jsonl", description="What it prints: a JSON object a line, or a SARIF log"
    )
    ok_exit_codes: tuple[Annotated[StrictInt, Field(ge=0, le=255)], ...] = Field(
        default=(0,), min_length=1, description="Exit codes that say that it ran to its end"
    )
    allow_bare: StrictBool = Field(default=False, description="Whether a SARIF log without invocations counts as whole")

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

    kind: Literal["python"] = Field(description="A function that is called in a child process")
    call: Call = Field(
        description="The function, as module:name; found beside the declaration, in its project, or installed"
    )


class HttpStrategy(Service, OutsideStrategy):
    """A service that is sent the task, and rows of the snapshot where declared, and answers with findings."""

    kind: Literal["http"] = Field(description="A service that is sent the task and answers with findings")
    send: Send | None = Field(default=None, description="Rows of the snapshot that are sent along")


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

    kind: Literal["llm"] = Field(description="A language model that is sent rows and asked what is wrong with them")
    prompt: Prompt = Field(description="What it is asked, in a file")
    send: Send = Field(description="The rows of the snapshot that it is sent")
    choices: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default_factory=dict, description="The values that it may give for a field of the fingerprint"
    )
    deterministic: Literal[False] = Field(default=False, description="Never: a model leaves what it says to chance")
    proves_absence: Literal[False] = Field(
        default=False, description="Never: what a model does not say again is no evidence"
    )

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

    kind: Literal["scripted"] = Field(description="Findings written down in advance, for replays")
    rounds: tuple[tuple[dict[str, Any], ...] | Literal["not_run"] | None, ...] = Field(
        default=(), description="What it finds, a list a round; not_run fails, null is not asked"
    )

    def asked(self, round: int) -> bool:
        """Tell whether the script has an entry for this round."""
        return round <= len(self.rounds) and self.rounds[round - 1] is not None


AnyStrategy = Annotated[
    SqlStrategy | CommandStrategy | PythonStrategy | HttpStrategy | LlmStrategy | ScriptedStrategy,
    Field(discriminator="kind"),
]
