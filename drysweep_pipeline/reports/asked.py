"""What a report can be asked for beyond the campaign; every format takes it, and heeds what concerns it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """What is wanted of a report.

    ``rejected``: findings whose verdict is rejected are listed too, marked as such. ``raw``: CSV cells are as they were
    reported, also where a spreadsheet would take one for a formula.
    """

    rejected: bool = False
    raw: bool = False


PLAIN = Asked()
"""What every campaign gets: rejected findings are counted and not listed, and no cell is a formula."""
