"""Language models as they are declared: which, where, at what price, and what one request to them takes at most."""

import re
from typing import Annotated

from pydantic import (
    AfterValidator,
    Field,
    StrictInt,
)
from pydantic.json_schema import SkipJsonSchema

from drysweep_pipeline import addresses
from drysweep_pipeline.declaration.model.parts import MOST_SENT, EnvironmentName, Part, Send, not_allowed
from drysweep_pipeline.declaration.model.services import MOST_RETRIES

# The instructions around a prompt, the shape of the answer twice over, and what parts messages.
_PROTOCOL_TOKENS = 12_000
# Nobody asks a dollar for a token.
_MOST_A_MILLION = 1_000_000
# The provider, and the name that it knows the model by. Its own pretended model is for other people's tests.
_MODEL = re.compile(r"(?!test(:|$))[a-z][a-z0-9-]*(/[a-z0-9-]+)?:\S+")


def _names_a_model(name: str) -> str:
    if not _MODEL.fullmatch(name):
        raise not_allowed(f"{name!r} names no model", "write provider:name, such as openai:gpt-5-mini")
    return name


def _is_reached_safely(url: str) -> str:
    fault = addresses.fault_of_url(url, allow_plain_http=False)
    if fault is not None:
        raise not_allowed(fault[0], "write https://HOST/v1, or http://127.0.0.1:8000/v1 for a server on this machine")
    return url


ModelName = Annotated[str, AfterValidator(_names_a_model), Field(json_schema_extra={"pattern": f"^{_MODEL.pattern}$"})]
ServerAddress = Annotated[str, AfterValidator(_is_reached_safely)]


class Prompt(Part):
    """What a model is asked, kept in a file beside the declaration; ``text`` is filled in when it is read."""

    file: str = Field(
        description="A UTF-8 file with what the model is asked, in the folder of the declaration or below it"
    )
    text: SkipJsonSchema[str] = ""


class Price(Part):
    """What a model costs, in US dollars for a million tokens."""

    input_usd_per_million: float = Field(
        ge=0, le=_MOST_A_MILLION, description="US dollars for a million tokens that are sent"
    )
    output_usd_per_million: float = Field(
        ge=0, le=_MOST_A_MILLION, description="US dollars for a million tokens that are answered"
    )

    def of(self, input_tokens: int, output_tokens: int) -> float:
        """Return what so many tokens cost, in US dollars."""
        return (input_tokens * self.input_usd_per_million + output_tokens * self.output_usd_per_million) / 1_000_000


class Model(Part):
    """A model, ``provider:name``, where it is served, the variable that holds its key, and what it costs."""

    model: ModelName = Field(description="The model, as provider:name")
    base_url: ServerAddress | None = Field(default=None, description="Where it is served, if not by its provider")
    api_key_env: EnvironmentName | None = Field(default=None, description="The variable that holds its key")
    price: Price | None = Field(default=None, description="What it costs, where that is not known or not so")

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return what so many tokens cost, in US dollars; None where nobody knows."""
        if self.price is not None:
            return self.price.of(input_tokens, output_tokens)
        from drysweep_pipeline.llm import prices

        return None if self.base_url is not None else prices.cost(self.model, input_tokens, output_tokens)


class Terms(Part):
    """How a model is asked, by strategies and judges alike.

    ``reasks``: how often it is told what was wrong with an answer that is not of the declared shape. ``retries``: how
    often a request is made again that the provider did not answer. Both are calls, and all of them happen in
    ``timeout_s``.
    """

    temperature: float | None = Field(
        default=None, ge=0, le=2, description="How much is left to chance, from 0 to 2; the provider's own unless given"
    )
    max_output_tokens: StrictInt = Field(default=4096, ge=16, le=MOST_SENT, description="The most tokens of one answer")
    reasks: StrictInt = Field(
        default=1,
        ge=0,
        le=MOST_RETRIES,
        description="How often it is told what was wrong with an answer of another shape; each is a call",
    )
    retries: StrictInt = Field(
        default=2,
        ge=0,
        le=MOST_RETRIES,
        description="How often a request is made again that was not answered; each is a call",
    )


def most_tokens(sent: Send | None, *texts: str) -> int:
    """Return more tokens than a request can have that sends at most so much, and those texts.

    A token is at least one byte, and a character at most four of them.
    """
    return _PROTOCOL_TOKENS + 4 * (sent.max_chars if sent else 0) + sum(len(text.encode()) for text in texts)
