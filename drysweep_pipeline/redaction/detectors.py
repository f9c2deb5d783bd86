"""What a secret looks like: the patterns of detect-secrets, and private keys, which it knows by their first line only.

Of detect-secrets only what is a pattern is used: nothing that guesses from entropy or the names of variables, nothing
that asks a network, and not its patterns for public addresses and for the first lines of keys, which are no secrets.
Each pattern has a looser form that RE2 takes, by which columns are searched without Python.
"""

import importlib
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from drysweep_pipeline.redaction import private_keys
from drysweep_pipeline.redaction.spans import Span

# A group this long holds the secret itself; shorter ones are prefixes, such as the ghp of a token.
_LONG = 20
_NOT_USED = frozenset({"IPPublicDetector", "PrivateKeyDetector"})
# Before the password of a URL stands its user, which is worth reading.
_GROUP_IS_IT = frozenset({"BasicAuthDetector"})
# These patterns take what stands around the secret, or the name before it, for a part of it.
_AROUND = {
    "ArtifactoryDetector": re.compile(r'^[\s=:"]+|[\s"]+$'),
    "AzureStorageKeyDetector": re.compile("^AccountKey="),
}


@dataclass(frozen=True, slots=True)
class Detector:
    """One pattern: what it finds, its exact form, and the looser one for RE2."""

    kind: str
    plugin: str
    pattern: re.Pattern[str]
    loose: str

    def spans(self, text: str) -> Iterator[Span]:
        """Yield the secrets in a text."""
        for match in self.pattern.finditer(text):
            start, end = match.span(self._group(match))
            found = text[start:end]
            if (around := _AROUND.get(self.plugin)) is not None:
                start += len(found) - len(found := _without_start(around, found))
                end = start + len(found := around.sub("", found))
            yield start, end, found

    def _group(self, match: re.Match[str]) -> int:
        """Return the group of a match that is the secret, 0 where it is the whole of it."""
        groups = [(len(value), number) for number, value in enumerate(match.groups(), 1) if value]
        longest = max(groups, default=(0, 0))
        return longest[1] if longest[0] >= _LONG or (groups and self.plugin in _GROUP_IS_IT) else 0


@cache
def detectors() -> tuple[Detector, ...]:
    """Return the patterns of detect-secrets that are used."""
    return tuple(
        Detector(plugin.secret_type, plugin.__name__, pattern, _loosened(pattern))
        for plugin in _plugins()
        for pattern in map(_exact, plugin.denylist)
    )


@cache
def loose() -> str:
    """Return one pattern, for RE2, that is found wherever a detector may find a secret."""
    return "|".join(dict.fromkeys([*(each.loose for each in detectors()), *private_keys.LOOSE]))


def detected(text: str) -> Iterator[Span]:
    """Yield what looks like a secret in a text; what is found may overlap."""
    for detector in detectors():
        yield from detector.spans(text)
    yield from private_keys.private_keys(text)


def kind_of(text: str) -> str | None:
    """Return what kind of secret stands in a text, None where none is known."""
    if next(private_keys.private_keys(text), None) is not None:
        return "Private Key"
    return next((each.kind for each in detectors() if next(each.spans(text), None) is not None), None)


def _plugins() -> list[Any]:
    # Not by its dotted name: an import that was interrupted leaves the module there, and not in its parent.
    from detect_secrets import plugins
    from detect_secrets.plugins.base import RegexBasedDetector

    found = []
    for module in sorted(each.name for each in pkgutil.iter_modules(plugins.__path__)):
        members = vars(importlib.import_module(f"detect_secrets.plugins.{module}")).values()
        found += [
            each
            for each in members
            if isinstance(each, type) and issubclass(each, RegexBasedDetector) and each is not RegexBasedDetector
        ]
    unique = {plugin.__name__: plugin for plugin in found if not isinstance(plugin.denylist, property)}
    return [plugin for name, plugin in sorted(unique.items()) if name not in _NOT_USED]


def _exact(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Return a pattern that means by letters and digits what RE2 does, and takes the last part of a token whole."""
    text = re.sub(r"\*\?$", "*", pattern.pattern)
    return re.compile(text, (pattern.flags & ~re.UNICODE) | re.ASCII)


def _loosened(pattern: re.Pattern[str]) -> str:
    """Return a pattern as RE2 takes it: found wherever the pattern is, since it asks less of what is around."""
    text = pattern.pattern.replace(r"(?:(?<=\W)|(?<=^))", "")
    text = re.sub(r"\(\?![^)]*\)", "", text)
    # Of the blanks that Python knows, RE2 leaves one out.
    text = text.replace(r"\s*", r"[\s\v]*").replace(r"(?:\s|", r"(?:[\s\v]|")
    # RE2 repeats nothing a thousand times or more, counted with what is repeated inside.
    text = re.sub(r"\{(\d+),\d{4,}\}", r"{\1,}", text)
    return f"(?i:{text})" if pattern.flags & re.IGNORECASE else f"(?:{text})"


def _without_start(around: re.Pattern[str], found: str) -> str:
    match = around.match(found)
    return found[match.end() :] if match else found
