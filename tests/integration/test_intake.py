"""Taking candidates in on a ledger of one's own: what the pass over seen leaves behind."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from drysweep_pipeline.ledger import intake, journal, open_ledger
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import Place, Rule

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
LIMIT = "select current_setting('memory_limit')"


@pytest.fixture
def landed(tmp_path: Path) -> Path:
    """Return a file of a thousand candidates."""
    file = tmp_path / "looks.a1.parquet"
    with scratch() as connection:
        rows = "select cast(md5(cast(i as varchar)) as uuid) as fp, 'looks' as strategy from range(1000) r(i)"
        connection.execute(f"copy ({rows}) to '{file}' (format parquet)")
    return file


def test_the_pass_over_seen_leaves_the_ledger_the_memory_that_it_may_take(tmp_path: Path, landed: Path) -> None:
    with open_ledger(tmp_path / "ledger.duckdb") as ledger:
        journal.record_campaign(ledger, "one", 1, AS_OF, Rule.DRY, 2, "", AS_OF)
        before = ledger.connection.execute(LIMIT).fetchall()
        fresh = []
        for round in (1, 2):
            with ledger.transaction():
                fresh.append(intake.take_in(ledger, "one", Place(AS_OF, 1, round), [landed]).fresh)
        assert fresh == [1000, 0]
        assert not intake.seen_twice(ledger)
        assert ledger.connection.execute(LIMIT).fetchall() == before
