"""The redactor: secrets in texts, in values as JSON has them, and in tables are replaced by marks.

Equal secrets get equal marks, so that a finding about a secret stays one finding. Masking what is masked changes
nothing.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from drysweep_pipeline.redaction.detectors import detected, loose
from drysweep_pipeline.redaction.known import LEAST, known_forms
from drysweep_pipeline.redaction.spans import Span

if TYPE_CHECKING:
    import pyarrow as pa

Mode: TypeAlias = Literal["hash", "mask", "off"]
_MARK = re.compile(r"(\[secret(?::[0-9a-f]{12})?\])")
_DIGITS = 12
# From here on it pays to have RE2 look first, although it reads its pattern anew each time.
_LONG = 2_000
_LOOKED_AT = 40
# More than any number has that a table or JSON keeps exactly.
_MOST_DIGITS = 80


class Redactor:
    """Masks known ``values`` and what detectors find.

    ``mode``: ``hash`` marks a secret by twelve hex digits of its HMAC-SHA256 under the key that ``key`` gives, which is
    asked for once and only when there is something to mask; ``mask``, or no key, marks all secrets alike; ``off`` masks
    nothing.
    """

    def __init__(self, values: Iterable[str] = (), key: Callable[[], bytes] | None = None, mode: Mode = "hash") -> None:
        self.mode = mode
        self._values, self._any_key = tuple(values), key
        self._known = known_forms(list(self._values)) if mode != "off" else {}
        self._key_of = key if mode == "hash" else None
        forms = sorted(self._known, key=len, reverse=True)
        # Of what is very long the beginning is looked for: no pattern may be of any size.
        begins = sorted({form[:_LOOKED_AT] for form in forms}, key=len, reverse=True)
        self._begun = {begin: [form for form in forms if begin.startswith(form[:_LOOKED_AT])] for begin in begins}
        # Looking ahead finds those too that begin inside of another.
        self._forms = re.compile(f"(?=({'|'.join(map(re.escape, begins))}))") if begins else None

    def text(self, text: str) -> str:
        """Return a text with a mark in place of each secret."""
        if self.mode == "off" or not self._may_hold(text):
            return text
        # What stands between two marks is looked at by itself: a mark is never read as a part of a secret.
        return "".join(part if number % 2 else self._masked(part) for number, part in enumerate(_MARK.split(text)))

    def maybe(self, text: str | None) -> str | None:
        """Return a text that may be missing, masked."""
        return None if text is None else self.text(text)

    def distinct(self, text: str) -> str:
        """Return a text masked such that different texts stay different, whatever the mode."""
        return text if self.mode == "off" else Redactor(self._values, self._any_key, "hash").text(text)

    def data(self, value: Any, keep: Container[str] | None = None) -> Any:
        """Return a value as JSON has them, with the texts in it masked, and numbers that are known secrets.

        Keys are masked as well where ``keep`` is given, but for those that it holds.
        """
        if self.mode == "off" or value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, int | float | Decimal):
            secret = self._numbers.get(-value if value < 0 else value)
            # As a text with this number in it is masked, but that all ways of writing the number are one.
            return value if secret is None else f"{'-' if value < 0 else ''}{self._mark(secret)}"
        if isinstance(value, Mapping):
            names = self._keys_of(value, keep)
            return {names[key]: self.data(each, keep) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)([self.data(each, keep) for each in value])
        return value

    def table(
        self, table: "pa.Table", keep: Container[str], as_json: Mapping[str, Callable[[Any], str]] | None = None
    ) -> "pa.Table":
        """Return a table with the secrets in its columns masked, and in their names but for those in ``keep``.

        ``as_json``: the columns whose texts are JSON, each with what writes a value of it again.
        """
        if self.mode == "off":
            return table
        # Most that is masked is a line to be shown, which needs none of Arrow.
        from drysweep_pipeline.redaction import columns

        written = as_json or {}
        inside = {name: partial(self._json, write=write, keep=keep) for name, write in written.items()}
        if table.num_rows:
            wanted = columns.Wanted(self.pattern, partial(self.data, keep=keep), self.numbers, inside)
            table = columns.masked(table, wanted)
        names = self._keys_of(table.column_names, keep)
        return table.rename_columns([names[name] for name in table.column_names])

    @cached_property
    def pattern(self) -> str:
        """One pattern, for RE2, that is found wherever there may be a secret."""
        from drysweep_pipeline.redaction import columns

        return "|".join([*map(columns.quoted, self._begun), loose()])

    @property
    def numbers(self) -> Sequence[str]:
        """The known secrets that are whole numbers."""
        return [str(number) for number in self._numbers]

    @cached_property
    def _numbers(self) -> Mapping[int | float | Decimal, str]:
        digits = (value for form, value in self._known.items() if form == value and value.isascii() and value.isdigit())
        found: dict[int | float | Decimal, str] = {int(value): value for value in digits if len(value) <= _MOST_DIGITS}
        return {number: value for number, value in found.items() if len(str(number)) >= LEAST}

    @cached_property
    def _loose(self) -> re.Pattern[str]:
        return re.compile(loose(), re.ASCII)

    def _may_hold(self, text: str) -> bool:
        if len(text) >= _LONG:
            from drysweep_pipeline.redaction import columns

            return columns.is_found(self.pattern, text)
        return bool(self._loose.search(text) or (self._forms and self._forms.search(text)))

    def _keys_of(self, names: Iterable[Any], keep: Container[str] | None) -> dict[Any, Any]:
        """Return names with what each is called once it is masked; two that would be one are numbered."""
        found = {name: self._key_of_one(name, keep) for name in names}
        if len(set(found.values())) == len(found):
            return found
        taken = {masked for name, masked in found.items() if masked == name}
        # In an order that does not depend on theirs, so that the same names are always numbered alike.
        for name in sorted((name for name, masked in found.items() if masked != name), key=str):
            found[name] = _free(found[name], taken)
            taken.add(found[name])
        return found

    def _key_of_one(self, name: Any, keep: Container[str] | None) -> Any:
        return name if keep is None or name in keep or not isinstance(name, str) else self.text(name)

    def _json(self, text: str, write: Callable[[Any], str], keep: Container[str]) -> str:
        value = json.loads(text)
        masked = self.data(value, keep)
        return text if masked == value else write(masked)

    def _masked(self, text: str) -> str:
        parts, end = [], 0
        for start, stop, secret in _apart(self._spans(text)):
            parts += [text[end:start], self._mark(secret if secret is not None else text[start:stop])]
            end = stop
        return "".join([*parts, text[end:]])

    def _spans(self, text: str) -> Iterator[Span]:
        for match in self._forms.finditer(text) if self._forms else ():
            start = match.start()
            form = next((form for form in self._begun[match[1]] if text.startswith(form, start)), None)
            if form is not None:
                yield start, start + len(form), self._known[form]
        yield from detected(text)

    def _mark(self, secret: str) -> str:
        if self._key is None:
            return "[secret]"
        digest = hmac.new(self._key, secret.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"[secret:{digest[:_DIGITS]}]"

    @cached_property
    def _key(self) -> bytes | None:
        return self._key_of() if self._key_of is not None else None


def _free(name: str, taken: Container[str]) -> str:
    return next(each for number in count() if (each := f"{name}_{number}" if number else name) not in taken)


def _apart(spans: Iterable[Span]) -> Iterator[tuple[int, int, str | None]]:
    """Yield spans that overlap as one, with the secret of the one that covers all of it, if one does."""
    # Known secrets come first, and sorting keeps them there.
    ordered = sorted((span for span in spans if span[0] < span[1]), key=lambda span: (span[0], -span[1]))
    group: list[Span] = []
    end = 0
    for span in ordered:
        if group and span[0] >= end:
            yield _joined(group, end)
            group = []
        end = max(end, span[1]) if group else span[1]
        group.append(span)
    if group:
        yield _joined(group, end)


def _joined(group: list[Span], end: int) -> tuple[int, int, str | None]:
    start = group[0][0]
    return start, end, next((secret for first, last, secret in group if (first, last) == (start, end)), None)
