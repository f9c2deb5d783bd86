"""How a chart of the report becomes a drawing: its colours are the page's own, and one that fails is told, not raised.

Altair and the engine that draws are loaded when the first chart is drawn: they take a second, and no round waits for
them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from drysweep_pipeline.reports.svg import plain_svg

# The page says what these are, in light and in dark; an SVG passes a colour on as it was written.
INK, MUTED, GRID, PAPER = "var(--ink)", "var(--muted)", "var(--line)", "var(--paper)"
FRESH, KNOWN, CURVE, BAND = "var(--fresh)", "var(--known)", "var(--curve)", "var(--band)"


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart: SVG that holds shapes and text only, and what it shows in a sentence for who cannot see it.

    ``svg`` is None where it could not be drawn, ``undrawn`` says why then. ``narrow`` is the same for a narrow page,
    None where a chart has one width only.
    """

    svg: str | None
    says: str
    undrawn: str | None = None
    narrow: str | None = None


def chart(says: str, wide: Callable[[], Any], narrow: Callable[[], Any] | None = None) -> Chart:
    """Return a drawn chart. A picture is no reason to lose a report, so whatever goes wrong is said in its place."""
    try:
        return Chart(_drawn(wide()), says, narrow=_drawn(narrow()) if narrow else None)
    except BaseException as error:
        # The engine is compiled, and what it panics with is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = (str(error).strip().splitlines() or ["no reason given"])[0]
        return Chart(None, says, f"{type(error).__name__}: {why}")


def _drawn(chart: Any) -> str:
    import vl_convert

    config = {
        "background": "transparent",
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": {
            "labelColor": INK,
            "titleColor": MUTED,
            "gridColor": GRID,
            "domainColor": GRID,
            "tickColor": GRID,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "padding": 14,
        "text": {"color": INK, "fontSize": 12},
        # What the page says beside a chart is enough; every mark by itself would be read out one after the other.
        "aria": False,
    }
    # The engine refuses what it cannot draw, and to hold a chart against a schema before takes longer than to build it.
    specification = chart.to_dict(validate=False)
    return plain_svg(vl_convert.vegalite_to_svg(specification, config=config, allowed_base_urls=[]))


def ticks(most: int) -> list[int]:
    """Return up to six whole numbers for an axis of counts, from 0 on."""
    step = next(each * 10**power for power in range(12) for each in (1, 2, 5) if each * 10**power * 5 >= most)
    return list(range(0, most + 1, step))
