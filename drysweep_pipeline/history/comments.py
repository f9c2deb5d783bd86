"""What every view, macro and column of the history means, the grain first; written into the file as ``comment on``."""

from collections.abc import Iterator, Mapping

from drysweep_pipeline.spelling import literal

_CANARIES = {
    "canaries_expected": "planted problems that it was to report; nothing where that was not measured",
    "canaries_seen": "of those, the ones that it did report",
}
_SHARED = {
    "sweep": "the sweep that the row belongs to",
    "campaign": "one execution of the sweep, from its first round to its outcome",
    "round": "the round, from 1",
    "as_of": "the instant the campaign looks at (UTC); campaigns are ordered by it, then by seq",
    "seq": "in which order the sweep's campaigns were recorded",
    "outcome": "the campaign's outcome; only converged means that these strategies find no more",
    "fp": "the fingerprint: 128 bits of SHA-256 over the declared fields",
    "label": "the fingerprint's values, joined by /",
    "strategy": "the way of looking",
    "calls": "finder and judge calls used, in decided rounds",
    "tokens": "tokens used",
    "cost_usd": "US dollars used",
    "seconds": "time used, by the monotonic clock",
    "not_searched": "files of the snapshot that could not be read",
    "snapshot": "the digest of the material as it was frozen",
    "reason": "the ceiling's name, churn, turn or not_run where one of them stopped the campaign",
    "verdict": "what the judge, or a person after it, said last: confirmed, rejected, undecided, unjudged or none",
}
_FINDING = {
    **{name: _SHARED[name] for name in ("sweep", "fp", "label", "verdict")},
    "status": "the verdict while that is rejected or undecided and nobody acted, else the state; like both as of now",
    "state": "open, fixed, reopened, contested, accepted_risk, declined or escalated",
    "severity": "blocker, major, minor or nit: the worst that was reported when it was last sighted",
    "subject": "what the finding is about",
    "kind": "what is wrong with it",
    "scope": "what a fix of it would touch",
    "title": "the finding in a line",
    "path": "the file it was seen in",
    "line": "the line in that file",
    "owner": "whose it is",
    "evidence": "what the strategy offered as proof",
    "attributes": "everything else that was reported, as a JSON object",
    "expires": "the last day of an accepted risk",
    "fixed_revision": "the revision that a fixed finding was fixed in, where somebody said",
    "state_by": "who moved it to its state; null where nobody did",
    "state_reason": "why, as it was given",
    "first_campaign": "the campaign of the earliest sighting, in the order (as_of, seq, round)",
    "first_round": "the round of the earliest sighting",
    "first_as_of": "the as_of of the earliest sighting",
    "last_campaign": "the campaign of the latest sighting",
    "last_round": "the round of the latest sighting",
    "last_as_of": "the as_of of the latest sighting",
    "sightings": "how often it was sighted, once a strategy and round",
    "strategies": "the strategies that sighted it, by name",
    "not_observed": (
        "how many campaigns with a decided round came later in the order (as_of, seq) than its latest sighting, those "
        "that looked again left out: an observation, not a state"
    ),
    "outcome": "the outcome of the campaign that sighted it last",
}
VIEWS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "campaigns": (
        "One row a campaign: what it agreed to, where it stands, what it saw and what that took.",
        {
            **_SHARED,
            "k": "the consecutive quiet rounds that the campaign needs",
            "rule": "dry (nothing new) or clean (nothing blocking and unsettled)",
            "rounds": "how many rounds were decided",
            "quiet": "how many rounds in a row were quiet when it converged, else at its end",
            "repeats": "how many of those took no new angle and no new chance, and so prove little",
            "missed_by_k": "findings fresh in rounds beyond its convergence; null where it did not look beyond it",
            "looked_again": (
                "the campaign whose stored snapshot it looked at again, with some strategies only; null for all others"
            ),
            "strategies": "the strategies that looked, where it looked again; null for all others",
            "seen": "findings sighted in the campaign, whatever became of them",
            "confirmed": "of those, confirmed by the verdict that counts now, not by that of then",
            "rejected": "of those, rejected by the verdict that counts now, whatever people did since",
            "undecided": "of those, undecided: asked about, and not answered",
            "unjudged": "of those, without a judge's word",
            "snapshot": "the digest of the material that the latest round read",
            "declaration": "the digest of the declaration that the campaign is bound to",
            "not_searched": "files that the latest round could not read",
            "started_at": "when it was recorded (wall clock)",
            "ended_at": "when it ended (wall clock)",
        },
    ),
    "rounds": (
        "One row a decided round: what it brought, and whether it was quiet.",
        {
            **_SHARED,
            "complete": "every strategy ran; an incomplete round is never quiet",
            "quiet": "the round counts toward K",
            "repeat": "the round was quiet and no strategy took a new angle or chance",
            "fresh": "findings with no sighting at an earlier place in the order",
            "reopened": "fixed findings that were sighted again on material from after the fix",
            "blocking": "blocking and unsettled findings raised in the round (clean rule)",
            "rows": "rows that the strategies reported",
            "distinct_findings": "distinct findings among those",
            "tripped": "the ceiling that tripped inside the round",
            "quiet_in_a_row": "consecutive quiet rounds, this one included",
            "outcome": "what was decided after this round",
            "campaign_outcome": "where the campaign stands now",
            "taken_at": "when its candidates were taken in (wall clock)",
            "decided_at": "when it was decided (wall clock)",
        },
    ),
    "strategy_runs": (
        "One row an attempt of a strategy in a decided round: how it ended and what it took.",
        {
            **_SHARED,
            "attempt": "the attempt, from 1",
            "isolation": "what kept it from all but what it was handed; none: nothing did",
            "status": "ok, or how it did not run to its end",
            "reason": "why it did not",
            "angle": "what varied in this round, as a JSON object",
            "rows": "valid rows that it reported",
            **_CANARIES,
        },
    ),
    "angles": (
        "One row an angle that a campaign's declaration has: how often it was looked along.",
        {
            **_SHARED,
            "position": "where it stands among the strategy's angles, from 1",
            "angle": "what it varies, as a JSON object; empty where the strategy declares none",
            "looked": "decided rounds in which the strategy looked along it and ran to its end",
            "not_run": "decided rounds in which it was to, and did not run to its end",
        },
    ),
    "findings": (
        "One row a finding of a sweep, those whose status is rejected left out: what it is and where it stands now.",
        _FINDING,
    ),
    "all_findings": ("One row a finding of a sweep, rejected ones included: where it stands now.", _FINDING),
    "open_findings": (
        "One row a finding that is open, reopened or escalated, and not rejected, with its age.",
        {
            **_FINDING,
            "age": "from the as_of of the first sighting to that of the sweep's newest campaign",
            "age_days": "the same, in days",
        },
    ),
    "sightings": (
        "One row a finding, strategy, campaign and round: repeats are kept.",
        {**_SHARED, "hits": "how many rows the strategy reported for it"},
    ),
    "verdicts": (
        "One row a word of a judge or a person on a finding; the last one counts.",
        {
            **_SHARED,
            "round": "the round in which it was said",
            "judge": "who said it: the kind of judge, or person:NAME",
            "verdict": "confirmed, rejected, undecided or unjudged",
            "reason": "why",
            "calls": "calls that the verdict took",
            "ord": "in which order verdicts were recorded in the sweep",
        },
    ),
    "events": (
        "One row an event: what happened, in the order of the ledger.",
        {
            **_SHARED,
            "seq": "the position in the sweep's ledger",
            "at": "when it was recorded (wall clock); a word of SQL, so write it in double quotes",
            "name": "what happened",
            "actor": "the person or the strategy it came from",
            "reason": "why",
            "evidence": "what was pointed at",
            "verified": "whether the material has what the evidence points at; null where nothing could be looked up",
            "expires": "the last day of the risk that was accepted",
        },
    ),
    "strategy_yield": (
        "One row a strategy and campaign: what it found, and what nobody else did.",
        {
            **_SHARED,
            "found": "findings it sighted in the campaign, rejected ones included",
            "unique_found": "of those, sighted by no other strategy in the campaign",
            "shared": "of those, sighted by another one too",
            "rejected": "of those found, rejected",
            "calls": "finder calls used",
            "cost_per_unique": "US dollars a unique finding",
            "calls_per_unique": "calls a unique finding",
            "isolation": "what kept it from all but what it was handed, in any of its rounds; none: nothing did",
            **_CANARIES,
        },
    ),
}
_DIFFERENCE = {
    **{name: _FINDING[name] for name in ("sweep", "fp", "label", "status", "severity", "title", "path", "line")},
    "change": (
        "fresh (b sighted it, and its first sighting came after a), reopened (b sighted it after a fix), still_there "
        "(b sighted it, and it was known by a), gone (b did not sight it, and it was fixed by then), not_observed "
        "(b did not sight it, it was open, reopened or escalated, and nothing says that it is fixed) or settled (b did "
        "not sight it, and it was contested, accepted, declined or rejected)"
    ),
    "open_again": (
        "of what is still there and nothing settles any more, what it was at the end of a or later: expired (a risk "
        "that ran out, or whose configuration changed), accepted_risk, contested, declined or fixed (and taken back), "
        "or rejected; null for all others. With fresh and reopened, that is what is new to b"
    ),
    "raised_from": (
        "of what b sighted and was known by a, the worst severity that it had from the beginning of a to its end, "
        "where it is reported as worse since and nothing settles it; null for all others"
    ),
    "sighted_in_a": "a sighted it",
    "sighted_in_b": "b sighted it",
    "looked_for": (
        "b converged, and a strategy that once sighted it ran to its end in b, at the angle that it was sighted at, on "
        "a snapshot that it was never sighted on; on one that it was sighted on it is still there, whoever looks. Null "
        "where b sighted it"
    ),
    "campaign_a": "the earlier campaign",
    "as_of_a": "the instant that a looked at",
    "outcome_a": "the outcome of a",
    "campaign_b": "the later campaign",
    "as_of_b": "the instant that b looked at",
    "outcome_b": "the outcome of b",
    "apart": "from the one instant to the other",
    "days_apart": "the same, in days",
}
MACROS: Mapping[str, tuple[tuple[str, ...], str, Mapping[str, str]]] = {
    "findings_as_of": (
        ("t",),
        "One row a finding, not rejected, that was in the material up to the instant t; a backfill changes it. What it "
        "says of itself, from severity to attributes, and its state are those of t, its verdict is the one that counts "
        "now.",
        _FINDING,
    ),
    "all_findings_as_of": (("t",), "One row a finding up to the instant t, rejected ones included.", _FINDING),
    "findings_known_at": (
        ("t",),
        "One row a finding, not rejected, where it stood and what it said of itself, by what was recorded up to the "
        "time t: nothing later changes that, but for the outcome, which is where that campaign stands now.",
        _FINDING,
    ),
    "all_findings_known_at": (("t",), "One row a finding recorded by the time t, rejected ones included.", _FINDING),
    "new_between": (
        ("a", "b"),
        "One row a finding, not rejected, whose first sighting has an as_of after the instant a and up to b.",
        _FINDING,
    ),
    "campaign_diff": (
        ("a", "b"),
        "One row a finding, not rejected, that an earlier campaign a or a later one b of one sweep sighted, or that "
        "was open after a: what became of it, with both outcomes. An error where no sweep has both, a before b.",
        _DIFFERENCE,
    ),
    "published": (
        (),
        "One row a sweep: when it was published, and up to which campaign and round.",
        {
            "sweep": _SHARED["sweep"],
            "published_at": "when its ledger was last published (wall clock)",
            "campaign": "the campaign of its latest round in the order (as_of, seq, round); null before the first",
            "round": "that round",
            "as_of": "the instant that this campaign looks at",
            "outcome": "where this campaign stands",
            "rounds": "how many decided rounds of the sweep are published, but for campaigns that looked again",
        },
    ),
}


def statements(columns: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the ``comment on`` statements for the views' columns. Raises ``KeyError`` for one unexplained."""
    for view, (meaning, explained) in VIEWS.items():
        yield f"comment on view main.{view} is {literal(meaning)}"
        for column in columns[view]:
            yield f'comment on column main.{view}."{column}" is {literal(explained[column])}'
    for macro, (parameters, meaning, _) in MACROS.items():
        yield f"comment on macro table main.{macro} is {literal(f'{call(macro, parameters)}: {meaning}')}"


def call(macro: str, parameters: tuple[str, ...]) -> str:
    """Return how a macro is called."""
    return f"{macro}({', '.join(parameters)})"
