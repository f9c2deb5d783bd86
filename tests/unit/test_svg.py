"""What may be drawn into a page: shapes and texts, and nothing that runs, styles or fetches."""

import re

import pytest

from drysweep_pipeline.reports import charts
from drysweep_pipeline.reports.figures import Point, Shared
from drysweep_pipeline.reports.svg import plain_svg

HOSTILE = """
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10" height="10" onload="x()">
<style>* { fill: red }</style><script>alert(1)</script><foreignObject><p>no</p></foreignObject>
<image href="http://example.net/a.png"/><use xlink:href="#a"/><a href="javascript:x()"><text>in a link</text></a>
<g style="fill: red" onclick="x()" class="c"><path d="M0 0" fill="url(http://example.net/)"/><text>&lt;script&gt;</text></g>
</svg>
"""


def curve(*fresh: int) -> list[Point]:
    return [Point(at, many, 0, sum(fresh[:at]), not many, False, at != 2) for at, many in enumerate(fresh, start=1)]


def test_only_known_shapes_and_attributes_are_left_of_a_drawing() -> None:
    kept = plain_svg(HOSTILE)
    assert set(re.findall(r"<(\w+)", kept)) == {"svg", "g", "path", "text"}
    assert not re.search(r"\b(on\w+|style|class|href|xlink:href|xmlns)=", kept)
    assert "url(" not in kept
    assert "in a link" not in kept
    assert "&lt;script&gt;" in kept
    assert 'aria-hidden="true"' in kept


@pytest.mark.parametrize("many", [1, 5, 30, 300])
def test_a_curve_of_any_length_is_drawn_in_the_colours_of_the_page(many: int) -> None:
    chart = charts.discovery(curve(*[9, 4, *[0] * many][:many]), 2, max(0, many - 2))
    assert 'fill="var(--fresh)"' in chart.svg
    assert not re.search(r'(fill|stroke)="#', chart.svg)
    assert not re.search(r"NaN|Infinity", chart.svg)
    assert "9" in chart.says
    assert f"of K = {2}" in chart.says


@pytest.mark.parametrize("most", [0, 1, 2, 7, 84, 99_999])
def test_counts_have_whole_numbers_on_their_axis(most: int) -> None:
    chart = charts.discovery([Point(1, most, 0, most, False, False, True)], 2, 0)
    numbers = re.findall(r">([\d.,]+)</text>", chart.svg)
    assert "0" in numbers
    assert not [each for each in numbers if "." in each]
    assert len(numbers) <= 9


def test_sets_that_are_too_many_to_draw_are_left_to_the_table() -> None:
    names = [f"strategy_{number:02}" for number in range(30)]
    sets = [Shared(tuple(names[at : at + 2]), 60 - at) for at in range(29)]
    chart = charts.overlap(sets, [(name, 60, 0) for name in names])
    shown = re.findall(r"strategy_\d\d", chart.svg)
    assert len(set(shown)) == charts.STRATEGIES
    assert chart.says.endswith("were found by more than one.")


def test_a_name_cannot_be_markup_in_a_drawing() -> None:
    chart = charts.overlap(
        [Shared(("<b>&",), 1), Shared(("</svg><script>",), 2)], [("<b>&", 1, 1), ("</svg><script>", 2, 2)]
    )
    assert "<b>" not in chart.svg
    assert "<script" not in chart.svg
    assert chart.svg.count("</svg>") == 1
