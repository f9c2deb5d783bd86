"""The JSON Schema of a sweep's file, made from the models, for editors and for whoever checks files without drysweep.

It says which keys there are, their types, limits and defaults. What it cannot say stays with ``validate``: whether
files, columns and placeholders are there, and what one key asks of another.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from drysweep_pipeline.declaration.model import Sweep
from drysweep_pipeline.declaration.reading import TYPE

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Dagster's own keys beside them, which are Dagster's to check.
_DAGSTERS_KEYS = {
    "template_vars_module": {"type": ["string", "null"], "description": "Dagster's: a module of template variables"},
    "requirements": {"type": ["object", "null"], "description": "Dagster's: what the component needs"},
    "post_processing": {"type": ["object", "null"], "description": "Dagster's: what is changed in its definitions"},
}


class _WithoutTitles(GenerateJsonSchema):
    """Pydantic's schema without a title a field, which would only repeat its name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a whole YAML file that declares a sweep."""
    sweep = Sweep.model_json_schema(schema_generator=_WithoutTitles)
    definitions = sweep.pop("$defs")
    whole = {
        "$schema": DIALECT,
        "title": "A sweep of drysweep",
        "description": "A search that runs until it goes quiet",
        "type": "object",
        "required": ["type", "attributes"],
        "additionalProperties": False,
        "properties": {
            "type": {"const": TYPE, "description": "The component that this file is of"},
            "attributes": {"$ref": "#/$defs/Sweep", "description": "The sweep"},
            **_DAGSTERS_KEYS,
        },
        "$defs": {"Sweep": sweep, **definitions},
    }
    for part in _mappings(whole):
        if part.get("default", ...) is None:
            _leave_out(part)
        if "discriminator" in part:
            _choose_by_kind(part, definitions)
        if isinstance(part.get("description"), str):
            part["description"] = _in_short(part["description"])
    return whole


def schema_text() -> str:
    """Return the schema as the text of a file."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


def _mappings(part: Any) -> Iterator[dict[str, Any]]:
    """Yield every mapping in a schema, each before those below it."""
    if isinstance(part, dict):
        yield part
    for each in list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from _mappings(each)


def _leave_out(key: dict[str, Any]) -> None:
    """Have a key that may be left out be left out, and not be null: what is wrong in its value is then told there."""
    del key["default"]
    said = [each for each in key.pop("anyOf") if each != {"type": "null"}]
    key |= said[0] if len(said) == 1 else {"anyOf": said}


def _choose_by_kind(union: dict[str, Any], definitions: dict[str, Any]) -> None:
    """Have the kind say which model holds, so that only what is wrong of that one is told.

    ``oneOf`` would have an editor say of one wrong key that it fits none of the kinds.
    """
    refs = union.pop("discriminator")["mapping"]
    del union["oneOf"]
    said = [definitions[ref.rsplit("/", 1)[1]]["properties"]["kind"].get("description", "") for ref in refs.values()]
    kind = {
        "description": "; ".join(f"{name}: {what}" for name, what in zip(refs, said, strict=True)),
        "enum": list(refs),
        "enumDescriptions": said,
    }
    union |= {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": kind},
        "allOf": [
            {"if": {"properties": {"kind": {"const": name}}, "required": ["kind"]}, "then": {"$ref": ref}}
            for name, ref in refs.items()
        ],
    }


def _in_short(docstring: str) -> str:
    """Return the first paragraph of a docstring on one line; what is quoted is quoted as Markdown does."""
    return re.sub(r"\s+", " ", docstring.split("\n\n")[0]).replace("``", "`")
