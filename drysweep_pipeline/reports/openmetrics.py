"""How a campaign went as metrics, for what watches numbers over time: OpenMetrics text, which Prometheus reads as well.

Everything is a gauge, so that the textfile collector of the node exporter, which knows the older format only, reads the
same file. The campaign's id is a label of one metric alone: the others go on from campaign to campaign.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.lifecycle import OPEN
from drysweep_pipeline.reports.beyond import missed_by_k
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import is_cut_short
from drysweep_pipeline.reports.settled import how_settled
from drysweep_pipeline.reports.text import safe_text, shortened
from drysweep_pipeline.values import Outcome, Severity, Verdict

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_LABEL = 200
Samples = Iterable[tuple[Mapping[str, str], float]]


def render(said: Contents) -> str:
    """Return the metrics of a campaign, labelled with its sweep."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(said))
    # The library declares no types for this function.
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text.decode("utf-8")


class _Collector:
    """Hands a campaign's numbers to the registry, as its protocol asks."""

    def __init__(self, said: Contents) -> None:
        self._said = said

    def collect(self) -> Iterator["Metric"]:
        from prometheus_client.core import GaugeMetricFamily

        sweep = {"sweep": self._said.told["sweep"]}
        for name, help, samples in _metrics(self._said):
            family = GaugeMetricFamily(f"drysweep_{name}", help)
            for labels, value in samples:
                shown = {key: shortened(safe_text(text), _LABEL) for key, text in {**sweep, **labels}.items()}
                family.add_sample(family.name, shown, value)
            yield family


def _metrics(said: Contents) -> Iterator[tuple[str, str, Samples]]:
    told, head = said.told, said.head
    yield (
        "converged",
        "1 where the campaign converged with all its strategies, 0 where it stands otherwise or only some looked again",
        _one(not is_cut_short(said) and not told["looked_again"]),
    )
    yield "outcome", "The outcome of the campaign: 1 for the one it has", _outcomes(told)
    yield "campaign", "Always 1; which campaign the other numbers are of", [(_names(told), 1)]
    yield "as_of_timestamp_seconds", "The instant that the campaign's material is of", _instant(told["as_of"])
    yield "started_timestamp_seconds", "When the campaign started", _instant(head["started_at"])
    yield "ended_timestamp_seconds", "When the campaign ended; absent while it goes on", _instant(head["ended_at"])
    yield "rounds", "Decided rounds of the campaign", _one(told["rounds"])
    yield "quiet_rounds", "Quiet rounds in a row when the campaign converged, else at its end", _one(told["quiet"])
    yield "missed_by_k", "Findings fresh beyond convergence; absent where nobody looked beyond it", _missed(told)
    yield (
        "looked_again",
        "1 for each strategy where only some looked, at an old snapshot",
        _again(told),
    )
    yield "k", "Quiet rounds in a row that converge", _one(told["k"])
    yield "findings", "Findings that the campaign saw, by verdict", _verdicts(told)
    yield "findings_open", "Open, reopened or escalated findings that the campaign saw, by severity", _open(said)
    yield "findings_unsettled", "Findings that the campaign saw and nothing settled, fixed ones too", _unsettled(said)
    yield "findings_fresh", "Findings that the campaign saw first", _one(sum(told["new"]))
    yield "findings_fresh_last_round", "Findings that the last round saw first", _one((told["new"] or [0])[-1])
    yield "ledger_findings", "Findings that all campaigns have seen", _one(told["ledger_seen"])
    yield "calls", "Calls that the campaign made", _one(told["calls"])
    yield "tokens", "Tokens that the campaign used", _one(head["tokens"])
    yield "cost_usd", "US dollars that the campaign cost", _one(head["cost_usd"])
    yield "files_not_searched", "Files of the material that could not be read", _one(told["not_searched"])
    yield "not_run", "Rounds of the campaign that a strategy did not run in", _not_run(said)


def _one(value: float) -> Samples:
    return [({}, float(value))]


def _outcomes(told: Mapping[str, Any]) -> Samples:
    return [({"outcome": outcome.value}, float(told["outcome"] == outcome)) for outcome in Outcome]


def _missed(told: Mapping[str, Any]) -> Samples:
    missed = missed_by_k(told)
    return [] if missed is None else _one(missed)


def _again(told: Mapping[str, Any]) -> Samples:
    again = told["looked_again"]
    return [({"strategy": name}, 1) for name in again["strategies"]] if again else []


def _names(told: Mapping[str, Any]) -> Mapping[str, str]:
    return {"campaign": told["campaign"], "rule": told["rule"]}


def _instant(text: str | None) -> Samples:
    return [({}, datetime.fromisoformat(text).timestamp())] if text else []


def _verdicts(told: Mapping[str, Any]) -> Samples:
    return [({"verdict": name}, float(told[name])) for name in ("confirmed", "rejected", "undecided", "unjudged")]


def _open(said: Contents) -> Samples:
    listed = (row for row in said.findings if row["state"] in OPEN and row["status"] != Verdict.REJECTED)
    return _by_severity(listed)


def _unsettled(said: Contents) -> Samples:
    return _by_severity(row for row in said.findings if how_settled(row) is None)


def _by_severity(rows: Iterable[Row]) -> Samples:
    counts = Counter(row["severity"] for row in rows)
    return [({"severity": severity.value}, float(counts[severity.value])) for severity in Severity]


def _not_run(said: Contents) -> Samples:
    counts = Counter(row["strategy"] for row in said.told["not_run"])
    names = sorted({row["strategy"] for row in said.strategies} | set(counts))
    return [({"strategy": name}, float(counts[name])) for name in names]
