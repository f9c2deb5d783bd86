"""Judging a round: who is judged, in which order, for which money, and what no answer means (R8).

What the judge said lands as ``verdicts.parquet`` before the ledger takes it in, so a crash in between asks nobody
twice. The kinds of judge live in ``judges``.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline import landing
from drysweep_pipeline.budget import Meter
from drysweep_pipeline.candidates import COLUMNS
from drysweep_pipeline.children.confinement import places_of
from drysweep_pipeline.declaration.model import NoJudge, PanelJudge
from drysweep_pipeline.durable import only_one, read_json, write_json, write_whole
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of, write_judged
from drysweep_pipeline.engine.planning import read_plan, snapshot_of
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.tidings import Judged, Judging, Teller
from drysweep_pipeline.engine.votes import FILE as VOTES
from drysweep_pipeline.engine.votes import Votes
from drysweep_pipeline.errors import FinderError, RoundGap
from drysweep_pipeline.judges import JUDGES, PAID, Question, Ruling, panel
from drysweep_pipeline.judges.answer import text
from drysweep_pipeline.ledger import Ledger, journal, lives, open_ledger
from drysweep_pipeline.ledger.lives import Pending
from drysweep_pipeline.redaction import Redactor
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.spelling import rank
from drysweep_pipeline.values import Event, Severity, Usage, Verdict

VERDICTS = "verdicts.parquet"
VERDICTS_MANIFEST = "verdicts.json"
_LOCK = ".judging.lock"
_SCHEMA = pa.schema(
    [
        ("fp", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("judge", pa.string()),
        ("calls", pa.int32()),
        # What each member of a panel said, as JSON; null where there is no panel to speak of.
        ("votes", pa.string()),
    ]
)
_PAYLOAD = f"""
    select {", ".join(COLUMNS)}
    from read_parquet(?, hive_partitioning = false)
    where fp in (select unnest(cast(? as uuid[])))
    qualify row_number() over (partition by fp order by {rank("severity")}, strategy, row) = 1
"""


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """What judging a round came to: findings by verdict, and the calls it took."""

    judged: int
    confirmed: int
    rejected: int
    undecided: int
    unjudged: int
    calls: int
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class _Judged:
    """A ruling, the calls that it took, and the votes of a panel as JSON."""

    ruling: Ruling
    calls: int = 0
    votes: str | None = None


@dataclass(frozen=True, slots=True)
class _Verdicts:
    """How a round was judged: the kind of judge, how long it took, the ceiling that tripped, why the judge failed.

    ``silent`` is how many of the findings asked about got no answer.
    """

    judge: str
    seconds: float
    tripped: str | None = None
    failed: str | None = None
    silent: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Landed(_Verdicts):
    """The manifest of a round's verdicts: how it was judged, and the file with the rulings."""

    file: landing.LandedFile


def judge(campaign: Campaign, round: int) -> JudgeReport:
    """Judge the findings of a campaign that have no verdict; a round that was judged returns what was said then.

    Raises ``Busy`` where another process judges the round.
    """
    with open_ledger(campaign.home.ledger) as ledger:
        row = journal.round_row(ledger, campaign.id, round)
        if row is None:
            raise RoundGap(campaign.id, round, None)
        landed = _read_landed(campaign, round) is not None
        findings = [] if landed else _payload(campaign, lives.to_judge(ledger, campaign.id, round))
        if not landed and not (findings and campaign.declaration.sweep.judge.kind != "none"):
            _ask(campaign, round, findings)
            landed = True
        if landed:
            # A process may have died between the verdicts and what they make needless.
            (campaign.folder(round) / VOTES).unlink(missing_ok=True)
            return _taken_in(ledger, campaign, round, judged=row.judged)
    # A judge is asked outside the ledger's lock: a slow one keeps nobody from reading or writing.
    refusal = f"round {campaign.key(round)} is being judged by another process"
    with only_one(campaign.folder(round) / _LOCK, refusal):
        if _read_landed(campaign, round) is None:  # else by the process that held the lock before
            _ask(campaign, round, findings)
    with open_ledger(campaign.home.ledger) as ledger:
        row = journal.round_row(ledger, campaign.id, round)
        report = _taken_in(ledger, campaign, round, judged=row is not None and row.judged)
    ruled = (report.confirmed, report.rejected, report.undecided, report.unjudged)
    Teller(campaign.name, round)(Judged, *ruled, report.failed)
    return report


def tripped(campaign: Campaign, round: int) -> str | None:
    """Return the ceiling that tripped while the round was judged, or None."""
    landed = _read_landed(campaign, round)
    return landed.tripped if landed else None


def seconds(campaign: Campaign, round: int) -> float:
    """Return how long judging the round took."""
    landed = _read_landed(campaign, round)
    return landed.seconds if landed else 0.0


def silent(campaign: Campaign, round: int) -> int:
    """Return how many findings of a round the judge was asked about and gave no answer on."""
    landed = _read_landed(campaign, round)
    return landed.silent if landed else 0


def unheard(campaign: Campaign, round: int) -> int:
    """Return how many calls a ceiling kept from the judge of a round."""
    landed, judge = _read_landed(campaign, round), campaign.declaration.sweep.judge
    if landed is None or landed.tripped is None or isinstance(judge, NoJudge):
        return 0
    reasons = pq.read_table(campaign.folder(round) / VERDICTS, columns=["reason"]).column("reason").to_pylist()
    return int(reasons.count(_over(landed.tripped))) * judge.panel


def _over(ceiling: str) -> str:
    return f"ceiling: {ceiling}"


def _ask(campaign: Campaign, round: int, findings: Sequence[Mapping[str, Any]]) -> None:
    """Have the judge rule on as many findings as the budget has calls for, and land every ruling."""
    declared = campaign.declaration.sweep.judge
    began = time.monotonic()
    if isinstance(declared, NoJudge):
        judged = [_Judged(Ruling(finding["fp"], Verdict.UNJUDGED)) for finding in findings]
        _land(campaign, round, judged, _Verdicts(declared.kind, time.monotonic() - began))
        return
    votes = Votes(campaign.folder(round) / VOTES if declared.kind in PAID else None)
    heard = [finding for finding in findings if all(votes.of(finding["fp"], m) for m in _members(declared))]
    known = {finding["fp"] for finding in heard}
    asked, over, failed = _asked(campaign, round, [f for f in findings if f["fp"] not in known], votes)
    known |= {finding["fp"] for finding in asked}
    judged = [_judged(declared, finding, votes, failed) for finding in (*heard, *asked)]
    silent = [each.ruling for each in judged if not each.ruling.answered]
    failed = _failed(silent, len(judged)) if silent else None
    judged += [
        _Judged(Ruling(finding["fp"], Verdict.UNDECIDED, _over(over or "calls")))
        for finding in findings
        if finding["fp"] not in known
    ]
    _land(campaign, round, judged, _Verdicts(declared.kind, time.monotonic() - began, over, failed, len(silent)))
    votes.forget()


def _failed(silent: Sequence[Ruling], asked: int) -> str:
    """Return why the judge failed on the findings that got no answer."""
    noun = "finding" if asked == 1 else "findings"
    return f"{len(silent)} of {asked} {noun} got no answer, the first: {silent[0].reason}"


def _asked(
    campaign: Campaign, round: int, findings: Sequence[Mapping[str, Any]], votes: Votes
) -> tuple[Sequence[Mapping[str, Any]], str | None, str | None]:
    """Ask about the findings that the calls of all members fit for.

    Returns those findings, the ceiling that tripped, and why the judge failed.
    """
    question = _question(campaign, round, findings, votes)
    budget, judge = budget_of(campaign, round), question.judge
    assert isinstance(judge, PanelJudge), "who has no judge asks nobody"
    reservation, granted = budget.reserve_up_to(len(findings), judge.worst.times(judge.panel), "judge")
    meter = Meter(budget, judge.worst, "judge", reservation, granted * judge.panel)
    question = replace(question, findings=findings[:granted], meter=meter)
    used, failed = Usage(), None
    if question.findings:
        used = judge.worst.times(question.size)
        heard, failed = _hear(question, votes, redactor_of(campaign))
        used = _used(judge, question, heard, meter.retries)
    meter.settle(used)
    return question.findings, budget.tripped, failed


def _used(judge: PanelJudge, question: Question, heard: Sequence[Ruling], retries: int) -> Usage:
    """Return what asking used: of those who were not heard, and of those of whom nobody knows, the most it may be.

    Who was not heard may have made any of the ``retries``.
    """
    said = {(ruling.fp, ruling.member): ruling.usage for ruling in heard}
    known = [usage for usage in said.values() if usage is not None]
    unknown = question.size - len(known)
    return sum(known, Usage()) + judge.worst.times(unknown + retries if unknown else 0)


def _question(campaign: Campaign, round: int, findings: Sequence[Mapping[str, Any]], votes: Votes) -> Question:
    sweep = campaign.declaration.sweep
    planned = read_plan(campaign, round) if findings else None
    snapshot = snapshot_of(campaign, planned.snapshot) if planned else None
    return Question(
        sweep.judge,
        findings,
        sweep.fingerprint.fields,
        round,
        snapshot.database if snapshot else None,
        sweep.name,
        campaign.id,
        campaign.declaration.base,
        votes.answered,
        places_of(campaign.home.home.root),
    )


def _hear(question: Question, votes: Votes, redactor: Redactor) -> tuple[list[Ruling], str | None]:
    """Ask the judge and keep what it says as it says it, secrets masked; return that, and why it failed, if it did."""
    heard: list[Ruling] = []
    tell = Teller(f"{question.sweep}/{question.campaign}", question.round)
    tell(Judging, 0, question.size)
    try:
        with closing(JUDGES[question.judge.kind](question)) as rulings:
            for said in rulings:
                ruling = replace(said, reason=redactor.maybe(said.reason))
                votes.keep(ruling)
                heard.append(ruling)
                tell(Judging, len(heard), question.size)
    except FinderError as error:
        return heard, redactor.text(str(error))
    except Exception as error:  # a judge's own bug is no verdict, and no reason to lose the round
        return heard, redactor.text(repr(error))
    return heard, None


def _judged(declared: PanelJudge, finding: Mapping[str, Any], votes: Votes, failed: str | None) -> "_Judged":
    """Return the ruling on a finding that was asked about, undecided where nothing was said."""
    fp, why = finding["fp"], failed or "the judge gave no answer"
    said = [votes.of(fp, m) or Ruling(fp, Verdict.UNDECIDED, why, m, answered=False) for m in _members(declared)]
    told = panel.as_json(said) if declared.panel > 1 else None
    calls = sum(1 if each.usage is None else each.usage.calls for each in said)
    return _Judged(panel.decided(fp, said, declared.needed), calls, told)


def _members(declared: PanelJudge) -> range:
    return range(1, declared.panel + 1)


def _payload(campaign: Campaign, pending: Sequence[Pending]) -> list[dict[str, Any]]:
    """Return findings as their newest round raised them at worst, in order of judging: severity, then fingerprint."""
    rows: list[dict[str, Any]] = []
    for round in sorted({each.round for each in pending}):
        files = [str(file) for file in landing.readable(campaign.folder(round))]
        wanted = [str(each.fp) for each in pending if each.round == round]
        if not files:
            continue
        with scratch() as connection:
            found = connection.execute(_PAYLOAD, [files, wanted]).fetchall()
        rows += [dict(zip(COLUMNS, row, strict=True)) for row in found]
    return sorted(rows, key=lambda row: (Severity(row["severity"]).rank, row["fp"]))


def _land(campaign: Campaign, round: int, judged: Sequence["_Judged"], how: "_Verdicts") -> None:
    table = pa.Table.from_pylist(
        [
            {
                "fp": str(each.ruling.fp),
                "verdict": each.ruling.verdict.value,
                "reason": None if each.ruling.reason is None else text(each.ruling.reason),
                "judge": how.judge,
                "calls": each.calls,
                "votes": each.votes,
            }
            for each in judged
        ],
        schema=_SCHEMA,
    )
    path = campaign.folder(round) / VERDICTS
    write_whole(path, lambda part: pq.write_table(table, part, compression="zstd"))
    file = landing.landed(path, table.num_rows)
    write_json(path.with_name(VERDICTS_MANIFEST), asdict(_Landed(file=file, **asdict(how))))


def _read_landed(campaign: Campaign, round: int) -> _Landed | None:
    path = campaign.folder(round) / VERDICTS_MANIFEST
    if not path.exists():
        return None
    data = read_json(path)
    return _Landed(**{**data, "file": landing.LandedFile(**data["file"])})


def _taken_in(ledger: Ledger, campaign: Campaign, round: int, *, judged: bool) -> JudgeReport:
    """Take what was landed of a round's judging into the ledger, once, and return what it came to."""
    landed = _read_landed(campaign, round)
    assert landed is not None, "verdicts are landed before they are read"
    rulings = _rulings(campaign, round, landed)
    if not judged:
        at = datetime.now(UTC)
        with ledger.transaction():
            _commit(ledger, campaign, round, landed, rulings, at)
            if rulings:
                write_judged(campaign, round, at)
    return _report(rulings, landed.failed)


def commit_landed(ledger: Ledger, campaign: Campaign, round: int, at: datetime) -> None:
    """Take landed verdicts into the ledger, in the caller's transaction, as they were at an instant."""
    landed = _read_landed(campaign, round)
    assert landed is not None, "verdicts are landed before they are read"
    _commit(ledger, campaign, round, landed, _rulings(campaign, round, landed), at)


def landed_file(campaign: Campaign, round: int) -> landing.LandedFile | None:
    """Return the file with a round's rulings, as its manifest has it; None where nothing was judged yet."""
    landed = _read_landed(campaign, round)
    return landed.file if landed else None


def _commit(
    ledger: Ledger,
    campaign: Campaign,
    round: int,
    landed: "_Landed",
    rulings: list[tuple[Ruling, int]],
    at: datetime,
) -> None:
    lives.record_verdicts(ledger, campaign.id, round, landed.judge, rulings)
    journal.mark_judged(ledger, campaign.id, round)
    if landed.failed:
        failed = Event("judge_failed", round, actor=landed.judge, reason=landed.failed)
        journal.log(ledger, campaign.id, at, [failed])


def _rulings(campaign: Campaign, round: int, landed: "_Landed") -> list[tuple[Ruling, int]]:
    rows = pq.read_table(landing.verify(campaign.folder(round), landed.file)).to_pylist()
    return [(Ruling(UUID(r["fp"]), Verdict(r["verdict"]), r["reason"]), r["calls"]) for r in rows]


def _report(rulings: list[tuple[Ruling, int]], failed: str | None) -> JudgeReport:
    said = [ruling.verdict for ruling, _ in rulings]
    return JudgeReport(
        judged=len(said),
        confirmed=said.count(Verdict.CONFIRMED),
        rejected=said.count(Verdict.REJECTED),
        undecided=said.count(Verdict.UNDECIDED),
        unjudged=said.count(Verdict.UNJUDGED),
        calls=sum(calls for _, calls in rulings),
        failed=failed,
    )
