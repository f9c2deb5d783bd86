"""Taking candidates in: what the engine does with landed files, against the bare statements and a loop over a set.

Each contender starts from the same ledger and the same files; what it added is taken out again between runs, unclocked.
"""

import json
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.figures import Figure, Spent, clocked, interleaved
from drysweep_pipeline import landing
from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.landing import LandedFile
from drysweep_pipeline.ledger import Ledger, intake, journal, open_ledger
from drysweep_pipeline.values import Place, Rule

STRATEGIES = 5
KNOWN = 0.9
_AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
_PLACE = Place(_AS_OF, 1, 2)
_STEP = 10_000_000
_FP = "cast(md5(cast(i as varchar)) as uuid)"
_SEEN = f"insert into seen select {_FP}, 1, 1 from range(?, ?) r(i)"
# The known ones are spread over all of seen, the fresh ones lie beyond it.
_CANDIDATES = f"""
    copy (
        select
            {_FP} as fp, '["fp1","service-' || i || '","no_owner"]' as identity, $strategy as strategy,
            row_number() over () as row, 'service-' || i as subject, 'no_owner' as kind, 'major' as severity,
            'service-' || i as scope, 'no_owner: service-' || i as title, 'services/' || i || '.yaml' as path,
            null::varchar as owner, 'no owner in line ' || i % 97 || ' of services/' || i || '.yaml' as evidence,
            i % 97 as line, '{{"team":"t' || i % 31 || '"}}' as attributes
        from (
            select case when n % 10 < 9 then n * $stride else $seen + n end as i
            from range($first, $last) r(n)
        )
    ) to 'PATH' (format parquet, compression zstd)
"""
# The transaction of the measurements that the design rests on, on the same tables.
_BARE_WAVE = """
    create or replace temp table w as
    select fp, strategy, cast(count(*) as integer) as hits, min(filename) as f, min(file_row_number) as rn
    from read_parquet(?, filename = true, file_row_number = true)
    group by fp, strategy
"""
_BARE = (
    "create or replace temp table u as select fp, min(strategy) as strategy from w group by fp",
    "create or replace temp table h as select fp from seen where fp in (select fp from u)",
    "create or replace temp table f as select u.* from u anti join h using (fp)",
    "insert into seen select fp, 1, 2 from f",
    "insert into sightings select fp, strategy, 'bare', 2, hits from w",
)
_BARE_COUNTS = "select (select sum(hits) from w), (select count(*) from u), (select count(*) from f)"
_ANTI = "create or replace temp table f as select fp from u anti join seen using (fp)"


@dataclass(frozen=True, slots=True)
class Case:
    """A ledger that has seen much, and the landed files of one round; ``folder`` holds both."""

    folder: Path
    seen: int
    candidates: int

    @property
    def ledger(self) -> Path:
        """The ledger file."""
        return self.folder / f"seen-{self.seen}" / "ledger.duckdb"

    @property
    def wave(self) -> Path:
        """The folder of the landed files."""
        return self.folder / f"seen-{self.seen}" / f"wave-{self.candidates}"

    @property
    def files(self) -> list[LandedFile]:
        """The landed files as their manifest lists them."""
        return [LandedFile(**file) for file in read_json(self.wave / "files.json")["files"]]

    @property
    def keys(self) -> Path:
        """What the loop over a set keeps between rounds."""
        return self.folder / f"seen-{self.seen}" / "keys.pickle"


def measure(folder: Path, *, scale: int = 1, times: int = 3) -> list[Figure]:
    """Return the figures of intake; ``scale`` divides all sizes."""
    large = prepared(Case(folder, 10_000_000 // scale, 1_000_000 // scale))
    huge = prepared(Case(folder, 100_000_000 // scale, 1_000 if scale == 1 else 100))
    return [*_of_million(large, times), *_of_thousand(huge, times)]


def prepared(case: Case) -> Case:
    """Build the ledger and the files of a case, unless an earlier run left them."""
    case.ledger.parent.mkdir(parents=True, exist_ok=True)
    with open_ledger(case.ledger) as ledger:
        known = ledger.connection.execute("select count(*) from seen where round = 1").fetchall()[0][0]
        if known != case.seen:
            _build(ledger, case.seen)
        _undo(ledger)
        if not (case.wave / "files.json").exists():
            _land(ledger, case)
    return case


def _build(ledger: Ledger, seen: int) -> None:
    journal.record_campaign(ledger, "earlier", 1, _AS_OF, Rule.DRY, 2, "", _AS_OF)
    ledger.connection.execute("delete from seen")
    for first in range(0, seen, _STEP):
        ledger.connection.execute(_SEEN, [first, min(first + _STEP, seen)])
    ledger.connection.execute("checkpoint")


def _land(ledger: Ledger, case: Case) -> None:
    case.wave.mkdir(parents=True, exist_ok=True)
    each, files = case.candidates // STRATEGIES, []
    for number in range(STRATEGIES):
        path = case.wave / f"s{number}.a1.parquet"
        given = {
            "strategy": f"s{number}",
            "stride": case.seen // case.candidates,
            "seen": case.seen,
            "first": number * each,
            "last": (number + 1) * each,
        }
        ledger.connection.execute(_CANDIDATES.replace("PATH", str(path)), given)
        files.append(landing.landed(path, each))
    write_json(case.wave / "files.json", {"files": [asdict(file) for file in files]})


def _undo(ledger: Ledger) -> None:
    """Take out what a run added."""
    ledger.connection.execute("delete from seen where round = 2")
    ledger.connection.execute("delete from sightings")
    ledger.connection.execute("checkpoint")


def take_in(ledger: Ledger, case: Case) -> int:
    """Do what the engine does at intake with landed files; return how many were fresh."""
    files = [landing.verify(case.wave, file) for file in case.files]
    with ledger.transaction():
        counts = intake.take_in(ledger, "bench", _PLACE, files)
        write_json(case.wave / "decision.json", {"round": 2, "intake": {"fresh": intake.fresh_of(ledger)}})
    assert not intake.seen_twice(ledger)
    return counts.fresh


def take_in_bare(ledger: Ledger, case: Case) -> int:
    """Run the bare statements; return how many were fresh."""
    connection = ledger.connection
    connection.execute(_BARE_WAVE, [[str(case.wave / file.name) for file in case.files]])
    connection.begin()
    for statement in _BARE:
        connection.execute(statement)
    fresh = connection.execute(_BARE_COUNTS).fetchall()[0][2]
    connection.commit()
    return int(fresh)


def take_in_by_set(case: Case) -> int:
    """Load a set of keys, ask it for every candidate, save it; return how many were fresh."""
    with case.keys.open("rb") as source:
        seen: set[bytes] = pickle.load(source)
    fresh = [key for key in _candidate_keys(case) if key not in seen]
    seen.update(fresh)
    with case.keys.with_suffix(".new").open("wb") as target:
        pickle.dump(seen, target, protocol=pickle.HIGHEST_PROTOCOL)
    return len(set(fresh))


def _candidate_keys(case: Case) -> Iterator[bytes]:
    for file in case.files:
        yield from _keys(pq.read_table(case.wave / file.name, columns=["fp"])["fp"])


def _keys(column: pa.ChunkedArray) -> Iterator[bytes]:
    for chunk in column.chunks:
        yield from (chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk).to_pylist()


def _write_keys(case: Case) -> None:
    """Write the set of all that was seen, as the loop would have left it."""
    if case.keys.exists():
        return
    path = case.folder / "keys.parquet"
    with open_ledger(case.ledger) as ledger:
        ledger.connection.execute(f"copy (select fp from seen) to '{path}' (format parquet)")
    keys = {key for batch in pq.ParquetFile(path).iter_batches() for key in _keys(pa.chunked_array([batch["fp"]]))}
    path.unlink()
    with case.keys.open("wb") as target:
        pickle.dump(keys, target, protocol=pickle.HIGHEST_PROTOCOL)


def _clean(ledger: Ledger, case: Case, work: Callable[[Ledger, Case], int]) -> Callable[[], Spent]:
    """Return a run that clocks the work alone and takes out afterwards what it added."""

    def run() -> Spent:
        spent = clocked(lambda: work(ledger, case))
        _undo(ledger)
        return spent

    return run


def _of_million(case: Case, times: int) -> list[Figure]:
    with open_ledger(case.ledger) as ledger:
        assert take_in(ledger, case) == case.candidates // 10
        _undo(ledger)
        ours, bare = interleaved(_clean(ledger, case, take_in), _clean(ledger, case, take_in_bare), times)
    in_child(case, "keys")
    looped, alone = in_child(case, "set"), in_child(case, "ours")
    size = f"{case.candidates:,} candidates, {case.seen:,} seen"
    megabytes = alone["rss_mb"]
    return [
        Figure(f"intake, {size}", ours.wall, bare.wall, 1.3, "the bare transaction", "s", False, ours.cpu, bare.cpu),
        Figure(
            f"intake, {size}, open to close",
            alone["wall"],
            looped["wall"],
            8.0,
            "a set in Python, load and save included",
            at_least=True,
            cpu_ours=alone["cpu"],
            cpu_baseline=looped["cpu"],
        ),
        Figure("peak memory of that intake", megabytes, None, 1000, "the process as a whole", "MB"),
    ]


def _of_thousand(case: Case, times: int) -> list[Figure]:
    size = f"{case.candidates:,} candidates, {case.seen:,} seen"
    with open_ledger(case.ledger) as ledger:
        paths = [str(case.wave / file.name) for file in case.files]
        ledger.connection.execute("create temp table u as select distinct fp from read_parquet(?)", [paths])
        ours, anti = interleaved(
            _clean(ledger, case, take_in), lambda: clocked(lambda: ledger.connection.execute(_ANTI)), times
        )
    whole = clocked(lambda: _open_to_close(case))
    with open_ledger(case.ledger) as ledger:
        _undo(ledger)
    return [
        Figure(f"intake, {size}", ours.wall, anti.wall, 4.0, "the anti join alone", "s", False, ours.cpu, anti.cpu),
        Figure(
            f"intake, {size}, open to close",
            whole.wall,
            anti.wall,
            4.0,
            "the anti join alone, on an open ledger",
            cpu_ours=whole.cpu,
            cpu_baseline=anti.cpu,
        ),
    ]


def _open_to_close(case: Case) -> int:
    with open_ledger(case.ledger) as ledger:
        return take_in(ledger, case)


def in_child(case: Case, what: str) -> dict[str, float]:
    """Run one contender in a process of its own; return its seconds and its peak memory in MB."""
    arguments = [str(case.folder), str(case.seen), str(case.candidates), what]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.intake", *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    answer: dict[str, float] = json.loads(done.stdout)
    if what == "ours":
        with open_ledger(case.ledger) as ledger:
            _undo(ledger)
    return answer


def _main(folder: str, seen: str, candidates: str, what: str) -> None:
    case = Case(Path(folder), int(seen), int(candidates))
    works: dict[str, Callable[[], object]] = {
        "ours": lambda: _open_to_close(case),
        "set": lambda: take_in_by_set(case),
        "keys": lambda: _write_keys(case),
    }
    spent = clocked(works[what])
    sys.stdout.write(json.dumps({"wall": spent.wall, "cpu": spent.cpu, "rss_mb": _peak_megabytes()}))


def _peak_megabytes() -> float:
    """Return the most memory this process held at once."""
    # What getrusage tells on Linux starts at the size of the process that started this one.
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    os.umask(0o077)
    _main(*sys.argv[1:])
