"""Whether fingerprints are good: one that merges findings of different kinds ends the search too early."""

from dataclasses import dataclass

from drysweep_pipeline import landing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.scratch import scratch

_MERGED = """
    select any_value(subject), list_sort(list(distinct kind))
    from read_parquet(?)
    group by fp
    having count(distinct subject || chr(0) || kind) > 1
    order by 1
"""


@dataclass(frozen=True, slots=True)
class Merged:
    """Fingerprints of a round under which different findings were reported."""

    fingerprints: int = 0
    example: str | None = None

    @property
    def sentence(self) -> str | None:
        """What to tell a person, or None where nothing is merged."""
        if not self.fingerprints:
            return None
        return f"{self.fingerprints} fingerprints merge distinct findings, for instance {self.example}; add a field"


def merged(campaign: Campaign, round: int) -> Merged:
    """Return the fingerprints of a round that merge findings with different subjects or kinds."""
    files = [str(file) for file in landing.readable(campaign.folder(round))]
    if not files:
        return Merged()
    with scratch() as connection:
        rows = connection.execute(_MERGED, [files]).fetchall()
    return Merged(len(rows), f"{rows[0][0]}: {', '.join(rows[0][1])}" if rows else None)
