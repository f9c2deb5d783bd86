"""The texts that people bring: what a ledger, a terminal or a reader could not take is refused, and says which."""

import re
from collections.abc import Mapping

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.redaction import hidden

LONGEST = 10_000
"""How many characters a reason, or any other text that somebody brings, may have."""
# No control characters, and no halves of characters; a reason may have more than one line.
_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]*")
_LINES = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]*")


def check_texts(act: str, texts: Mapping[str, str | None]) -> None:
    """Raise ``Refused`` for a text by its name that is too long or holds what is no text; a reason may have lines."""
    for name, text in texts.items():
        if text is None:
            continue
        if len(text) > LONGEST:
            raise Refused(f"{act}: {name} is longer than {LONGEST} characters", key=f"{act}.{name}")
        if not (_LINES if name == "reason" else _LINE).fullmatch(text):
            what = f"{act}: {name} holds a character that is no text: {hidden(text, 60)!r}"
            raise Refused(what, key=f"{act}.{name}")
