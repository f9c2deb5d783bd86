"""The page that says what quiet rounds are worth has its numbers from the formulas that it gives."""

import re
from pathlib import Path

WHY = (Path(__file__).parents[2] / "docs" / "why.md").read_text(encoding="utf-8")


def _rows(heading: str) -> list[list[str]]:
    """Return the cells of the table whose head begins with a text, its head first, without the rule below it."""
    lines = WHY[WHY.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "---" not in line]


def test_the_chance_of_quiet_rounds_beside_a_finding_is_what_the_formula_says() -> None:
    head, *rows = _rows("chance *q* a round")
    ks = [int(re.sub(r"\D", "", cell)) for cell in head[1:]]
    assert (ks, len(rows)) == ([1, 2, 3, 5, 10], 5)
    for q, *cells in rows:
        assert cells == [f"{100 * (1 - float(q)) ** k:.1f}".removesuffix(".0") + " %" for k in ks]


def test_what_quiet_rounds_rule_out_is_what_the_formula_says() -> None:
    (_, *ks), (_, *bounds) = _rows("K")
    assert len(ks) == 6
    assert [float(bound) for bound in bounds] == [round(1 - 0.05 ** (1 / int(k)), 3) for k in ks]
