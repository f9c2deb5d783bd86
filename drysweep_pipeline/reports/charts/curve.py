"""The discovery curve: what each round brought, how that added up, and what is to be known of each round."""

from collections.abc import Sequence
from typing import Any

from drysweep_pipeline.reports.charts.drawing import BAND, CURVE, FRESH, KNOWN, PAPER, Chart, chart, ticks
from drysweep_pipeline.reports.figures import Point

# Pixels from axis to edge, on a laptop and on a phone.
_WIDE, _NARROW = 640, 260


def discovery(
    curve: Sequence[Point], k: int, quiet: int, until: int | None = None, *, is_for_phones: bool = True
) -> Chart:
    """Draw what each round brought and how that added up, with what is to be known of each round below it.

    ``quiet``: how many rounds count toward ``k``, at the end or, where the campaign looked beyond its convergence, up
    to the round ``until``. ``is_for_phones``: whether it is drawn for a narrow page as well.
    """
    return chart(
        _says(curve, k, quiet, until),
        wide=lambda: _drawn(curve, k, quiet, until, _WIDE),
        narrow=(lambda: _drawn(curve, k, quiet, until, _NARROW)) if is_for_phones else None,
    )


def _drawn(curve: Sequence[Point], k: int, quiet: int, until: int | None, width: int) -> Any:
    import altair as alt

    rounds = [str(point.round) for point in curve]
    x = alt.X("round:O", sort=rounds, scale=alt.Scale(domain=rounds, paddingInner=0.25), title=None, axis=None)
    layers = (
        *_band(alt, x, rounds[:until], f"{quiet} quiet of K = {k}", quiet, width / len(rounds)),
        *_bars(alt, x, curve),
        *_line(alt, x, curve),
        *(_numbers(alt, x, curve) if len(rounds) <= _numbers_for(width) else []),
    )
    above = alt.layer(*layers).properties(width=width, height=240)
    return alt.vconcat(above, _marks(alt, rounds, curve, width), spacing=6)


def _band(alt: Any, x: Any, rounds: Sequence[str], says: str, quiet: int, step: float) -> list[Any]:
    if not quiet:
        return []
    counted = [{"round": each} for each in rounds[-quiet:]]
    ground = alt.Chart(alt.Data(values=counted)).mark_bar(color=BAND, width=alt.RelativeBandSize(1.35)).encode(x=x)
    last = alt.Chart(alt.Data(values=counted[-1:]))
    said = last.mark_text(text=says, align="right", baseline="top", dx=step / 2 - 6, y=6, fontSize=12)
    return [ground, said.encode(x=x)]


def _bars(alt: Any, x: Any, curve: Sequence[Point]) -> list[Any]:
    most = max((point.by_then for point in curve), default=0)
    # With room above for what is said of the quiet rounds.
    scale = alt.Scale(domain=[0, max(1, most) * 1.15], nice=False)
    y = alt.Y("from:Q", title="findings", axis=alt.Axis(values=ticks(most), format=",d"), scale=scale)
    parts = [
        {"round": str(point.round), "from": low, "to": low + many, "which": which}
        for point in curve
        for low, many, which in ((0, point.fresh, "fresh"), (point.fresh, point.known, "known"))
        if many
    ]
    colour = alt.condition("datum.which == 'fresh'", alt.value(FRESH), alt.value(KNOWN))
    return [alt.Chart(alt.Data(values=parts)).mark_bar().encode(x=x, y=y, y2="to:Q", color=colour)]


def _numbers(alt: Any, x: Any, curve: Sequence[Point]) -> list[Any]:
    """Write over each bar what is fresh, and after a plus what was known."""
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
    return [over.mark_text(dy=-9, stroke=PAPER, strokeWidth=4), over.mark_text(dy=-9)]


def _line(alt: Any, x: Any, curve: Sequence[Point]) -> list[Any]:
    sums = [{"round": str(point.round), "from": point.by_then} for point in curve]
    base = alt.Chart(alt.Data(values=sums)).encode(x=x, y="from:Q")
    dots = [base.mark_point(color=CURVE, filled=True, size=26, opacity=1)] if len(curve) <= 60 else []
    return [base.mark_line(color=CURVE, strokeWidth=2), *dots]


def _marks(alt: Any, rounds: Sequence[str], curve: Sequence[Point], width: int) -> Any:
    """Return the strip below: the number of each round, and a mark where it was quiet, a repeat or incomplete."""
    named = {
        "quiet": [point for point in curve if point.quiet],
        "repeat": [point for point in curve if point.repeat],
        "not all ran": [point for point in curve if not point.complete],
    }
    rows = ["round", *(name for name, points in named.items() if points)]
    shapes = {"quiet": "●", "repeat": "↻", "not all ran": "✕"}
    cells = [{"round": each, "row": "round", "text": each} for each in _thinned(rounds, _numbers_for(width))]
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
    ).properties(width=width, height=18 * len(rows))


def _numbers_for(width: int) -> int:
    """Return how many numbers there is room for side by side."""
    return width // 26


def _thinned(rounds: Sequence[str], most: int) -> Sequence[str]:
    """Return the rounds whose number is written, the last one among them."""
    step = -(-len(rounds) // most)
    return rounds[::-1][::step][::-1]


def _says(curve: Sequence[Point], k: int, quiet: int, until: int | None) -> str:
    many = ", ".join(str(point.fresh) for point in curve[:40])
    rest = f" and {len(curve) - 40} more rounds" if len(curve) > 40 else ""
    met = curve[-1].by_then if curve else 0
    where = "at the end" if until is None else f"up to round {until}, where it converged"
    return f"Fresh findings a round: {many}{rest}; {met} met in all. {quiet} quiet {where}, of K = {k}."
