"""A sweep as people declare it: what keys there are, their types, defaults and limits.

Pydantic, because this is the edge; every model is frozen and refuses keys it does not know. Reading YAML,
line numbers and nearest keys live in ``declaration.reading``.
"""

import json
import re
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    ValidationInfo,
    field_serializer,
    field_validator,
)
from pydantic_core import PydanticCustomError

from drysweep_pipeline import addresses
from drysweep_pipeline.fingerprint import identity, token
from drysweep_pipeline.programs import filled, placeholders
from drysweep_pipeline.values import ONE_CALL, SWEEP_NAME, Rule, Severity, Usage, Verdict

Name = Annotated[str, Field(pattern=rf"^{SWEEP_NAME.pattern}$")]
Scalar = StrictBool | StrictInt | StrictFloat | str

# What a finder may not report cannot tell one finding from another.
NOT_REPORTED = frozenset({"fingerprint", "verdict", "state", "strategy", "round"})
# Minute, hour, day of the month, month, day of the week; Dagster has the last word on the rest of the syntax.
_CRON_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
MOST_MEMBERS = 99
MOST_RETRIES = 10
# The instructions around a prompt, the shape of the answer twice over, and what parts messages.
_PROTOCOL_TOKENS = 12_000
# An interpreter that imports what reads tables needs about that much.
MIN_MEMORY_MB = 64
# What a child is told by these names is told by drysweep, and where its files lie is none of a child's business.
OWN_VARIABLES = ("DRYSWEEP_", "DAGSTER_")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CALL = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
# What is filled into the argv of a strategy, beside ``angle.KEY``.
ARGV_NAMES = ("material", "round", "campaign", "seed")
# Those of them that differ between rounds, or between campaigns.
VARYING = frozenset({"round", "campaign", "seed"})
# What every snapshot has of its own, and what a judge's query reads beside it.
TAKEN_TABLES = ("files", "settings", "unreadable", "findings")
ColumnType = Literal[
    "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMPTZ", "BIGINT[]", "DOUBLE[]", "VARCHAR[]"
]
# The provider, and the name that it knows the model by. Its own pretended model is for other people's tests.
_MODEL = re.compile(r"(?!test(:|$))[a-z][a-z0-9-]*(/[a-z0-9-]+)?:\S+")
_CRON_FIELD = re.compile(r"[0-9A-Za-z*/,#-]+")


def not_allowed(what: str, help: str | None = None, at: tuple[str | int, ...] = ()) -> PydanticCustomError:
    """Return the error of a validator; ``at`` leads from the validated value to the part that is wrong."""
    # As data and not as a template, because what people wrote may hold braces.
    return PydanticCustomError("not_allowed", "{what}", {"what": what, "help": help, "at": at})


def _first_repeated(words: list[str]) -> int | None:
    return next((index for index, word in enumerate(words) if word in words[:index]), None)


def _can_identify(fields: tuple[str, ...]) -> tuple[str, ...]:
    repeated = _first_repeated(list(fields))
    if repeated is not None:
        raise not_allowed(f"the field {fields[repeated]!r} is named twice", at=(repeated,))
    for index, name in enumerate(fields):
        if name in NOT_REPORTED:
            raise not_allowed(f"no finder reports {name!r}, so it cannot be part of a fingerprint", at=(index,))
    return fields


def _is_ours_to_pass_on(name: str) -> str:
    if not _ENVIRONMENT_NAME.fullmatch(name):
        raise not_allowed(f"{name!r} is not the name of an environment variable")
    if name.startswith(OWN_VARIABLES):
        raise not_allowed(f"{name!r} is not passed on", "it may lead a child to what drysweep keeps")
    return name


def _names_a_function(call: str) -> str:
    if not _CALL.fullmatch(call):
        raise not_allowed(f"{call!r} names no function", "write module:name, such as judging:rule")
    return call


def _is_filled_in(name: str, angles: tuple[dict[str, Any], ...], at: tuple[str | int, ...]) -> None:
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


def _names_a_model(name: str) -> str:
    if not _MODEL.fullmatch(name):
        raise not_allowed(f"{name!r} names no model", "write provider:name, such as openai:gpt-5-mini")
    return name


def _is_reached_safely(url: str) -> str:
    fault = addresses.fault_of_url(url, allow_plain_http=False)
    if fault is not None:
        raise not_allowed(fault[0], "write https://HOST/v1, or http://127.0.0.1:8000/v1 for a server on this machine")
    return url


Call = Annotated[str, AfterValidator(_names_a_function)]
ModelName = Annotated[str, AfterValidator(_names_a_model)]
ServerAddress = Annotated[str, AfterValidator(_is_reached_safely)]
EnvironmentName = Annotated[str, AfterValidator(_is_ours_to_pass_on)]
IdentityFields = Annotated[
    tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1), AfterValidator(_can_identify)
]


class Part(BaseModel):
    """Base of all parts of a declaration: immutable, and closed to unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Query(Part):
    """SQL kept in a file beside the declaration; ``text`` is filled in when the declaration is read."""

    file: str
    text: str = ""


class Send(Part):
    """Rows of a SELECT over the snapshot, sent to who cannot read it; what is over a cap is refused, never cut."""

    query: Query
    max_rows_sent: StrictInt = Field(default=1_000, ge=1)
    max_chars: StrictInt = Field(default=100_000, ge=1)


class AtMost(Part):
    """What one look or one ruling may use at most; that much is set aside before it begins."""

    calls: StrictInt = Field(default=1, ge=1)
    tokens: StrictInt = Field(default=0, ge=0)
    cost_usd: float = Field(default=0.0, ge=0)

    @property
    def usage(self) -> Usage:
        """The same as what an attempt uses."""
        return Usage(self.calls, self.tokens, self.cost_usd)


class Prompt(Part):
    """What a model is asked, kept in a file beside the declaration; ``text`` is filled in when it is read."""

    file: str
    text: str = ""


class Price(Part):
    """What a model costs, in US dollars for a million tokens."""

    input_usd_per_million: float = Field(ge=0)
    output_usd_per_million: float = Field(ge=0)

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost, in US dollars."""
        return (input_tokens * self.input_usd_per_million + output_tokens * self.output_usd_per_million) / 1_000_000


class Model(Part):
    """A model, ``provider:name``, where it is served, the variable that holds its key, and what it costs."""

    model: ModelName
    base_url: ServerAddress | None = None
    api_key_env: EnvironmentName | None = None
    price: Price | None = None

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return what so many tokens cost, in US dollars; None where nobody knows."""
        if self.price is not None:
            return self.price.of(input_tokens, output_tokens)
        from drysweep_pipeline.llm import prices

        return None if self.base_url is not None else prices.cost(self.model, input_tokens, output_tokens)


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


class InAChild(Part):
    """What is declared of whatever runs in a child process: what it is given beside its task, and its limits."""

    env: tuple[EnvironmentName, ...] = ()
    reads: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    memory_mb: StrictInt = Field(default=4096, ge=MIN_MEMORY_MB)
    at_most: AtMost = AtMost()

    @property
    def worst(self) -> Usage:
        """What one call of it uses at most, as declared."""
        return self.at_most.usage


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
                _is_filled_in(name, angles, at=(index,))
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


class Service(Part):
    """Where a service is that answers over HTTP, what it is told in headers, and how often a call is tried again."""

    allow_plain_http: StrictBool = False
    url: str
    headers: dict[str, str] = Field(default_factory=dict)
    ca_file: Annotated[str, Field(min_length=1)] | None = None
    retries: StrictInt = Field(default=2, ge=0, le=MOST_RETRIES)
    at_most: AtMost = AtMost()

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, url: str, info: ValidationInfo) -> str:
        fault = addresses.fault_of_url(url, allow_plain_http=info.data.get("allow_plain_http", False))
        if fault is not None:
            raise not_allowed(*fault)
        return url

    @field_validator("headers")
    @classmethod
    def _can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        repeated = _first_repeated([name.lower() for name in headers])
        if repeated is not None:
            name = list(headers)[repeated]
            raise not_allowed(f"the header {name} is there twice", "case does not matter in the name of one", (name,))
        for name, value in headers.items():
            fault = addresses.fault_of_header(name, value)
            if fault is not None:
                raise not_allowed(*fault, at=(name,))
        for variable in addresses.variables(headers):
            _is_ours_to_pass_on(variable)
        return headers

    @property
    def env(self) -> tuple[str, ...]:
        """The variables that hold what is sent in headers."""
        return addresses.variables(self.headers)

    @property
    def worst(self) -> Usage:
        """What one call uses at most, as declared."""
        return self.at_most.usage


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


class Terms(Part):
    """How a model is asked, by strategies and judges alike.

    ``reasks``: how often it is told what was wrong with an answer that is not of the declared shape. ``retries``: how
    often a request is made again that the provider did not answer. Both are calls, and all of them happen in
    ``timeout_s``.
    """

    temperature: float | None = Field(default=None, ge=0, le=2)
    max_output_tokens: StrictInt = Field(default=4096, ge=16)
    reasks: StrictInt = Field(default=1, ge=0, le=MOST_RETRIES)
    retries: StrictInt = Field(default=2, ge=0, le=MOST_RETRIES)


def most_tokens(sent: Send | None, *texts: str) -> int:
    """Return more tokens than a request can have that sends at most so much, and those texts.

    A token is at least one byte, and a character at most four of them.
    """
    return _PROTOCOL_TOKENS + 4 * (sent.max_chars if sent else 0) + sum(len(text.encode()) for text in texts)


class LlmStrategy(OutsideStrategy, Model, Terms):
    """A model that is asked what is wrong with the rows that it is sent.

    ``choices``: the values that it may give for a field of the fingerprint.
    """

    kind: Literal["llm"]
    prompt: Prompt
    send: Send
    choices: dict[str, Annotated[tuple[str, ...], Field(min_length=1)]] = {}
    deterministic: Literal[False] = False
    proves_absence: Literal[False] = False

    @field_validator("prompt")
    @classmethod
    def _can_be_filled_in(cls, prompt: Prompt, info: ValidationInfo) -> Prompt:
        for name in placeholders([prompt.text]):
            if name.startswith("angle."):
                _is_filled_in(name, info.data.get("angles", ()), at=("file",))
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


class NoJudge(Part):
    """Nobody judges: every verdict is ``unjudged``."""

    kind: Literal["none"] = "none"


class PanelJudge(Part):
    """What every judge declares that judges: ``panel`` members are asked, ``majority`` of them must agree."""

    panel: StrictInt = Field(default=1, json_schema_extra={"minimum": 1, "maximum": MOST_MEMBERS})
    majority: StrictInt | None = None

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

    kind: Literal["sql"]
    query: Query
    timeout_s: float = Field(default=120.0, gt=0)


class ChildJudge(InAChild, PanelJudge):
    """What judges declare that rule in a child process."""

    timeout_s: float = Field(default=120.0, gt=0)


class CommandJudge(ChildJudge):
    """A program that is given one finding as JSON on stdin and prints its verdict as JSON; ``argv`` meets no shell."""

    kind: Literal["command"]
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)


class PythonJudge(ChildJudge):
    """A function, ``module:name``, that is called with a finding and the material and returns its verdict."""

    kind: Literal["python"]
    call: Call


class HttpJudge(Service, PanelJudge):
    """A service that is sent one finding as JSON and answers with its verdict as JSON."""

    kind: Literal["http"]
    timeout_s: float = Field(default=120.0, gt=0)


class LlmJudge(PanelJudge, Terms):
    """A model that is asked to refute a finding; with several ``models``, the members of a panel take turns at them.

    What is declared of ``base_url``, ``api_key_env`` and ``price`` is meant of the models that are given by name only.
    ``send`` is a SELECT over the snapshot that has the finding's fields bound; without it, the lines around the one
    that the finding names are quoted. ``max_chars``: how much is shown of the finding and of those lines.
    """

    kind: Literal["llm"]
    models: tuple[ModelName | Model, ...] = Field(min_length=1)
    base_url: ServerAddress | None = None
    api_key_env: EnvironmentName | None = None
    price: Price | None = None
    prompt: Prompt | None = None
    send: Send | None = None
    max_chars: StrictInt = Field(default=20_000, ge=1_000)
    max_output_tokens: StrictInt = Field(default=1024, ge=16)
    timeout_s: float = Field(default=120.0, gt=0)

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

    kind: Literal["scripted"]
    rounds: tuple[dict[str, Verdict], ...] = ()


AnyJudge = Annotated[
    NoJudge | SqlJudge | CommandJudge | PythonJudge | HttpJudge | LlmJudge | ScriptedJudge,
    Field(discriminator="kind"),
]


def models_of(who: Part | None) -> tuple[Model, ...]:
    """Return the models that a strategy or a judge asks."""
    if isinstance(who, LlmJudge):
        return who.each
    return (who,) if isinstance(who, LlmStrategy) else ()


class Source(Part):
    """Where a registry keeps one thing about its services; see ``material.registry``."""

    file: str
    at: str = ""
    by: str | None = None


Sources = str | Source | tuple[str | Source, ...]


class RegistryMap(Part):
    """Which files describe services, and where labels, live state, charter and modification times are."""

    services: str
    labels: Sources = ()
    live: Sources = ()
    charter: Sources = ()
    modified: Source | str | None = None


class RegistryMaterial(Part):
    """A directory of services."""

    kind: Literal["registry"]
    path: str
    map: RegistryMap
    ignore: tuple[str, ...] = ()
    max_bytes: int = Field(default=5_000_000, ge=1)
    allow_empty: StrictBool = False


class FilesMaterial(Part):
    """A directory of files."""

    kind: Literal["files"]
    path: str
    ignore: tuple[str, ...] = ()
    max_bytes: int = Field(default=5_000_000, ge=1)
    allow_empty: StrictBool = False


def _lies_below(file: str) -> str:
    if file.startswith("/") or ".." in file.split("/") or "\0" in file:
        raise not_allowed(f"{file!r} lies outside the material", "name a file below path")
    return file


FileBelow = Annotated[str, AfterValidator(_lies_below)]


def _is_a_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


class TableSource(Part):
    """Where one table is kept, and how it is read; see ``material.tabular``."""

    file: FileBelow = ""
    format: Literal["csv", "tsv", "json", "jsonl", "parquet", "database"] | None = None
    table: str | None = None
    columns: dict[Annotated[str, Field(min_length=1)], ColumnType] = Field(default_factory=dict)
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    all_text: StrictBool = False

    @field_serializer("columns", when_used="json")
    def _in_order(self, columns: dict[str, ColumnType]) -> list[tuple[str, ColumnType]]:
        # Lists take their names in this order, and what is frozen or digested has its keys sorted.
        return list(columns.items())

    @field_validator("columns", mode="before")
    @classmethod
    def _as_frozen(cls, columns: Any) -> Any:
        return dict(columns) if isinstance(columns, list) and all(map(_is_a_pair, columns)) else columns


def _are_free(tables: dict[str, Any]) -> dict[str, Any]:
    for name in tables:
        if not SWEEP_NAME.fullmatch(name):
            help = "a name has lower-case letters, digits and _, begins with a letter, and is at most 63 long"
            raise not_allowed(f"{name!r} is no name of a table", help, at=(name,))
        if name in TAKEN_TABLES:
            raise not_allowed(f"the name {name!r} is taken", f"so are {', '.join(TAKEN_TABLES)}", at=(name,))
    return tables


class TablesMaterial(Part):
    """Files that hold tables: each is a table of the snapshot, by its declared name."""

    kind: Literal["tables"]
    path: str
    tables: Annotated[dict[str, FileBelow | TableSource], Field(min_length=1), AfterValidator(_are_free)]
    max_bytes: int = Field(default=1_000_000_000, ge=1)
    max_rows: int = Field(default=10_000_000, ge=1)
    timeout_s: float = Field(default=600.0, gt=0)
    allow_empty: StrictBool = False


class PrintedTable(Part):
    """A table that a program prints: what its columns are, as far as that is declared."""

    columns: dict[Annotated[str, Field(min_length=1)], ColumnType] = Field(default_factory=dict)


class CommandMaterial(Part):
    """A program that prints the tables to be searched; ``argv`` meets no shell."""

    kind: Literal["command"]
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    tables: Annotated[dict[str, PrintedTable], Field(min_length=1), AfterValidator(_are_free)]
    env: tuple[EnvironmentName, ...] = ()
    timeout_s: float = Field(default=120.0, gt=0)
    max_bytes: int = Field(default=256_000_000, ge=1)
    max_rows: int = Field(default=10_000_000, ge=1)
    allow_empty: StrictBool = False

    @field_validator("argv")
    @classmethod
    def _can_be_filled_in(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        for index, word in enumerate(argv):
            for name in placeholders([word]):
                if name.startswith("env."):
                    help = f"name it under env: what stands in argv, everybody on the machine can read ({name[4:]})"
                    raise not_allowed(f"{{{name}}} does not belong in argv", help, at=(index,))
                if name != "as_of":
                    raise not_allowed(f"{{{name}}} is no placeholder", "there is {as_of}", at=(index,))
        return argv


class Reverted(Part):
    """What a revert test answers yes to, from the round after ``after`` on: finding and fix, by their labels."""

    finding: str
    fix: str
    after: StrictInt = Field(default=0, ge=0)


class ScriptedMaterial(Part):
    """Nothing at all: scripted strategies look at their script, and so do revert tests."""

    kind: Literal["scripted"]
    reverts: tuple[Reverted, ...] = ()


AnyMaterial = Annotated[
    RegistryMaterial | FilesMaterial | TablesMaterial | CommandMaterial | ScriptedMaterial, Field(discriminator="kind")
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


class Canary(Part):
    """A planted problem: the finding that it is, and who should report it; everybody, always, unless said otherwise.

    ``angles``: it is expected only where the angle of the round has all the values of one of these.
    """

    name: Name
    finding: dict[str, Scalar] = Field(min_length=1)
    strategies: tuple[Name, ...] = ()
    angles: tuple[dict[str, Scalar], ...] = ()

    def expected(self, strategy: str, angle: dict[str, Any]) -> bool:
        """Tell whether a strategy should report it at an angle."""
        if self.strategies and strategy not in self.strategies:
            return False
        return not self.angles or any(wanted.items() <= angle.items() for wanted in self.angles)


class Canaries(Part):
    """Known problems to plant in a copy of the snapshot; ``digest`` of the folder is filled in when this is read.

    ``path`` is for material that has files, ``rows`` (by table) for material that has tables. ``marks``: words that
    stand in what is planted, and nowhere else, beside its paths and the names of its services.
    """

    expect: tuple[Canary, ...] = Field(min_length=1)
    path: str = ""
    rows: dict[str, Annotated[tuple[dict[str, Scalar | None], ...], Field(min_length=1)]] = {}
    marks: tuple[str, ...] = ()
    digest: str = ""

    @field_validator("expect")
    @classmethod
    def _have_names_of_their_own(cls, expect: tuple[Canary, ...]) -> tuple[Canary, ...]:
        repeated = _first_repeated([canary.name for canary in expect])
        if repeated is not None:
            raise not_allowed(f"two canaries are named {expect[repeated].name!r}", at=(repeated, "name"))
        return expect


def _can_be_planted(canaries: Canaries, material: "AnyMaterial") -> None:
    """Refuse files where the material has tables, and rows where it has files."""
    if isinstance(material, ScriptedMaterial):
        raise not_allowed("nothing can be planted in material of the kind scripted")
    wanted, other = ("path", "rows") if isinstance(material, RegistryMaterial | FilesMaterial) else ("rows", "path")
    if getattr(canaries, other):
        raise not_allowed(f"{other!r} is not for material of the kind {material.kind}", f"give {wanted!r}", (other,))
    if not getattr(canaries, wanted):
        raise not_allowed(f"{wanted!r} is missing, which says what to plant")
    known = material.tables if isinstance(material, TablesMaterial | CommandMaterial) else {}
    for table in canaries.rows:
        if table not in known:
            what = f"the material has no table {table!r}"
            raise not_allowed(what, f"there is {', '.join(known)}", ("rows", table))


def _can_be_reported(canary: Canary, index: int, fields: tuple[str, ...]) -> None:
    """Refuse a canary whose finding has no fingerprint, or more than goes into one."""
    at = ("expect", index, "finding")
    for name in fields:
        try:
            token(canary.finding[name])
        except KeyError:
            what = f"{name!r} is missing, which is part of the fingerprint"
            raise not_allowed(what, f"a fingerprint has {', '.join(fields)}", at) from None
        except ValueError as error:
            raise not_allowed(f"{name!r} identifies nothing: {error}", at=(*at, name)) from None
    for name in canary.finding:
        if name not in fields:
            what = f"{name!r} is no part of the fingerprint, so nobody would look at it"
            raise not_allowed(what, f"a fingerprint has {', '.join(fields)}", (*at, name))


def _are_told_apart(expect: tuple[Canary, ...], fields: tuple[str, ...]) -> None:
    """Refuse two canaries that are the same finding: nobody could say which of them was seen."""
    identities = [identity([canary.finding[name] for name in fields]) for canary in expect]
    repeated = _first_repeated(identities)
    if repeated is not None:
        first = expect[identities.index(identities[repeated])].name
        raise not_allowed(f"it is the finding of the canary {first!r} as well", at=("expect", repeated, "finding"))


def _can_be_expected(canary: Canary, index: int, strategies: tuple[Strategy, ...]) -> None:
    """Refuse a canary that names a strategy that is not there, or that no strategy is ever expected to report."""
    names = [strategy.name for strategy in strategies]
    for number, name in enumerate(canary.strategies):
        if name not in names:
            what = f"there is no strategy {name!r}"
            raise not_allowed(what, f"there is {', '.join(names)}", ("expect", index, "strategies", number))
    for number, wanted in enumerate(canary.angles):
        only = canary.model_copy(update={"angles": (wanted,)})
        if not any(only.expected(each.name, angle) for each in strategies for angle in each.angles or ({},)):
            what = "no strategy that should report this canary has such an angle"
            raise not_allowed(what, at=("expect", index, "angles", number))


class Redaction(Part):
    """How secrets are made unreadable before anything is written, and which variables hold some, or hold none.

    ``env``: variables that hold secrets, beside those that strategies, judges and material name. ``plain``: those of
    them that hold none.
    """

    mode: Literal["hash", "mask", "off"] = "hash"
    env: tuple[EnvironmentName, ...] = ()
    plain: tuple[EnvironmentName, ...] = ()


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
        _can_be_planted(canaries, material)
        for index, canary in enumerate(canaries.expect):
            _can_be_reported(canary, index, fingerprint.fields)
            _can_be_expected(canary, index, strategies)
        _are_told_apart(canaries.expect, fingerprint.fields)
        return canaries

    @field_validator("strategies")
    @classmethod
    def _have_names_of_their_own(cls, strategies: tuple[AnyStrategy, ...]) -> tuple[AnyStrategy, ...]:
        names = [strategy.name for strategy in strategies]
        repeated = _first_repeated(names)
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
