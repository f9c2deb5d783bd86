"""The discovery curve as a picture by itself, for pages that are not ours: in colours of its own, on its own ground."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from drysweep_pipeline.convergence import CONVERGED_AT
from drysweep_pipeline.history import history, looks
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import charts
from drysweep_pipeline.reports.figures import figures

_STYLE = Path(__file__).parent / "page" / "report.css"
_NAMED = re.compile(r"var\((--\w+)\)")
_COLOUR = re.compile(r"(--\w+): (#[0-9a-f]{6});")


def curve(home: Home, sweep: str, campaign: str) -> charts.Chart | None:
    """Return the discovery curve of a campaign as a whole SVG file; None where no round was decided."""
    with history(home) as connection:
        past = Past(connection, sweep, campaign)
        head, points = past.head(), figures(past.rounds(), looks.arrivals(past), ()).curve
        until = next((event["round"] for event in past.events() if event["name"] == CONVERGED_AT), None)
    if not points:
        return None
    drawn = charts.discovery(points, head["k"], head["quiet"], until, is_for_phones=False)
    return replace(drawn, svg=_whole(drawn.svg)) if drawn.svg else drawn


def _whole(svg: str) -> str:
    """Return a drawing of the report's page as a file that needs no page around it: namespace, ground and colours."""
    coloured = _NAMED.sub(lambda found: _colours()[found[1]], svg)
    ground = f'<rect width="100%" height="100%" fill="{_colours()["--paper"]}" />'
    opening = re.sub(r"^<svg ", '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" ', coloured)
    return re.sub(r"^(<svg [^>]*>)", rf"\1{ground}", opening)


@cache
def _colours() -> dict[str, str]:
    """Return the colours that the report has in light, by their names in its style."""
    found: dict[str, str] = {}
    for name, colour in _COLOUR.findall(_STYLE.read_text(encoding="utf-8")):
        found.setdefault(name, colour)
    return found
