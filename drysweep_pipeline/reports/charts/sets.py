"""Who found what: the sets of strategies that shared findings, as columns over a matrix of dots (an UpSet plot)."""

from collections.abc import Sequence
from typing import Any

from drysweep_pipeline.reports.charts.drawing import FRESH, GRID, INK, KNOWN, PAPER, Chart, chart, ticks
from drysweep_pipeline.reports.figures import Shared

SETS = 15
STRATEGIES = 12
_WIDTH = 490


def overlap(sets: Sequence[Shared], yields: Sequence[tuple[str, int, int]]) -> Chart:
    """Draw how many findings each set of strategies shared, the largest ``SETS`` of them.

    ``yields``: strategy, how many it found, how many of them alone; the first ``STRATEGIES`` are drawn.
    """
    return chart(_says(sets, yields), wide=lambda: _drawn(sets, yields))


def _drawn(sets: Sequence[Shared], yields: Sequence[tuple[str, int, int]]) -> Any:
    import altair as alt

    strategies = [name for name, _, _ in yields[:STRATEGIES]]
    columns = [(str(number), each) for number, each in enumerate(sets[:SETS])]
    order = [number for number, _ in columns]
    scale = alt.Scale(domain=order, paddingInner=0.3)
    x = alt.X("set:O", sort=order, scale=scale, axis=None)
    width = min(_WIDTH, 34 * max(4, len(columns)))
    upper = _sizes(alt, x, columns).properties(width=width, height=130)
    lower = _matrix(alt, x, columns, strategies).properties(width=width, height=24 * len(strategies))
    right = _found(alt, yields[:STRATEGIES], strategies).properties(width=120, height=24 * len(strategies))
    return alt.vconcat(upper, alt.hconcat(lower, right, spacing=16), spacing=4)


def _sizes(alt: Any, x: Any, columns: Sequence[tuple[str, Shared]]) -> Any:
    data = alt.Data(
        values=[
            {"set": number, "findings": each.findings, "one": len(each.strategies) == 1} for number, each in columns
        ]
    )
    most = max(each.findings for _, each in columns)
    y = alt.Y("findings:Q", title="findings", axis=alt.Axis(values=ticks(most), format=",d"))
    colour = alt.condition("datum.one", alt.value(FRESH), alt.value(KNOWN))
    bars = alt.Chart(data).mark_bar().encode(x=x, y=y, color=colour)
    over = alt.Chart(data).encode(x=x, y=y, text="findings:Q")
    return bars + over.mark_text(dy=-9, stroke=PAPER, strokeWidth=4) + over.mark_text(dy=-9)


def _matrix(alt: Any, x: Any, columns: Sequence[tuple[str, Shared]], strategies: Sequence[str]) -> Any:
    axis = alt.Axis(title=None, ticks=False, domain=False, labelPadding=10, labelLimit=190)
    y = alt.Y("strategy:N", sort=list(strategies), scale=alt.Scale(domain=list(strategies)), axis=axis)
    dots = [
        {"set": number, "strategy": name, "in": name in each.strategies}
        for number, each in columns
        for name in strategies
    ]
    joined = [dot for dot in dots if dot["in"]]
    every, members = alt.Chart(alt.Data(values=dots)), alt.Chart(alt.Data(values=joined))
    colour = alt.condition("datum.in", alt.value(INK), alt.value(GRID))
    rule = members.mark_line(color=INK, strokeWidth=2).encode(x=x, y=y, detail="set:N")
    return rule + every.mark_point(filled=True, size=110, opacity=1).encode(x=x, y=y, color=colour)


def _found(alt: Any, yields: Sequence[tuple[str, int, int]], strategies: Sequence[str]) -> Any:
    values = [{"strategy": name, "found": found, "text": f"{found}, {alone} alone"} for name, found, alone in yields]
    alone = [{"strategy": name, "found": alone} for name, _, alone in yields]
    y = alt.Y("strategy:N", sort=list(strategies), scale=alt.Scale(domain=list(strategies)), axis=None)
    most = max((found for _, found, _ in yields), default=1)
    x = alt.X("found:Q", axis=None, scale=alt.Scale(domain=[0, max(1, most) * 2.4]))
    data = alt.Chart(alt.Data(values=values))
    bars = data.mark_bar(color=KNOWN, height=12).encode(x=x, y=y)
    own = alt.Chart(alt.Data(values=alone)).mark_bar(color=FRESH, height=12).encode(x=x, y=y)
    return bars + own + data.mark_text(align="left", dx=5).encode(x=x, y=y, text="text:N")


def _says(sets: Sequence[Shared], yields: Sequence[tuple[str, int, int]]) -> str:
    each = "; ".join(f"{name} found {found}, {alone} of them alone" for name, found, alone in yields[:STRATEGIES])
    shared = sum(one.findings for one in sets if len(one.strategies) > 1)
    return f"{each}. {shared} were found by more than one."
