"""Judging a round: who is judged, in which order, for which money, and what no answer means (R8).

What the judge said lands as ``verdicts.parquet`` before the ledger takes it in, so a crash in between asks nobody
twice. The kinds of judge live in ``judges``.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline import landing
from drysweep_pipeline.candidates import COLUMNS
from drysweep_pipeline.declaration.model import NoJudge
from drysweep_pipeline.durable import read_json, write_json, write_whole
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.wave import budget_of, read_plan, snapshot_of
from drysweep_pipeline.errors import FinderError, RoundGap
from drysweep_pipeline.judges import JUDGES, Question, Ruling
from drysweep_pipeline.ledger import Ledger, journal, lives, open_ledger
from drysweep_pipeline.ledger.lives import Pending
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import Event, Severity, Usage, Verdict

VERDICTS = "verdicts.parquet"
VERDICTS_MANIFEST = "verdicts.json"
_SCHEMA = pa.schema(
    [
        ("fp", pa.string()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("judge", pa.string()),
        ("calls", pa.int32()),
    ]
)
_PAYLOAD = f"""
    select {", ".join(COLUMNS)}
    from read_parquet(?)
    where fp in (select unnest(cast(? as uuid[])))
    qualify row_number() over (partition by fp order by {{rank}}, strategy, row) = 1
""".format(rank="case severity when 'blocker' then 0 when 'major' then 1 when 'minor' then 2 else 3 end")


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
class _Verdicts:
    """How a round was judged: the kind of judge, how long it took, the ceiling that tripped, why the judge failed."""

    judge: str
    seconds: float
    tripped: str | None = None
    failed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Landed(_Verdicts):
    """The manifest of a round's verdicts: how it was judged, and the file with the rulings."""

    file: landing.LandedFile


def judge(campaign: Campaign, round: int) -> JudgeReport:
    """Judge the findings of a campaign that have no verdict; a round that was judged returns what was said then."""
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
            return _taken_in(ledger, campaign, round, judged=row.judged)
    # A judge is asked outside the ledger's lock: a slow one keeps nobody from reading or writing.
    _ask(campaign, round, findings)
    with open_ledger(campaign.home.ledger) as ledger:
        return _taken_in(ledger, campaign, round, judged=row.judged)


def tripped(campaign: Campaign, round: int) -> str | None:
    """Return the ceiling that tripped while the round was judged, or None."""
    landed = _read_landed(campaign, round)
    return landed.tripped if landed else None


def seconds(campaign: Campaign, round: int) -> float:
    """Return how long judging the round took."""
    landed = _read_landed(campaign, round)
    return landed.seconds if landed else 0.0


def _ask(campaign: Campaign, round: int, findings: Sequence[Mapping[str, Any]]) -> None:
    """Have the judge rule on as many findings as the budget has calls for, and land every ruling."""
    declared = campaign.declaration.sweep.judge
    began = time.monotonic()
    over = failed = None
    if isinstance(declared, NoJudge):
        rulings = [(Ruling(finding["fp"], Verdict.UNJUDGED), 0) for finding in findings]
    else:
        budget = budget_of(campaign, round)
        reservation, granted = budget.reserve_up_to(len(findings), "judge")
        over = budget.tripped
        rulings, failed = _ruled(campaign, round, findings[:granted]) if granted else ([], None)
        budget.settle(reservation, Usage(calls=granted))
        rulings += [(Ruling(f["fp"], Verdict.UNDECIDED, f"ceiling: {over}"), 0) for f in findings[granted:]]
    _land(campaign, round, rulings, _Verdicts(declared.kind, time.monotonic() - began, over, failed))


def _ruled(
    campaign: Campaign, round: int, findings: Sequence[Mapping[str, Any]]
) -> tuple[list[tuple[Ruling, int]], str | None]:
    """Return a ruling for each finding, undecided where the judge gave none, and why it failed if it did."""
    sweep = campaign.declaration.sweep
    planned = read_plan(campaign, round)
    snapshot = snapshot_of(campaign, planned.snapshot) if planned else None
    question = Question(sweep.judge, findings, sweep.fingerprint.fields, round, snapshot.database if snapshot else None)
    try:
        said = {ruling.fp: ruling for ruling in JUDGES[sweep.judge.kind](question)}
        failed = None
    except FinderError as error:
        said, failed = {}, str(error)
    except Exception as error:  # a judge's own bug is no verdict, and no reason to lose the round
        said, failed = {}, repr(error)
    why = failed or "the judge gave no answer"
    return [(said.get(f["fp"]) or Ruling(f["fp"], Verdict.UNDECIDED, why), 1) for f in findings], failed


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


def _land(campaign: Campaign, round: int, rulings: list[tuple[Ruling, int]], judged: "_Verdicts") -> None:
    table = pa.Table.from_pylist(
        [
            {"fp": str(r.fp), "verdict": r.verdict.value, "reason": r.reason, "judge": judged.judge, "calls": calls}
            for r, calls in rulings
        ],
        schema=_SCHEMA,
    )
    path = campaign.folder(round) / VERDICTS
    write_whole(path, lambda part: pq.write_table(table, part, compression="zstd"))
    file = landing.LandedFile(VERDICTS, landing.sha256_of(path), path.stat().st_size, table.num_rows)
    write_json(path.with_name(VERDICTS_MANIFEST), asdict(_Landed(file=file, **asdict(judged))))


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
    rows = pq.read_table(landing.verify(campaign.folder(round), landed.file)).to_pylist()
    rulings = [(Ruling(UUID(r["fp"]), Verdict(r["verdict"]), r["reason"]), r["calls"]) for r in rows]
    if not judged:
        with ledger.transaction():
            lives.record_verdicts(ledger, campaign.id, round, landed.judge, rulings)
            journal.mark_judged(ledger, campaign.id, round)
            if landed.failed:
                failed = Event("judge_failed", round, actor=landed.judge, reason=landed.failed)
                journal.log(ledger, campaign.id, datetime.now(UTC), [failed])
    return _report(rulings, landed.failed)


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
