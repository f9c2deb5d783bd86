"""Judges as they are declared, a class a kind, and their panels."""

from typing import Annotated, Literal

from pydantic import (
    Field,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from drysweep_pipeline.declaration.model.models import (
    Model,
    ModelName,
    Price,
    Prompt,
    ServerAddress,
    Terms,
    most_tokens,
)
from drysweep_pipeline.declaration.model.parts import (
    MOST_SENT,
    Call,
    EnvironmentName,
    InAChild,
    Part,
    Query,
    Send,
    not_allowed,
)
from drysweep_pipeline.declaration.model.services import Service
from drysweep_pipeline.values import ONE_CALL, Usage, Verdict

MOST_MEMBERS = 99


class NoJudge(Part):
    """Nobody judges: every verdict is ``unjudged``."""

    kind: Literal["none"] = Field(default="none", description="Nobody judges; every verdict is unjudged")


class PanelJudge(Part):
    """What every judge declares that judges: ``panel`` members are asked, ``majority`` of them must agree."""

    panel: StrictInt = Field(
        default=1,
        json_schema_extra={"minimum": 1, "maximum": MOST_MEMBERS},
        description="How many members are asked about each finding, each on its own",
    )
    majority: StrictInt | None = Field(
        default=None, description="How many must say the same to decide; more than half unless given"
    )

    @field_validator("panel")
    @classmethod
    def _is_not_too_large(cls, panel: int) -> int:
        if not 1 <= panel <= MOST_MEMBERS:
            raise not_allowed(f"judge.panel must be between 1 and {MOST_MEMBERS}, got {panel}", "each member is a call")
        return panel

    @field_validator("majority")
    @classmethod
    def _is_one(cls, majority: int | None, info: ValidationInfo) -> int | None:
        panel = info.data.get("panel")
        if majority is None or panel is None or panel < 2 * majority <= 2 * panel:
            return majority
        what = f"{majority} is no majority of a panel of {panel}"
        allowed = f"{panel // 2 + 1} to {panel}" if panel > 1 else "1"
        raise not_allowed(what, f"more than half of it is, and no more than all of it: {allowed}")

    @property
    def needed(self) -> int:
        """How many members must say the same to decide."""
        return self.majority or self.panel // 2 + 1

    @property
    def worst(self) -> Usage:
        """What asking one member about one finding uses at most."""
        return ONE_CALL


class SqlJudge(PanelJudge):
    """One SELECT over the snapshot's tables and the table ``findings``; gives ``fp, verdict, reason``."""

    kind: Literal["sql"] = Field(description="One SELECT that rules on the findings of a round")
    query: Query = Field(description="The SELECT, in a file; it gives fp, verdict and, if it likes, reason")
    timeout_s: float = Field(
        default=120.0,
        gt=0,
        description="What still runs after so many seconds is interrupted, and its findings are undecided",
    )


class ChildJudge(InAChild, PanelJudge):
    """What judges declare that rule in a child process."""

    timeout_s: float = Field(
        default=120.0, gt=0, description="What still runs after so many seconds is ended, and its finding is undecided"
    )


class CommandJudge(ChildJudge):
    """A program that is given one finding as JSON on stdin and prints its verdict as JSON; ``argv`` meets no shell."""

    kind: Literal["command"] = Field(description="A program that is asked about each finding")
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        min_length=1,
        description="The program and its arguments; no shell reads them; {material}, {seed}, {member} are filled in",
    )


class PythonJudge(ChildJudge):
    """A function, ``module:name``, that is called with a finding and the material and returns its verdict."""

    kind: Literal["python"] = Field(description="A function that is called with each finding")
    call: Call = Field(
        description="The function, as module:name; found beside the declaration, in its project, or installed"
    )


class HttpJudge(Service, PanelJudge):
    """A service that is sent one finding as JSON and answers with its verdict as JSON."""

    kind: Literal["http"] = Field(description="A service that is asked about each finding")
    timeout_s: float = Field(default=120.0, gt=0, description="What is not answered after so many seconds is undecided")


class LlmJudge(PanelJudge, Terms):
    """A model that is asked to refute a finding; with several ``models``, the members of a panel take turns at them.

    What is declared of ``base_url``, ``api_key_env`` and ``price`` is meant of the models that are given by name only.
    ``send`` is a SELECT over the snapshot that has the finding's fields bound; without it, the lines around the one
    that the finding names are quoted. ``max_chars``: how much is shown of the finding and of those lines.
    """

    kind: Literal["llm"] = Field(description="Language models that are asked to refute each finding")
    models: tuple[ModelName | Model, ...] = Field(
        min_length=1, description="The models; with several, the members of a panel take turns at them"
    )
    base_url: ServerAddress | None = Field(
        default=None, description="Where models are served that are given by name only"
    )
    api_key_env: EnvironmentName | None = Field(default=None, description="The variable that holds their key")
    price: Price | None = Field(default=None, description="What they cost")
    prompt: Prompt | None = Field(
        default=None, description="What they are asked, in a file, in place of drysweep's own"
    )
    send: Send | None = Field(
        default=None,
        description="A SELECT over the snapshot with the finding's fields bound; else the lines around it are quoted",
    )
    max_chars: StrictInt = Field(
        default=20_000,
        ge=1_000,
        le=MOST_SENT,
        description="How many characters are shown of the finding and of those lines",
    )
    max_output_tokens: StrictInt = Field(default=1024, ge=16, le=MOST_SENT, description="The most tokens of one answer")
    timeout_s: float = Field(default=120.0, gt=0, description="What is not answered after so many seconds is undecided")

    def asked(self, member: int) -> Model:
        """Return the model that a member of the panel is; members count from 1."""
        return self.each[(member - 1) % len(self.models)]

    @property
    def each(self) -> tuple[Model, ...]:
        """The models, whole."""
        return tuple(self._named(each) if isinstance(each, str) else each for each in self.models)

    def _named(self, name: str) -> Model:
        return Model(model=name, base_url=self.base_url, api_key_env=self.api_key_env, price=self.price)

    @property
    def worst(self) -> Usage:
        """What one request uses at most, of the model that costs most."""
        prompt = self.prompt.text if self.prompt else ""
        sent = most_tokens(self.send, prompt) + 4 * self.max_chars
        costs = [model.cost(sent, self.max_output_tokens) or 0.0 for model in self.each]
        return Usage(1, sent + self.max_output_tokens, max(costs))


class ScriptedJudge(PanelJudge):
    """Verdicts written down in advance: for each round, from ``subject/kind`` to the verdict; else confirmed."""

    kind: Literal["scripted"] = Field(description="Verdicts written down in advance, for replays")
    rounds: tuple[dict[str, Verdict], ...] = Field(
        default=(), description="For each round, the verdict by subject/kind; else confirmed"
    )


AnyJudge = Annotated[
    NoJudge | SqlJudge | CommandJudge | PythonJudge | HttpJudge | LlmJudge | ScriptedJudge,
    Field(discriminator="kind"),
]
