"""Canaries: what a strategy should have reported, what it did, and what may not be told of what was planted.

What stems from planted material is known by a *planted name*: a path, the name of a service, or a declared mark, none
of which the material or the sweep mentions anywhere. So a finding that is of one is no finding, and whatever mentions
one has seen a canary. Making the planted copy is ``material.planting``, looking for names in texts is ``mentions``.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drysweep_pipeline import fingerprint
from drysweep_pipeline.mentions import folded, mentioning, steady
from drysweep_pipeline.variation import Look

if TYPE_CHECKING:
    from drysweep_pipeline.declaration.model import Canaries, Canary, Strategy, Sweep

SHORTEST = 4
# What JSON writes another way, so that a name with it would be overlooked in one.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclass(frozen=True, slots=True)
class Recall:
    """What became of the canaries that a strategy was expected to report in a round; ``missed`` are their names.

    ``withheld`` counts the rows that were left out because they are of something planted, ``scrubbed`` those that
    landed without the planted names which they told beside what they are of.
    """

    expected: int
    seen: int
    missed: tuple[str, ...] = ()
    withheld: int = 0
    scrubbed: int = 0

    @property
    def reason(self) -> str | None:
        """Why the strategy counts as not run, or None where it saw all of them."""
        if not self.missed:
            return None
        many = "canary" if len(self.missed) == 1 else "canaries"
        return f"missed the {many} {', '.join(self.missed)}"


def expected(sweep: "Sweep", look: Look) -> dict[str, str]:
    """Return the identities that a strategy should report at a look, each with the name of its canary."""
    canaries = sweep.canaries.expect if sweep.canaries is not None else ()
    return {
        identity_of(canary, sweep.fingerprint.fields): canary.name
        for canary in canaries
        if canary.expected(look.strategy, look.angle)
    }


def identity_of(canary: "Canary", fields: Sequence[str]) -> str:
    """Return the canonical text of what a canary is to be reported as."""
    return fingerprint.identity([canary.finding[name] for name in fields])


def recall(wanted: Mapping[str, str], reported: Iterable[str]) -> Recall:
    """Return which of the wanted identities were reported, and the names of the canaries that were not."""
    seen = set(wanted) & set(reported)
    missed = tuple(sorted(name for identity, name in wanted.items() if identity not in seen))
    return Recall(len(wanted), len(seen), missed)


def problems(sweep: "Sweep", names: Sequence[str]) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """Yield (key below ``canaries``, what, help) for planted names and canaries that could be taken for the real."""
    assert sweep.canaries is not None, "nobody asks where nothing is planted"
    words = _vocabulary(sweep)
    for name in names:
        at: tuple[str | int, ...] = ("marks",) if name in sweep.canaries.marks else ("path",)
        if len(name) < SHORTEST:
            yield at, f"the planted name {name!r} is too short", f"give it {SHORTEST} letters or more"
        elif _ESCAPED.search(name):
            yield at, f"the planted name {name!r} holds a quote, a backslash or a control character", "leave it out"
        elif unicodedata.normalize("NFC", name) != name:
            help = "give it the composed form, NFC, in which letters and their accents are one"
            yield at, f"the planted name {name!r} is not in NFC", help
        elif not steady(name):
            yield at, f"the planted name {name!r} has letters without one lower-case form", "leave them out"
        elif folded(name) in words:
            yield at, f"the sweep itself says {name!r}, which is planted", "plant something by another name"
    for index, canary in enumerate(sweep.canaries.expect):
        if not any(map(mentioning(names), map(str, canary.finding.values()))):
            what = f"the finding of the canary {canary.name!r} names nothing that is planted"
            help = "a real finding could be the same: name its path or service, or a mark"
            yield ("expect", index, "finding"), what, help


def unwatched(sweep: "Sweep") -> list[str]:
    """Return the strategies that are expected to report no canary, whatever their angle."""
    return [each.name for each in sweep.strategies if not watched(sweep, each)]


def watched(sweep: "Sweep", strategy: "Strategy") -> bool:
    """Tell whether a strategy is expected to report a canary at one of its angles."""
    canaries = sweep.canaries.expect if sweep.canaries is not None else ()
    return any(canary.expected(strategy.name, angle) for canary in canaries for angle in strategy.angles or ({},))


def not_planted(canaries: "Canaries", texts: Iterable[str]) -> list[str]:
    """Return the marks that stand in none of the planted texts."""
    low = [folded(text) for text in texts]
    return [mark for mark in canaries.marks if not any(folded(mark) in text for text in low)]


def _vocabulary(sweep: "Sweep") -> str:
    """Return all that a sweep says, its queries included, without what it says of canaries."""
    said: dict[str, Any] = sweep.model_dump(mode="json", exclude={"canaries"})
    return folded(json.dumps(said, ensure_ascii=False))
