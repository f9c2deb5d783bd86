"""What varies between rounds: which angle a strategy takes, and the seed of its random choices (R15).

Pure: the same declaration, campaign and round give the same plan, which is recorded before the round runs.
"""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from drysweep_pipeline.declaration.model import Strategy


@dataclass(frozen=True, slots=True)
class Look:
    """What one strategy is asked in one round."""

    strategy: str
    angle: dict[str, Any]
    angle_index: int
    seed: int


def seed_of(*parts: str | int) -> int:
    """Return a 63-bit seed from (sweep, campaign, round, strategy) or any part of it."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def look(strategy: Strategy, sweep: str, campaign: str, round: int, offset: int) -> Look:
    """Return what a strategy is asked in a round; ``offset`` is the rounds that the sweep's earlier campaigns took."""
    count = len(strategy.angles)
    order = list(range(count))
    if strategy.angle_order == "shuffled":
        # Deterministic for the campaign, so that a restarted round takes the same angle.
        random.Random(seed_of(sweep, campaign, strategy.name)).shuffle(order)  # noqa: S311 - variation, not secrecy
    index = order[(offset + round - 1) % count] if count else 0
    angle = dict(strategy.angles[index]) if count else {}
    return Look(strategy.name, angle, index, seed_of(sweep, campaign, round, strategy.name))


def angles_of(strategies: Iterable[Strategy]) -> set[tuple[str, int]]:
    """Return every (strategy, angle index) that is declared; who declares no angle looks along one, the first."""
    return {(strategy.name, index) for strategy in strategies for index in range(max(1, len(strategy.angles)))}
