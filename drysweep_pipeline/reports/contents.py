"""What a report says of a campaign, gathered once; every format is made from it, so that no two tell different numbers.

How it is shown is each format's business. What the history alone tells comes from ``history.campaign``, what lies
beside it from ``beside``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drysweep_pipeline.history import history, looks
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import beside
from drysweep_pipeline.reports.asked import PLAIN, Asked
from drysweep_pipeline.reports.figures import Figures, figures
from drysweep_pipeline.reports.origin import Origin, origin_of
from drysweep_pipeline.reports.provenance import Provenance, provenance
from drysweep_pipeline.reports.steps import Step, next_steps
from drysweep_pipeline.reports.summary import told_of
from drysweep_pipeline.reports.waiting import Stand, Waiting, resume_command, waits_for
from drysweep_pipeline.values import Verdict


@dataclass(frozen=True, slots=True)
class Before:
    """The sweep's campaign before this one, and the fingerprints of what is new, or only worse, since."""

    campaign: str
    new: frozenset[str]
    raised: frozenset[str]


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a report may say of one campaign.

    ``told`` is the summary that ``run`` prints, ``head`` the campaign's row in the history. ``findings`` are those that
    the campaign sighted, the worst first; the rejected ones are among them only where they were ``asked`` for, else
    ``left_out`` counts them. Verdicts and states are as they were recorded by ``known_at``, whatever the campaign.
    ``unread`` are file and reason. ``origin`` is where the material lies in git. ``option`` leads a command to the
    home, with a blank before it. ``runs`` are each strategy's looks, by round. ``rulings`` are the verdicts that count,
    ``happened`` the events of the findings, each by its fingerprint.
    """

    asked: Asked
    told: Mapping[str, Any]
    head: Row
    rounds: Sequence[Row]
    strategies: Sequence[Row]
    findings: Sequence[Row]
    left_out: int
    known_at: str | None
    unread: Sequence[tuple[str, str]]
    merging: str | None
    denied: str | None
    looked_at_nothing: str | None
    redaction: str | None
    origin: Origin | None
    before: Before | None
    stand: Stand
    steps: Sequence[Step]
    waiting: Waiting | None
    resume: str | None
    option: str
    runs: Sequence[Row]
    rulings: Sequence[Row]
    happened: Sequence[Row]
    figures: Figures
    provenance: Provenance


def contents(home: Home, sweep: str, campaign: str, asked: Asked = PLAIN) -> Contents:
    """Return what a report says of a campaign. Raises ``NotFound`` where it was not published."""
    with history(home) as connection:
        return _gathered(home, Past(connection, sweep, campaign), asked)


def _gathered(home: Home, past: Past, asked: Asked) -> Contents:
    sweep, campaign = past.sweep, past.campaign
    rounds, option = past.rounds(), beside.home_option(home)
    head, findings = past.head(), past.findings()
    listed = [row for row in findings if asked.rejected or row["status"] != Verdict.REJECTED]
    stand = beside.stand(home, sweep, campaign, head)
    told = told_of(past, home)
    return Contents(
        asked=asked,
        told=told,
        head=head,
        rounds=rounds,
        strategies=past.strategies(),
        findings=listed,
        left_out=len(findings) - len(listed),
        known_at=past.known_at(),
        unread=beside.unread(home, sweep, campaign, rounds),
        merging=beside.merging(home, sweep, campaign, len(rounds), () if asked.rejected else past.rejected()),
        denied=beside.denied(home, sweep, campaign, len(rounds)),
        looked_at_nothing=beside.looked_at_nothing(home, sweep, campaign, len(rounds)),
        redaction=beside.redaction(home, sweep, campaign),
        origin=origin_of(home, sweep, campaign, head["snapshot"]),
        before=_before(past),
        stand=stand,
        steps=next_steps(stand, beside.sweep_argument(home, sweep, campaign), option, told["why"]),
        waiting=waits_for(stand, option),
        resume=resume_command(stand, option),
        option=option,
        runs=looks.runs(past),
        rulings=looks.rulings(past),
        happened=looks.happened(past),
        figures=figures(rounds, looks.arrivals(past), looks.overlap(past)),
        provenance=provenance(home, head),
    )


def _before(past: Past) -> Before | None:
    previous = past.previous()
    if previous is None:
        return None
    since = past.new_since(previous["campaign"])
    new = frozenset(fp for fp, is_new in since.items() if is_new)
    return Before(previous["campaign"], new, frozenset(since) - new)
