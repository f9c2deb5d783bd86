"""The shape of an answer: a pydantic model as JSON Schema for the provider, and strict reading of what comes back."""

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from drysweep_pipeline.llm.conversation import Misshapen

M = TypeVar("M", bound=BaseModel)
_SHOWN = 3


class Shape(BaseModel):
    """Base of what a model answers: closed to unknown keys, and nothing is made of what it is not."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


@cache
def schema(shape: type[BaseModel]) -> Mapping[str, Any]:
    """Return a shape as JSON Schema."""
    return shape.model_json_schema(by_alias=True)


def read(shape: type[M], said: Any) -> M:
    """Return an answer's JSON as its shape. Raises ``Misshapen``."""
    try:
        # As JSON has it: a list where the shape has a tuple.
        return shape.model_validate(said)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise Misshapen(
            "; ".join(_named(each["loc"]) + each["msg"] for each in found[:_SHOWN]),
            "; ".join(_told(each, schema(shape)) for each in found[:_SHOWN]),
        ) from None


def _told(error: Mapping[str, Any], known: Mapping[str, Any]) -> str:
    """Return an error without a word of the answer: a key that the shape does not have is one."""
    names = str(known)
    loc = tuple(part if isinstance(part, int) or f"'{part}'" in names else "?" for part in error["loc"])
    return _named(loc) + str(error["msg"])


def _named(loc: tuple[Any, ...]) -> str:
    return f"{'/'.join(str(part) for part in loc)}: " if loc else ""
