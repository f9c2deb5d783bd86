"""Pydantic's errors as refusals: file, line, the key as people wrote it, what was expected, what helps.

Pydantic reports a place by way of the members of unions and says the same thing once a member; here each wrong
thing is said once, where it stands, in the order of the file.
"""

import difflib
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from datetime import date
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from drysweep_pipeline.declaration.yaml_reader import Document, Keys, dotted
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.redaction import brief

# Fields that reading fills in; they are nobody's to write and no refusal offers them.
FILLED_IN = frozenset({"text", "line", "digest"})
# How much of a value a refusal shows.
_SHOWN = 60

_TYPES = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "dataclass_type": "a mapping",
    "date_type": "a date",
    "date_from_datetime_parsing": "a date",
    "date_from_datetime_inexact": "a date",
}
_LIMITS = {"greater_than": "more than {gt}", "greater_than_equal": "{ge} or more"}
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
_WORDS = ("literal_error", "enum")


@dataclass(frozen=True, slots=True)
class Written:
    """What people wrote and a model refused: the file, the values with their lines, the keys above them."""

    file: Path
    data: Any
    model: Any
    document: Document | None = None
    above: Keys = ()

    def refusal(self, keys: Keys, what: str, help: str | None = None) -> DeclarationError:
        """Return the refusal of the value at some keys, with its line where the file is known."""
        whole = (*self.above, *keys)
        line = self.document.line(whole) if self.document else None
        return DeclarationError(what, file=self.file, line=line, key=dotted(whole) or None, help=help)

    def place(self, keys: Keys) -> tuple[int, int]:
        """Return where the value at some keys is come upon in the file."""
        return self.document.place((*self.above, *keys)) if self.document else (0, 0)


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong thing: the keys of the value, and the refusal of it."""

    keys: Keys
    refusal: DeclarationError


def did_you_mean(word: object, known: Iterable[str]) -> str | None:
    """Return a sentence with the nearest of some known words, or with all of them; None where there are none."""
    words = list(known)
    near = difflib.get_close_matches(str(word), words, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"there is {', '.join(words)}" if words else None


def in_file_order(written: Written, problems: list[Problem]) -> list[DeclarationError]:
    """Return the refusals in the order in which a reader of the file comes upon them."""
    ordered = sorted(problems, key=lambda problem: written.place(problem.keys))
    return [problem.refusal for problem in ordered]


def first_of(refusals: list[DeclarationError], *, validated: bool = True) -> DeclarationError:
    """Return the first refusal, whose help says how many more there are and, where `validate` does, how to see them."""
    first, more = refusals[0], len(refusals) - 1
    if not more:
        return first
    others = f"{more} more" + (
        f": drysweep validate {shlex.quote(first.file or 'FILE')} shows all" if validated else ""
    )
    # A question has its own end.
    join = " " if (first.help or "").endswith("?") else "; "
    help = f"{first.help}{join}{others}" if first.help else others
    told = DeclarationError(first.what, file=first.file, line=first.line, key=first.key, help=help)
    told.each = tuple(refusals)
    return told


def problems(error: ValidationError, written: Written) -> list[Problem]:
    """Return what a model refused, each wrong thing once."""
    grouped: dict[Keys, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        grouped.setdefault(_keys(details, written), []).append(details)
    kept = {keys: group for keys, group in grouped.items() if not _said_below(keys, group, grouped)}
    typos = _typos(kept, written)
    return [
        Problem(keys, _refusal(written, keys, group))
        for keys, group in kept.items()
        if not (group[0]["type"] == "missing" and keys in typos)
    ]


def _said_below(keys: Keys, group: list[ErrorDetails], grouped: Iterable[Keys]) -> bool:
    """Tell whether a refusal only repeats, for another member of a union or for the whole list, one further down."""
    vague = all(details["type"] in _TYPES or details["type"] in (*_WORDS, "too_short") for details in group)
    return vague and any(len(other) > len(keys) and other[: len(keys)] == keys for other in grouped)


def _typos(kept: dict[Keys, list[ErrorDetails]], written: Written) -> set[Keys]:
    """Return the missing keys that an unknown key beside them was probably meant to be."""
    missing = {keys for keys, group in kept.items() if group[0]["type"] == "missing"}
    meant: set[Keys] = set()
    for keys, group in kept.items():
        if group[0]["type"] in _UNKNOWN:
            beside = [str(other[-1]) for other in missing if other[:-1] == keys[:-1]]
            near = difflib.get_close_matches(str(keys[-1]), known_keys(written, keys[:-1]), n=1)
            meant.update((*keys[:-1], word) for word in near if word in beside)
    return meant


def _refusal(written: Written, keys: Keys, group: list[ErrorDetails]) -> DeclarationError:
    details = group[0]
    kind, value, context = details["type"], details["input"], details.get("ctx", {})
    name = keys[-1] if keys else "it"
    if kind in _UNKNOWN:
        return written.refusal(keys, f"unknown key {name!r}", did_you_mean(name, known_keys(written, keys[:-1])))
    if kind == "missing":
        needed = ", ".join(_needed(written, keys[:-1]))
        return written.refusal(keys, f"{name!r} is missing", f"needed here: {needed}" if needed else None)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _kind(written, keys, value)
    if kind == "string_pattern_mismatch":
        help = "a name has lower-case letters, digits and _, begins with a letter, and is at most 63 long"
        return written.refusal(keys, f"{shown(value)} is not a name", help)
    if kind == "invalid_key":
        return written.refusal(keys, f"the key {name!r} is not text", "write it in quotes")
    if kind == "too_short":
        return written.refusal(keys, f"{name!r} is empty, at least one is needed")
    if kind == "string_too_short":
        return written.refusal(keys, f"expected text, got {shown(value)}")
    if kind in _WORDS:
        words = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        return written.refusal(keys, f"expected {_listed(words)}, got {shown(value)}", _near(value, words))
    if kind in _LIMITS:
        return written.refusal(keys, f"expected {_LIMITS[kind].format(**context)}, got {shown(value)}")
    if kind in _TYPES:
        expected = _listed(_expected(group))
        return written.refusal(keys, f"expected {expected}, got {shown(value)}", _quotes(expected, value))
    return written.refusal(keys, details["msg"], context.get("help"))


def _expected(group: list[ErrorDetails]) -> list[str]:
    """Return what the members of a union expected, each in a word or two."""
    words = [_TYPES.get(each["type"]) or each.get("ctx", {}).get("expected", each["msg"]) for each in group]
    numbers = {"a number", "a finite number"} & set(words)
    return [word for word in dict.fromkeys(words) if not (word == "a whole number" and numbers)]


def _kind(written: Written, keys: Keys, value: Any) -> DeclarationError:
    kinds = [
        word for model in _Walk(written.model, written.data).to(keys).models(any_kind=True) for word in _kinds(model)
    ]
    below = (*keys, "kind")
    if not isinstance(value, dict) or "kind" not in value:
        return written.refusal(below, "'kind' is missing", f"there is {', '.join(kinds)}")
    return written.refusal(below, f"unknown kind {shown(value['kind'])}", did_you_mean(value["kind"], kinds))


def shown(value: object) -> str:
    """Return a value as a refusal shows it: short, and without what may be large or secret below it."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):
        return f"the date {value.isoformat()}"
    return brief(repr(value), _SHOWN)


def _quotes(expected: str, value: object) -> str | None:
    plain = isinstance(value, bool | int | date)
    return "in quotes it is text" if plain and "text" in expected else None


def _near(value: object, words: list[str]) -> str | None:
    near = difflib.get_close_matches(str(value), words, n=1)
    return f"did you mean {near[0]!r}?" if near else None


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _keys(details: ErrorDetails, written: Written) -> Keys:
    """Return the place of an error in the words of the file, without the members of unions that lead to it."""
    walk = _Walk(written.model, written.data)
    for step in details["loc"]:
        walk = walk.by_location(step)
    if details["type"] == "missing":
        return (*walk.keys, details["loc"][-1])
    return (*walk.keys, *details.get("ctx", {}).get("at", ()))


def known_keys(written: Written, keys: Keys) -> list[str]:
    """Return the keys that people may write in the mapping at some keys."""
    models = _Walk(written.model, written.data).to(keys).models()
    names = [name for model in models for name in _fields(model) if name not in FILLED_IN]
    return list(dict.fromkeys(names))


def _needed(written: Written, keys: Keys) -> list[str]:
    models = _Walk(written.model, written.data).to(keys).models()
    if len(models) != 1 or not issubclass(models[0], BaseModel):
        return []
    return [name for name, info in models[0].model_fields.items() if info.is_required()]


@dataclass(frozen=True, slots=True)
class _Walk:
    """A way down through what was written, side by side with the types that were expected there."""

    annotation: Any
    value: Any
    keys: Keys = ()
    tagged: bool = False

    def to(self, keys: Keys) -> "_Walk":
        """Go down by keys of the file."""
        walk = self
        for key in keys:
            walk = walk.into(key)
        return walk

    def by_location(self, step: str | int) -> "_Walk":
        """Go down by one step of pydantic's location, which stays where it is for a member of a union."""
        is_tag = not self.tagged and len(self.models(any_kind=True)) > 1 and step == _get(self.value, "kind")
        if is_tag:
            return _Walk(self.annotation, self.value, self.keys, tagged=True)
        return self.into(step) if _has(self.value, step) else self

    def into(self, key: str | int) -> "_Walk":
        """Go down to the value of a key or an index."""
        return _Walk(Union[tuple(self._below(key)) or (Any,)], _get(self.value, key), (*self.keys, key))  # noqa: UP007

    def models(self, any_kind: bool = False) -> list[type]:
        """Return the models that the value here may be, by its kind where it has one."""
        found = [each for each in _members(self.annotation) if isinstance(each, type) and _fields(each)]
        kind = _get(self.value, "kind")
        fitting = [model for model in found if kind in _kinds(model)]
        return found if any_kind or not fitting else fitting

    def _below(self, key: str | int) -> list[Any]:
        by_name = [_fields(model)[str(key)] for model in self.models() if str(key) in _fields(model)]
        inside = [get_args(each) for each in _members(self.annotation) if get_origin(each) in (tuple, dict, list)]
        return by_name or [args[1] if isinstance(key, str) and len(args) > 1 else args[0] for args in inside]


def _members(annotation: Any) -> list[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _members(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [member for each in get_args(annotation) for member in _members(each)]
    return [annotation]


def _fields(model: type) -> dict[str, Any]:
    if get_origin(model) is None and issubclass(model, BaseModel):
        return {name: info.annotation for name, info in model.model_fields.items()}
    if is_dataclass(model):
        hints = get_type_hints(model, include_extras=True)
        return {each.name: hints[each.name] for each in fields(model)}
    return {}


def _kinds(model: type) -> list[str]:
    annotation = _fields(model).get("kind")
    return list(get_args(annotation)) if get_origin(annotation) is Literal else []


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list | tuple) and isinstance(step, int) and step < len(value)


def _get(value: Any, step: str | int) -> Any:
    return value[step] if _has(value, step) else None
