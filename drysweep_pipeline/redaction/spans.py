"""Where a secret stands in a text."""

from typing import TypeAlias

Span: TypeAlias = tuple[int, int, str]
"""Where a secret begins and ends in a text, and the secret as it is told from others."""
