"""Which environment variables a declaration names as secrets, and secrets that are written in it for all to read.

A variable is a secret when a strategy or a judge is given it, when it is filled in as ``{env.NAME}``, when a key
that ends with ``_env`` names it, or when ``redaction.env`` does.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from drysweep_pipeline.declaration.refusals import Problem, Written
from drysweep_pipeline.declaration.yaml_reader import Keys
from drysweep_pipeline.redaction import Redactor
from drysweep_pipeline.redaction.detectors import kind_of
from drysweep_pipeline.redaction.known import LEAST, known_forms

_FILLED_IN = re.compile(r"\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
# What every process is told, and no secret wherever it is passed on.
_ORDINARY = frozenset(
    ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "PWD", "LANG", "LANGUAGE", "TZ", "PYTHONPATH")
)
_HELP = "keep it in an environment variable, and name that: env: [NAME]"


def secret_values(plain: Mapping[str, Any], base: Path) -> dict[str, str]:
    """Return the values, as they are here, of the variables that a declaration names as secrets, by their names.

    ``plain``: the sweep as it is written under ``attributes``. A path that leads somewhere is no secret, unless
    ``redaction.env`` names its variable.
    """
    redaction = plain.get("redaction")
    asked = set(_names(redaction, "env"))
    elsewhere = _named({key: value for key, value in plain.items() if key != "redaction"})
    named = (asked | elsewhere).difference(_names(redaction, "plain"))
    values = {name: os.environ[name] for name in sorted(named) if name in os.environ}
    return {
        name: value
        for name, value in values.items()
        if name in asked or not (_is_ordinary(name) or _leads_somewhere(value, base))
    }


def variables(plain: Mapping[str, Any]) -> list[str]:
    """Return all environment variables that a declaration names, whatever it names them for."""
    return sorted(_named(plain))


def not_set(plain: Mapping[str, Any]) -> list[str]:
    """Return the variables under ``redaction.env`` that are not set here, so that their values cannot be known."""
    redaction = plain.get("redaction")
    named = set(_names(redaction, "env")).difference(_names(redaction, "plain"))
    return [] if is_off(plain) else sorted(name for name in named if name not in os.environ)


def too_short(plain: Mapping[str, Any], base: Path) -> list[str]:
    """Return the variables whose values are too short to be masked wherever they stand."""
    return [name for name, value in secret_values(plain, base).items() if 0 < len(value.strip()) < LEAST]


def redactor_here(plain: Mapping[str, Any], base: Path) -> Redactor:
    """Return what masks the secrets that a declaration names, all alike, for where no home has a key."""
    return Redactor(secret_values(plain, base).values(), mode="off" if is_off(plain) else "mask")


def is_off(plain: Mapping[str, Any]) -> bool:
    """Tell whether a declaration asks that nothing be masked."""
    redaction = plain.get("redaction")
    return isinstance(redaction, Mapping) and redaction.get("mode") == "off"


def written_out(written: Written, plain: dict[str, Any]) -> Iterator[Problem]:
    """Yield each secret that stands in a declaration or in the SQL beside it, instead of in a variable."""
    if is_off(plain):
        return
    known = known_forms(list(secret_values(plain, written.file.parent).values()))
    names = {value.strip(): name for name, value in secret_values(plain, written.file.parent).items()}
    for keys, text in _texts(plain, ()):
        kind = kind_of(text)
        value = next((value for form, value in known.items() if form in text), None)
        if kind is not None:
            yield _problem(written, keys, plain, f"what looks like a secret stands here: {kind}", _HELP)
        elif value is not None and keys[:1] != ("redaction",):
            name = names.get(value, "a variable")
            help = f"{_HELP}; if it is no secret, redaction: {{plain: [{name}]}}"
            yield _problem(written, keys, plain, f"the value of {name} stands here, which is kept secret", help)


def _problem(written: Written, keys: Keys, plain: dict[str, Any], what: str, help: str) -> Problem:
    if keys[-1:] == ("text",) and keys[-2] in ("query", "prompt"):
        query: Any = plain
        for key in keys[:-1]:
            query = query[key]
        keys, what = (*keys[:-1], "file"), f"{query.get('file')}: {what}"
    return Problem(keys, written.refusal(keys, what, help))


def _texts(value: Any, keys: Keys) -> Iterator[tuple[Keys, str]]:
    """Yield every text in a declaration with its keys; a key that is a text counts as one of what it stands for."""
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            if isinstance(key, str):
                yield (*keys, key), key
            yield from _texts(each, (*keys, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from _texts(each, (*keys, index))


def _named(value: Any) -> set[str]:
    """Return the variables that any part of a declaration names."""
    if isinstance(value, str):
        return set(_FILLED_IN.findall(value))
    if isinstance(value, list | tuple):
        return set().union(*map(_named, value))
    if not isinstance(value, Mapping):
        return set()
    found = {each for key, each in value.items() if str(key).endswith("_env") and isinstance(each, str)}
    return set().union(found, _names(value, "env"), *map(_named, value.values()))


def _names(value: Any, key: str) -> list[str]:
    listed = value.get(key) if isinstance(value, Mapping) else None
    return [each for each in listed if isinstance(each, str)] if isinstance(listed, list | tuple) else []


def _is_ordinary(name: str) -> bool:
    return name in _ORDINARY or name.startswith("LC_")


def _leads_somewhere(value: str, base: Path) -> bool:
    """Tell whether a value is a path, as far as can be seen: it is there, or the first folder of it is."""
    try:
        path = Path(value)
        return (base / path).exists() or (path.is_absolute() and len(path.parts) > 2 and Path(*path.parts[:2]).is_dir())
    except (OSError, ValueError):
        return False
