"""Findings that are most likely one finding in other words: near doubles, which the fingerprint tells apart.

Pure, and bounded: what it compares does not grow with the square of the findings. What follows from doubles is for
``diagnosis`` to say.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain, islice

from drysweep_pipeline.values import Rule

SIMILAR = 0.85
SIMILAR_LENGTH = 12
"""Texts are alike from this ratio on; shorter words are alike by chance, as ``no_tls`` and ``no_ttl`` are."""
NEAR_LINES = 5
"""Lines of one snapshot that are further apart are different places."""
PAIRS = 20_000
PAIRS_LEAST = 40
LENGTH = 200
"""How many pairs are looked at in all, or at least for each finding, and how many characters of a text."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding as far as it can be another one's double; ``round`` is 0 where the campaign did not find it first."""

    label: str
    values: tuple[str, ...]
    round: int = 0
    rejected: bool = False
    blocks: bool = True
    strategies: tuple[str, ...] = ()
    subject: str | None = None
    path: str | None = None
    line: int | None = None


def doubles(
    rule: Rule, findings: Sequence[Finding], late: Sequence[Finding]
) -> Iterator[tuple[Finding, Finding, tuple[int, ...]]]:
    """Yield each late finding that has an earlier near double, that double, and the fields in which they differ.

    A near double is about the same place, and its values are the same after dropping case, digits and punctuation, or
    all the same but one, which is a similar text.
    """
    by_letters: dict[tuple[str, ...], list[Finding]] = defaultdict(list)
    by_others: dict[tuple[int, tuple[str, ...]], list[Finding]] = defaultdict(list)
    for each in sorted(findings, key=lambda each: each.round, reverse=True):
        by_letters[_letters(each)].append(each)
        for index in range(len(each.values)):
            by_others[index, _others(each, index)].append(each)
    most = max(PAIRS_LEAST, PAIRS // max(1, len(late)))
    for new in late:
        alike = by_letters[_letters(new)] if any(_letters(new)) else []
        like = chain.from_iterable(by_others[index, _others(new, index)] for index in range(len(new.values)))
        candidates = chain(((old, True) for old in alike), ((old, False) for old in like))
        for old, same_letters in islice(candidates, most):
            if _is_double(rule, new, old, same_letters=same_letters):
                yield new, old, varied(new, old)
                break


def varied(one: Finding, other: Finding) -> tuple[int, ...]:
    """Return the fields in which two findings differ."""
    return tuple(i for i, pair in enumerate(zip(one.values, other.values, strict=True)) if pair[0] != pair[1])


def _is_double(rule: Rule, new: Finding, old: Finding, *, same_letters: bool) -> bool:
    if old.round >= new.round or old.values == new.values or not _same_place(rule, new, old):
        return False
    pairs = [(new.values[index], old.values[index]) for index in varied(new, old)]
    if any(_is_numbered(*pair) for pair in pairs):
        return False
    return same_letters or all(_similar(*pair) for pair in pairs)


def _is_numbered(one: str, other: str) -> bool:
    """Tell whether two names differ by a number, such as those of ports: numbered things are as many things."""
    if any(letter.isspace() for letter in one + other) or not _only_letters(one):
        return False  # a sentence may well say a line or a time, and a bare number may be one
    return _only_letters(one) == _only_letters(other) and _spelled(one) != _spelled(other)


def _same_place(rule: Rule, new: Finding, old: Finding) -> bool:
    """Tell whether two findings can be about one thing: the same file, near lines, the same subject.

    Numbered things differ by a digit and are as many findings, so a subject counts as the same only where it is
    spelled with the same letters and digits, or where the place is known to be the same or nothing says what it is.
    """
    if new.path and old.path and new.path != old.path:
        return False
    lined = new.line is not None and old.line is not None
    # Between the rounds of a clean campaign the material moves, and lines with it.
    if rule is Rule.DRY and lined and abs((new.line or 0) - (old.line or 0)) > NEAR_LINES:
        return False
    if _spelled(new.subject or "") == _spelled(old.subject or ""):
        return True
    if 0 not in varied(new, old):
        return False
    return bool(new.path and old.path and lined) or (len(new.values) == 1 and not (new.path or old.path))


def _similar(one: str, other: str) -> bool:
    """Tell whether two texts say the same in other words or spelling, whatever the order of their words."""
    one, other = _sorted_words(one), _sorted_words(other)
    if min(len(one), len(other)) < SIMILAR_LENGTH:
        return False
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.real_quick_ratio() >= SIMILAR and matcher.quick_ratio() >= SIMILAR and matcher.ratio() >= SIMILAR


def _letters(finding: Finding) -> tuple[str, ...]:
    """Return the values with case, digits and punctuation dropped."""
    return tuple(_only_letters(value) for value in finding.values)


def _only_letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalpha())


def _others(finding: Finding, index: int) -> tuple[str, ...]:
    """Return the values but the one at an index."""
    return finding.values[:index] + finding.values[index + 1 :]


def _spelled(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def _sorted_words(text: str) -> str:
    words = "".join(each if each.isalnum() else " " for each in text[:LENGTH].casefold()).split()
    return " ".join(sorted(words))
