"""The charts of a report, as SVG whose colours are the page's own: the discovery curve, and who shared what.

Altair and the engine that draws are loaded when the first chart is drawn: they take a second, and no round waits for
them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from drysweep_pipeline.reports.figures import Point, Shared
from drysweep_pipeline.reports.svg import plain_svg

SETS = 15
STRATEGIES = 12
_WIDTH = 640
# The page says what these are, in light and in dark; an SVG passes a colour on as it was written.
_INK, _MUTED, _GRID, _PAPER = "var(--ink)", "var(--muted)", "var(--line)", "var(--paper)"
_FRESH, _KNOWN, _CURVE, _BAND = "var(--fresh)", "var(--known)", "var(--curve)", "var(--band)"


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawn chart: SVG that holds shapes and text only, and what it shows in a sentence for who cannot see it.

    ``svg`` is None where it could not be drawn, ``undrawn`` says why then.
    """

    svg: str | None
    says: str
    undrawn: str | None = None


def discovery(curve: Sequence[Point], k: int, quiet: int, until: int | None = None) -> Chart:
    """Draw what each round brought and how that added up, with what is to be known of each round below it.

    ``quiet``: how many rounds count toward ``k``, at the end or, where the campaign looked beyond its convergence, up
    to the round ``until``.
    """
    return _chart(lambda: _discovery(curve, k, quiet, until), _discovery_says(curve, k, quiet, until))


def _discovery(curve: Sequence[Point], k: int, quiet: int, until: int | None) -> Any:
    import altair as alt

    rounds = [str(point.round) for point in curve]
    x = alt.X("round:O", sort=rounds, scale=alt.Scale(domain=rounds, paddingInner=0.25), title=None, axis=None)
    layers = (
        *_band(alt, x, rounds, k, quiet, until),
        *_bars(alt, x, curve),
        *_line(alt, x, curve),
        *_numbers(alt, x, curve),
    )
    above = alt.layer(*layers).properties(width=_WIDTH, height=240)
    return alt.vconcat(above, _marks(alt, rounds, curve), spacing=6)


def _band(alt: Any, x: Any, rounds: Sequence[str], k: int, quiet: int, until: int | None) -> list[Any]:
    if not quiet:
        return []
    counted = [{"round": each} for each in rounds[:until][-quiet:]]
    ground = alt.Chart(alt.Data(values=counted)).mark_bar(color=_BAND, width=alt.RelativeBandSize(1.35)).encode(x=x)
    said = alt.Chart(alt.Data(values=counted[-1:])).mark_text(
        text=f"{quiet} quiet of K = {k}",
        align="right",
        baseline="top",
        dx=_WIDTH / len(rounds) / 2 - 6,
        y=6,
        fontSize=12,
    )
    return [ground, said.encode(x=x)]


def _bars(alt: Any, x: Any, curve: Sequence[Point]) -> list[Any]:
    most = max((point.by_then for point in curve), default=0)
    # With room above for what is said of the quiet rounds.
    scale = alt.Scale(domain=[0, max(1, most) * 1.15], nice=False)
    y = alt.Y("from:Q", title="findings", axis=alt.Axis(values=_ticks(most), format=",d"), scale=scale)
    parts = [
        {"round": str(point.round), "from": low, "to": low + many, "which": which}
        for point in curve
        for low, many, which in ((0, point.fresh, "fresh"), (point.fresh, point.known, "known"))
        if many
    ]
    colour = alt.condition("datum.which == 'fresh'", alt.value(_FRESH), alt.value(_KNOWN))
    return [alt.Chart(alt.Data(values=parts)).mark_bar().encode(x=x, y=y, y2="to:Q", color=colour)]


def _numbers(alt: Any, x: Any, curve: Sequence[Point]) -> list[Any]:
    """Write over each bar what is fresh, and after a plus what was known, where there is room for it."""
    if len(curve) > 24:
        return []
    top = [
        {
            "round": str(point.round),
            "from": point.fresh + point.known,
            "text": f"{point.fresh} + {point.known}" if point.known else str(point.fresh),
        }
        for point in curve
    ]
    over = alt.Chart(alt.Data(values=top)).encode(x=x, y="from:Q", text="text:N")
    # The line may pass behind a number: it is written on a ground of its own.
    return [over.mark_text(dy=-9, stroke=_PAPER, strokeWidth=4), over.mark_text(dy=-9)]


def _line(alt: Any, x: Any, curve: Sequence[Point]) -> list[Any]:
    sums = [{"round": str(point.round), "from": point.by_then} for point in curve]
    base = alt.Chart(alt.Data(values=sums)).encode(x=x, y="from:Q")
    dots = [base.mark_point(color=_CURVE, filled=True, size=26, opacity=1)] if len(curve) <= 60 else []
    return [base.mark_line(color=_CURVE, strokeWidth=2), *dots]


def _marks(alt: Any, rounds: Sequence[str], curve: Sequence[Point]) -> Any:
    """Return the strip below: the number of each round, and a mark where it was quiet, a repeat or incomplete."""
    named = {
        "quiet": [point for point in curve if point.quiet],
        "repeat": [point for point in curve if point.repeat],
        "not all ran": [point for point in curve if not point.complete],
    }
    rows = ["round", *(name for name, points in named.items() if points)]
    shapes = {"quiet": "●", "repeat": "↻", "not all ran": "✕"}
    cells = [{"round": each, "row": "round", "text": each} for each in _thinned(rounds)]
    cells += [
        {"round": str(point.round), "row": name, "text": shapes[name]} for name in rows[1:] for point in named[name]
    ]
    scale = alt.Scale(domain=list(rounds), paddingInner=0.25)
    strip = alt.Chart(alt.Data(values=cells)).mark_text()
    axis = alt.Axis(title=None, ticks=False, domain=False, labelPadding=8)
    return strip.encode(
        x=alt.X("round:O", sort=list(rounds), scale=scale, axis=None),
        y=alt.Y("row:N", sort=rows, scale=alt.Scale(domain=rows), axis=axis),
        text="text:N",
    ).properties(width=_WIDTH, height=18 * len(rows))


def _ticks(most: int) -> list[int]:
    """Return up to six whole numbers for an axis of counts, from 0 on."""
    step = next(each * 10**power for power in range(12) for each in (1, 2, 5) if each * 10**power * 5 >= most)
    return list(range(0, most + 1, step))


def _thinned(rounds: Sequence[str]) -> Sequence[str]:
    """Return the rounds whose number there is room for, the last one among them."""
    step = -(-len(rounds) // 24)
    return rounds[::-1][::step][::-1]


def _discovery_says(curve: Sequence[Point], k: int, quiet: int, until: int | None) -> str:
    many = ", ".join(str(point.fresh) for point in curve[:40])
    rest = f" and {len(curve) - 40} more rounds" if len(curve) > 40 else ""
    met = curve[-1].by_then if curve else 0
    where = "at the end" if until is None else f"up to round {until}, where it converged"
    return f"Fresh findings a round: {many}{rest}; {met} met in all. {quiet} quiet {where}, of K = {k}."


def overlap(sets: Sequence[Shared], yields: Sequence[tuple[str, int, int]]) -> Chart:
    """Draw how many findings each set of strategies shared, the largest ``SETS`` of them.

    ``yields``: strategy, how many it found, how many of them alone; the first ``STRATEGIES`` are drawn.
    """
    return _chart(lambda: _overlap(sets, yields), _overlap_says(sets, yields))


def _overlap(sets: Sequence[Shared], yields: Sequence[tuple[str, int, int]]) -> Any:
    import altair as alt

    strategies = [name for name, _, _ in yields[:STRATEGIES]]
    columns = [(str(number), each) for number, each in enumerate(sets[:SETS])]
    order = [number for number, _ in columns]
    scale = alt.Scale(domain=order, paddingInner=0.3)
    x = alt.X("set:O", sort=order, scale=scale, axis=None)
    width = min(_WIDTH - 150, 34 * max(4, len(columns)))
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
    y = alt.Y("findings:Q", title="findings", axis=alt.Axis(values=_ticks(most), format=",d"))
    colour = alt.condition("datum.one", alt.value(_FRESH), alt.value(_KNOWN))
    bars = alt.Chart(data).mark_bar().encode(x=x, y=y, color=colour)
    over = alt.Chart(data).encode(x=x, y=y, text="findings:Q")
    return bars + over.mark_text(dy=-9, stroke=_PAPER, strokeWidth=4) + over.mark_text(dy=-9)


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
    colour = alt.condition("datum.in", alt.value(_INK), alt.value(_GRID))
    rule = members.mark_line(color=_INK, strokeWidth=2).encode(x=x, y=y, detail="set:N")
    return rule + every.mark_point(filled=True, size=110, opacity=1).encode(x=x, y=y, color=colour)


def _found(alt: Any, yields: Sequence[tuple[str, int, int]], strategies: Sequence[str]) -> Any:
    values = [{"strategy": name, "found": found, "text": f"{found}, {alone} alone"} for name, found, alone in yields]
    alone = [{"strategy": name, "found": alone} for name, _, alone in yields]
    y = alt.Y("strategy:N", sort=list(strategies), scale=alt.Scale(domain=list(strategies)), axis=None)
    most = max((found for _, found, _ in yields), default=1)
    x = alt.X("found:Q", axis=None, scale=alt.Scale(domain=[0, max(1, most) * 2.4]))
    data = alt.Chart(alt.Data(values=values))
    bars = data.mark_bar(color=_KNOWN, height=12).encode(x=x, y=y)
    own = alt.Chart(alt.Data(values=alone)).mark_bar(color=_FRESH, height=12).encode(x=x, y=y)
    return bars + own + data.mark_text(align="left", dx=5).encode(x=x, y=y, text="text:N")


def _overlap_says(sets: Sequence[Shared], yields: Sequence[tuple[str, int, int]]) -> str:
    each = "; ".join(f"{name} found {found}, {alone} of them alone" for name, found, alone in yields[:STRATEGIES])
    shared = sum(one.findings for one in sets if len(one.strategies) > 1)
    return f"{each}. {shared} were found by more than one."


def _chart(draw: Callable[[], Any], says: str) -> Chart:
    """Return a drawn chart. A picture is no reason to lose a report, so whatever goes wrong is said in its place."""
    try:
        return Chart(_drawn(draw()), says)
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
            "labelColor": _INK,
            "titleColor": _MUTED,
            "gridColor": _GRID,
            "domainColor": _GRID,
            "tickColor": _GRID,
            "labelFontSize": 12,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
        },
        "padding": 14,
        "text": {"color": _INK, "fontSize": 12},
        # What the page says beside a chart is enough; every mark by itself would be read out one after the other.
        "aria": False,
    }
    return plain_svg(vl_convert.vegalite_to_svg(chart.to_dict(), config=config, allowed_base_urls=[]))
