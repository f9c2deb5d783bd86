"""The charts and tables of the page, as names and rows of texts; how they are laid out is the template's business."""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports import charts
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.figures import Passes, Point
from drysweep_pipeline.reports.meaning import unread_files
from drysweep_pipeline.reports.shown import Cut, Figure, cut, decimal, number, percent, share
from drysweep_pipeline.reports.since import CHANGES, limits, what_became
from drysweep_pipeline.values import Outcome, Rule, Severity
from drysweep_pipeline.wording import count

Table = dict[str, Any]
_PASSES = 30
_NAMED = ("label", "change", "severity", "owner")


def curve(said: Contents, most: int) -> Table:
    """Return the discovery curve, drawn and as numbers; ``most`` rounds are in the table, the latest ones."""
    points, told = said.figures.curve, said.told
    rows = [_point(point) for point in points]
    until = told["past"]["converged_at"] if told["past"] else None
    drawn = charts.discovery(points, told["k"], told["quiet"], until) if points else None
    return {
        "discovery": _drawn(drawn),
        "curve": _latest(
            ("round", "fresh", "known", "met by then", "quiet", "repeat", "every strategy ran"), rows, most
        ),
        "some_known": any(point.known for point in points),
        "some_repeat": any(point.repeat for point in points),
        "some_lost": not all(point.complete for point in points),
    }


def _point(point: Point) -> Sequence[str]:
    counts = (number(point.fresh), number(point.known), number(point.by_then))
    return (str(point.round), *counts, *map(_yes, (point.quiet, point.repeat, point.complete)))


def _drawn(chart: charts.Chart | None) -> Table | None:
    from markupsafe import Markup

    if chart is None:
        return None
    # Shapes and texts only, and the texts were escaped when they were written down: see ``svg``.
    wide, narrow = (Markup(svg) if svg else None for svg in (chart.svg, chart.narrow))  # noqa: S704
    return {"svg": wide, "narrow": narrow, "says": chart.says, "undrawn": cut(chart.undrawn or "", Cut.LINE)}


def strategies(said: Contents, most: int) -> Table:
    """Return who shared what, drawn and as numbers, and what each strategy yielded; ``most`` sets are in the table."""
    alone = ", ".join(row["strategy"] for row in said.strategies if "none" in (row["isolation"] or "").split(", "))
    return {"overlap": _overlap(said, most), "yields": _yields(said), "not_isolated": cut(alone, Cut.PROSE)}


def _overlap(said: Contents, most: int) -> Table | None:
    sets = said.figures.overlap
    if len(said.strategies) < 2 or not sets:
        return None
    yields = [(row["strategy"], row["found"], row["unique_found"]) for row in said.strategies]
    rows = [(", ".join(each.strategies), number(each.findings)) for each in sets[:most]]
    chart = _drawn(charts.overlap(sets, yields))
    return {
        "chart": chart,
        "some_shared": any(len(each.strategies) > 1 for each in sets),
        "rows": rows,
        "rows_left_out": max(0, len(sets) - most),
        "left_out": " ".join(_not_drawn(said)),
    }


def _not_drawn(said: Contents) -> Iterator[str]:
    sets, names = said.figures.overlap[charts.SETS :], said.strategies[charts.STRATEGIES :]
    if sets:
        held = sum(each.findings for each in sets)
        yield f"Not drawn: {count(len(sets), 'smaller set')} with {count(held, 'finding')} between them."
    if names:
        yield f"Not drawn: the {len(names)} of the strategies that found the fewest alone."


def _yields(said: Contents) -> Table:
    watched = any(row["canaries_expected"] is not None for row in said.strategies)
    paid = any(row["cost_usd"] for row in said.strategies)
    names = ["strategy", "found", "by it alone", "rejected", "calls", "seconds"]
    names += [*(["USD", "USD a find of its own"] if paid else []), *(["canaries seen"] if watched else []), "isolation"]
    return {"names": names, "rows": [tuple(_yield(row, watched, paid)) for row in said.strategies]}


def _yield(row: Row, watched: bool, paid: bool) -> Iterator[str]:
    yield row["strategy"]
    yield from (number(row[name]) for name in ("found", "unique_found", "rejected", "calls"))
    yield decimal(row["seconds"])
    if paid:
        each = row["cost_per_unique"]
        yield from (decimal(row["cost_usd"], 2), Figure("-") if each is None else decimal(each, 2))
    if watched:
        expected = row["canaries_expected"]
        yield "none expected" if expected is None else f"{row['canaries_seen']} of {expected}"
    yield row["isolation"] or "not recorded"


def passes(said: Contents) -> Table | None:
    """Return what a fixed number of passes would have missed; None where a campaign met nothing."""
    rows = said.figures.passes
    if not rows or not said.figures.curve[-1].by_then:
        return None
    names = ("passes", "would have found", "would have missed", "share missed", "of those blocking", "rejected")
    return {
        "sentence": _missed(said),
        "names": names,
        "rows": [_pass(row) for row in rows[:_PASSES]],
        "left_out": max(0, len(rows) - _PASSES),
    }


def _pass(row: Passes) -> Sequence[str]:
    counts = (number(row.found), number(row.missed), percent(row.missed, row.found + row.missed))
    return (str(row.passes), *counts, number(row.blocking), number(row.rejected))


def _missed(said: Contents) -> str:
    told = _of_one_pass(said.figures.passes)
    if said.told["outcome"] == Outcome.CONVERGED:
        return f"{told} What no round of this campaign reached is in none of these numbers."
    return f"{told} The search did not go quiet, so that more is likely to be missed than these numbers say."


def _of_one_pass(rows: Sequence[Passes]) -> str:
    first = rows[0]
    met = first.found + first.missed
    if not first.missed:
        return f"One pass would have met all {count(met, 'finding')} that this campaign met."
    blocking = f", {number(first.blocking)} of them of a severity that blocks" if first.blocking else ""
    missed = f"One pass would have missed {share(first.missed, met, 'findings')}{blocking}"
    return f"{missed}; {rows[-1].passes} would have missed none of them."


def rounds(said: Contents, most: int) -> Table:
    """Return the decided rounds, the latest ``most`` of them."""
    clean = said.told["rule"] == Rule.CLEAN
    paid = any(row["cost_usd"] for row in said.rounds)
    names = ["round", "fresh", "reopened", *(["blocking"] if clean else []), "quiet", "repeat", "every strategy ran"]
    tripped = any(row["tripped"] for row in said.rounds)
    names += ["calls", "seconds", *(["USD"] if paid else []), *(["ceiling"] if tripped else [])]
    rows = [tuple(_round(row, clean, paid, tripped)) for row in said.rounds]
    return _latest([*names, *(["snapshot"] if clean else [])], rows, most)


def _round(row: Row, clean: bool, paid: bool, tripped: bool) -> Iterator[str]:
    yield str(row["round"])
    yield from (number(row[name]) for name in ("fresh", "reopened"))
    if clean:
        yield number(row["blocking"] or 0)
    yield from (_yes(row[name]) for name in ("quiet", "repeat", "complete"))
    yield from (number(row["calls"] or 0), decimal(row["seconds"] or 0))
    if paid:
        yield decimal(row["cost_usd"] or 0, 2)
    if tripped:
        yield row["tripped"] or "-"
    if clean:
        yield row["snapshot"][:12]


def looks(said: Contents, most: int) -> Table:
    """Return every strategy's look in every round, the latest ``most`` rounds."""
    names = sorted({row["strategy"] for row in said.runs})
    by_round: dict[int, dict[str, Row]] = defaultdict(dict)
    for row in said.runs:
        by_round[row["round"]][row["strategy"]] = row
    rows = [(number, [_look(here.get(name)) for name in names]) for number, here in sorted(by_round.items())]
    return _latest(names, rows, most)


def _look(row: Row | None) -> Table:
    if row is None:
        return {"word": "not asked", "lost": False, "reason": "", "angle": ""}
    lost = row["status"] != "ran"
    again = f", asked {row['attempts']} times" if row["attempts"] > 1 else ""
    angle = ", ".join(f"{name}={_value(value)}" for name, value in sorted(row["angle"].items()))
    return {
        "word": f"✕ not run{again}" if lost else f"✓ {count(row['rows'], 'row')}{again}",
        "lost": lost,
        "reason": cut(row["reason"] or "", Cut.TITLE),
        "angle": cut(angle, Cut.TITLE),
    }


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def unsearched(said: Contents, most: int) -> Table:
    """Return what could not be read, the first ``most`` files."""
    told = unread_files(said.told["not_searched"], said.told["rounds"])
    rows = [(cut(file, Cut.LINE), cut(reason, Cut.LINE)) for file, reason in said.unread[:most]]
    return {"sentence": told, "rows": rows, "left_out": max(0, len(said.unread) - most)}


def since(said: Contents) -> Table | None:
    """Return what changed since the campaign before, counted by how bad it is, and named; None where there is none."""
    told = said.told["since"]
    if told is None:
        return None
    changes = [change for change in CHANGES if told[change]]
    severities = [each.value for each in Severity if any(told["by_severity"][change].get(each) for change in changes)]
    rows = [(change.replace("_", " "), *_changed(told, change, severities)) for change in changes]
    told_as = ({**row, "change": what_became(row)} for row in told["named"])
    named = [tuple(cut(row[name] or "-", Cut.TITLE) for name in _NAMED) for row in told_as]
    return {
        "sentence": cut(told["sentence"][:1].upper() + told["sentence"][1:], Cut.PROSE),
        "limits": cut(limits(told), Cut.PROSE),
        "names": ("change", "findings", *severities),
        "rows": rows,
        "named_names": _NAMED,
        "named": named,
        "unnamed": told["unnamed"],
    }


def _changed(told: Row, change: str, severities: Sequence[str]) -> Iterator[Figure]:
    yield number(told[change])
    yield from (number(told["by_severity"][change].get(severity, 0)) for severity in severities)


def _latest(names: Sequence[str], rows: Sequence[Any], most: int) -> Table:
    return {"names": names, "rows": rows[-most:], "left_out": max(0, len(rows) - most)}


def _yes(flag: object) -> str:
    return "yes" if flag else "no"
