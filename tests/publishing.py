"""A sweep whose rounds are taken in, judged, decided and published as the engine does it, without any finder."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

from drysweep_pipeline import fingerprint, landing
from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.candidates import land_rows
from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.history import history
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.home import Home
from drysweep_pipeline.judges.question import Ruling
from drysweep_pipeline.ledger import Ledger, intake, journal, lives, open_ledger
from drysweep_pipeline.values import Event, Outcome, Place, RoundKey, Rule, State, Usage, Verdict

FIELDS = ("subject", "kind")
JANUARY, MARCH = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
RECORDED = datetime(2026, 6, 1, tzinfo=UTC)
Wave = dict[str, list[str] | None]


def fp(label: str) -> UUID:
    return fingerprint.fingerprint(list(label.split("/")))


@dataclass
class Sweeping:
    """A sweep whose rounds are taken in, judged, decided and published as the engine does it."""

    home: Home
    name: str = "registry"
    clock: datetime = RECORDED
    seqs: dict[str, int] = field(default_factory=dict)
    places: dict[str, datetime] = field(default_factory=dict)
    published: bool = True

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        with open_ledger(self.home.sweep(self.name).ledger) as ledger:
            yield ledger

    def tick(self) -> datetime:
        self.clock += timedelta(hours=1)
        return self.clock

    def start(self, campaign: str, as_of: datetime = JANUARY, rule: Rule = Rule.DRY) -> None:
        self.seqs[campaign], self.places[campaign] = len(self.seqs) + 1, as_of
        with self.ledger() as ledger, ledger.transaction():
            journal.record_campaign(ledger, campaign, self.seqs[campaign], as_of, rule, 2, "digest", self.tick())

    def place(self, campaign: str, round: int) -> Place:
        return Place(self.places[campaign], self.seqs[campaign], round)

    def round(
        self,
        campaign: str,
        round: int,
        wave: Wave,
        outcome: Outcome = Outcome.RUNNING,
        reason: str | None = None,
        verdicts: dict[str, str] | None = None,
        severity: str = "major",
        title: str | None = None,
        snapshot: str = "snap",
    ) -> None:
        """``wave`` is strategy -> labels, None for one that did not run."""
        folder = self.home.sweep(self.name).round(RoundKey(campaign, round))
        runs = tuple(self._run(folder, name, labels, severity, title) for name, labels in wave.items())
        manifest = landing.Manifest(campaign, round, snapshot, 3, 1.0, runs)
        folder.mkdir(parents=True, exist_ok=True)
        landing.write_manifest(folder, manifest)
        with self.ledger() as ledger:
            self._record(ledger, manifest, verdicts or {}, outcome, reason)
            if self.published:
                publish(self.home, self.name, ledger)

    def _run(
        self, folder: Path, name: str, labels: list[str] | None, severity: str, title: str | None
    ) -> landing.StrategyRun:
        attempt = landing.Attempt(1, "ok" if labels is not None else "failed", None, 0.5, Usage(1, 10, 0.25))
        file = None
        if labels:
            rows = [
                {"subject": s, "kind": k, "severity": severity, "path": "a.yaml", "line": 3, "title": title, "extra": 1}
                for s, k in (label.split("/") for label in labels)
            ]
            path = folder / f"{name}.a1.parquet"
            file = landing.landed(path, land_rows(rows, name, FIELDS, path).rows)
        status = "ok" if labels is not None else "not_run"
        why = None if labels is not None else "exit code 1"
        return landing.StrategyRun(name, "scripted", status, why, {"from": "a"}, 0, 7, (attempt,), file)

    def _record(
        self, ledger: Ledger, manifest: landing.Manifest, verdicts: dict[str, str], outcome: Outcome, reason: str | None
    ) -> None:
        campaign, round = manifest.campaign, manifest.round
        folder = self.home.sweep(self.name).round(RoundKey(campaign, round))
        complete = not manifest.not_run
        by_fp = {fp(label): verdict for label, verdict in verdicts.items()}
        with ledger.transaction():
            counts = intake.take_in(ledger, campaign, self.place(campaign, round), landing.readable(folder))
            journal.record_round(ledger, manifest, counts, 0, complete, self.tick())
            rulings = [
                (Ruling(pending.fp, Verdict(by_fp.get(pending.fp, "confirmed")), "said so"), 1)
                for pending in lives.to_judge(ledger, campaign, round)
            ]
            lives.record_verdicts(ledger, campaign, round, "sql", rulings)
            journal.mark_judged(ledger, campaign, round)
            quiet = complete and counts.fresh == 0
            calls = len(manifest.runs) + len(rulings)
            used = [calls, 10, 0.5, 1.5]
            decision = [complete, 0, quiet, False, *used, None, outcome.value, reason, int(quiet), self.tick()]
            journal.record_decision(ledger, campaign, round, decision)
            lost = [Event("finder_not_run", round, actor=name, reason="exit code 1") for name in manifest.not_run]
            journal.log(ledger, campaign, self.clock, lost)
            standing = Standing(Ceilings(10, 100), outcome, reason, round, int(quiet))
            journal.record_standing(ledger, campaign, standing, self.clock)

    def move(self, campaign: str, round: int, label: str, state: State, event: str, actor: str = "ada") -> None:
        with self.ledger() as ledger:
            with ledger.transaction():
                lives.record_life(ledger, fp(label), state, self.place(campaign, round), lives.Because(actor=actor))
                journal.log(ledger, campaign, self.tick(), [Event(event, round, str(fp(label)), actor, "because")])
            publish(self.home, self.name, ledger)


def one_campaign(sweeping: Sweeping) -> Sweeping:
    """One campaign of three rounds: three findings, one rejected, two strategies."""
    sweeping.start("c1")
    sweeping.round("c1", 1, {"one": ["api/no_owner", "api/old"], "two": ["api/old"]}, verdicts={"api/old": "rejected"})
    sweeping.round("c1", 2, {"one": [], "two": ["web/no_owner"]})
    sweeping.round("c1", 3, {"one": ["api/no_owner"], "two": []}, Outcome.CONVERGED)
    return sweeping


def copied(sweeping: Sweeping, root: Path) -> Sweeping:
    """Return the same sweep as it stands, in a home of its own: cheaper than to sweep again."""
    shutil.copytree(sweeping.home.root, root, dirs_exist_ok=True)
    return replace(sweeping, home=Home(root), seqs=dict(sweeping.seqs), places=dict(sweeping.places))


def ask(sweeping: Sweeping, sql: str) -> list[tuple[object, ...]]:
    with history(sweeping.home) as connection:
        return connection.execute(sql).fetchall()
