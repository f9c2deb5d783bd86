"""What a child says went wrong, as it is told on here: masked, and only then cut.

A child does not know all that is secret, so that it sends what it has to say whole, as far as one line goes: half a
secret is not known for one. It says it in parts, of which every other one is a value.
"""

from typing import Any

from drysweep_pipeline.redaction import brief, hidden

_TEXT, _VALUE = 2000, 100


def told(said: Any) -> str:
    """Return what a child said, short; what is not in parts is told as it is."""
    if not (isinstance(said, list) and all(isinstance(part, str) for part in said)):
        said = [str(said)]
    parts = (brief(part, _VALUE) if number % 2 else hidden(part, _TEXT) for number, part in enumerate(said))
    return "".join(parts)[:_TEXT]
