"""A sweep with a long past, made without any finder: landed files, a ledger that took them in, a published history."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from drysweep_pipeline import landing
from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import Ledger, intake, journal, open_ledger
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import Outcome, Place, RoundKey, Rule, Usage

SWEEP = "large"
STRATEGIES = 5
_STARTED = datetime(2026, 1, 1, tzinfo=UTC)
# A strategy goes round the findings in steps, so that each is sighted by every one of them at some time.
_LANDED = """
    copy (
        select
            cast(md5(cast(i as varchar)) as uuid) as fp, '["fp1","service-' || i || '","no_owner"]' as identity,
            $strategy as strategy, row_number() over () as row, 'service-' || i as subject, 'no_owner' as kind,
            case i % 4 when 0 then 'blocker' when 1 then 'major' when 2 then 'minor' else 'nit' end as severity,
            'service-' || i as scope, 'no_owner: service-' || i as title, 'services/' || i || '.yaml' as path,
            null::varchar as owner, 'no owner in line ' || i % 97 || ' of services/' || i || '.yaml' as evidence,
            i % 97 as line, '{"team":"t' || i % 31 || '"}' as attributes
        from (select ($first + n) % $findings as i from range($rows) r(n))
    ) to 'PATH' (format parquet, compression zstd)
"""
_JUDGED = """
    insert into verdicts
    select
        fp, $campaign, $round, 'sql', case when hash(fp) % 10 = 0 then 'rejected' else 'confirmed' end, 'said so', 1,
        (select coalesce(max(ord), 0) from verdicts) + row_number() over ()
    from fresh
"""


@dataclass(frozen=True, slots=True)
class Past:
    """The size of a past: distinct findings, and how often all strategies together sighted one in ``rounds`` rounds."""

    root: Path
    findings: int
    sightings: int
    campaigns: int = 4
    rounds: int = 5

    @property
    def home(self) -> Home:
        """Where it lies."""
        return Home(self.root)

    @property
    def _rows(self) -> int:
        """How many findings a strategy sights in a round."""
        return self.sightings // (self.campaigns * self.rounds * STRATEGIES)

    def build(self) -> None:
        """Make it, unless an earlier run left it."""
        if (self.root / "built").exists():
            return
        shutil.rmtree(self.root, ignore_errors=True)
        with self.ledger() as ledger:
            for number in range(self.campaigns):
                begin(ledger, f"c{number}", number + 1)
                for round in range(1, self.rounds + 1):
                    slot = (number * self.rounds + round - 1) * STRATEGIES
                    step = self.findings // (self.campaigns * self.rounds * STRATEGIES)
                    firsts = [(slot + strategy) * step for strategy in range(STRATEGIES)]
                    self.sweep_round(ledger, Place(as_of(number + 1), number + 1, round), f"c{number}", firsts)
                end(ledger, f"c{number}", self.rounds)
            ledger.connection.execute("checkpoint")
            publish(self.home, SWEEP, ledger)
        (self.root / "built").touch()

    @contextmanager
    def ledger(self) -> Iterator[Ledger]:
        """Yield the open ledger."""
        with open_ledger(self.home.sweep(SWEEP).ledger) as ledger:
            yield ledger

    def sweep_round(
        self, ledger: Ledger, place: Place, campaign: str, firsts: list[int], rows: int | None = None
    ) -> None:
        """Land, take in, judge and decide a round in which each strategy sights ``rows`` findings from its first on."""
        folder = self.home.sweep(SWEEP).round(RoundKey(campaign, place.round))
        folder.mkdir(parents=True, exist_ok=True)
        runs = tuple(self._run(folder, f"s{n}", first, rows or self._rows) for n, first in enumerate(firsts))
        manifest = landing.Manifest(campaign, place.round, "snap", 0, 1.0, runs)
        landing.write_manifest(folder, manifest)
        with ledger.transaction():
            counts = intake.take_in(ledger, campaign, place, landing.readable(folder))
            journal.record_round(ledger, manifest, counts, 0, True, place.as_of)
            ledger.connection.execute(_JUDGED, {"campaign": campaign, "round": place.round})
            quiet = counts.fresh == 0
            decision = [True, 0, quiet, False, len(runs), 0, 0.0, 1.0, None, "running", None, int(quiet), place.as_of]
            journal.record_decision(ledger, campaign, place.round, decision)

    def _run(self, folder: Path, name: str, first: int, rows: int) -> landing.StrategyRun:
        path = folder / f"{name}.a1.parquet"
        with scratch() as connection:
            given = {"strategy": name, "first": first, "rows": rows, "findings": self.findings}
            connection.execute(_LANDED.replace("PATH", str(path)), given)
        file = landing.landed(path, rows)
        attempt = landing.Attempt(1, "ok", None, 0.1, Usage(1))
        return landing.StrategyRun(name, "sql", "ok", None, {}, 0, 7, (attempt,), file)


def as_of(seq: int) -> datetime:
    """Return the instant that the campaign of a number looks at: a day a campaign."""
    return _STARTED + timedelta(days=seq)


def begin(ledger: Ledger, campaign: str, seq: int) -> None:
    """Record a campaign."""
    journal.record_campaign(ledger, campaign, seq, as_of(seq), Rule.DRY, 2, "digest", as_of(seq))


def end(ledger: Ledger, campaign: str, rounds: int) -> None:
    """Record that a campaign converged."""
    standing = Standing(Ceilings(100, 1000), Outcome.CONVERGED, None, rounds, 2)
    journal.record_standing(ledger, campaign, standing, _STARTED)
