"""Planting canaries: a copy of a snapshot that holds known problems as well, among the rest and like it.

The snapshot stays as it is. The copy is a snapshot of its own form, so that whoever searches the one can search the
other. What is planted must clash with nothing and be mentioned nowhere in the material: only then can what stems from
it be told from what is real.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from drysweep_pipeline import canaries
from drysweep_pipeline.declaration.model import Canaries, FilesMaterial, RegistryMaterial, Sweep
from drysweep_pipeline.declaration.yaml_reader import dotted
from drysweep_pipeline.errors import IntegrityError, MaterialError
from drysweep_pipeline.material.listing import Listing, list_files
from drysweep_pipeline.material.planted_files import (
    Files,
    column_of,
    is_shared,
    registry_of,
    rows_of,
    services_of,
)
from drysweep_pipeline.material.planted_rows import PLACE, write_rows
from drysweep_pipeline.material.snapshot import Snapshot, frozen
from drysweep_pipeline.material.tables import Written
from drysweep_pipeline.mentions import folded, sql_folded
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.temporary import temporary_folder

FORMAT = "planted3"
# Which column the rows of a table are in the order of; a registry's other tables tell of services.
_ORDER = {"files": "path", "settings": "file", "unreadable": "file", "services": "path"}
_BY_FILE = ("files", "settings")
# Whose rows come after whose where two stand at one place: those of the material first.
_UNITED = """
    copy (
        select * exclude (drysweep_place, drysweep_came, file_row_number)
        from ({rows})
        order by drysweep_place, drysweep_came, file_row_number
    ) to ? (format parquet, compression zstd)
"""
_ROWS = """
    select {columns}, {place} as drysweep_place, {came} as drysweep_came
    from read_parquet(?, file_row_number = true, hive_partitioning = false)
    {where}
"""
# A row is looked at as a whole, whatever its columns.
_MENTIONED = f"""
    with texts as (
        select {sql_folded("cast(said as varchar)")} as text
        from read_parquet($table, hive_partitioning = false) as said
    )
    select distinct name
    from texts, (select unnest($names) as name, unnest($folded) as wanted)
    where contains(text, wanted)
    order by name
"""
_MENTIONED_IN_FILES = f"""
    with texts as (
        select path as place, {sql_folded("path")} as text from read_parquet($table, hive_partitioning = false)
        union all
        select path, {sql_folded("text")}
        from read_parquet($table, hive_partitioning = false)
        where text is not null
    )
    select name, min(place)
    from texts, (select unnest($names) as name, unnest($folded) as wanted)
    where contains(text, wanted)
    group by name
    order by name
"""


@dataclass(frozen=True, slots=True)
class Planted:
    """A copy of a snapshot with canaries in it, and the names by which what stems from them is known."""

    snapshot: Snapshot
    names: tuple[str, ...]


def plant(sweep: Sweep, base: Path, original: Snapshot, store: Path) -> Planted:
    """Return the copy of a snapshot in which a sweep's canaries are planted, made in ``store`` where it is not there.

    ``base``: the folder of the declaring file. Raises ``MaterialError`` where the folder of the canaries is not as it
    was declared, and where something planted clashes with the material, or may be taken for a part of it.
    """
    declared = _declared(sweep)
    place = store / _digest(original, declared)
    try:
        copy = Snapshot.open(place)
    except IntegrityError:
        copy = _planted(sweep, declared, base, original, place)
    return Planted(copy, _names(sweep, copy.folder, original))


def named_by_paths(sweep: Sweep, base: Path) -> tuple[str, ...]:
    """Return the planted names of a sweep as far as they are known without its material.

    Raises ``MaterialError`` where the map of a registry names no service.
    """
    declared, registry = _declared(sweep), registry_of(sweep)
    if not isinstance(sweep.material, RegistryMaterial | FilesMaterial):
        return tuple(sorted(set(declared.marks)))
    listed = (file.path for file in list_files(base / declared.path, sweep.material.ignore).files)
    own = [path for path in listed if not is_shared(sweep, path)]
    services = [registry.service_of(path) for path in own] if registry is not None else []
    return tuple(sorted({*own, *(each for each in services if each), *declared.marks}))


def _declared(sweep: Sweep) -> Canaries:
    assert sweep.canaries is not None, "nobody asks where nothing is planted"
    return sweep.canaries


def _digest(original: Snapshot, declared: Canaries) -> str:
    rows = declared.model_dump(mode="json")["rows"]
    return hashlib.sha256(json.dumps([FORMAT, original.digest, declared.digest, rows]).encode()).hexdigest()


def _planted(sweep: Sweep, declared: Canaries, base: Path, original: Snapshot, place: Path) -> Snapshot:
    """Return the planted copy, made at a place. Raises ``MaterialError`` where something is in its way."""
    folder = base / declared.path
    with temporary_folder() as scratch_place:
        planted, shared = scratch_place / "planted", scratch_place / "shared"
        planted.mkdir()
        shared.mkdir()
        both: list[str] = []
        if isinstance(sweep.material, RegistryMaterial | FilesMaterial):
            both = Files(sweep, sweep.material, declared, folder, original).write(planted, shared)
        else:
            write_rows(declared, original, planted)
        _check_names(sweep, declared, _names(sweep, planted, original), planted, original)
        like = Listing(folder, (), (), original.revision, original.dirty)
        return frozen(place, like, lambda building: _united(building, original, (planted, shared), both))


def _names(sweep: Sweep, with_planted: Path, original: Snapshot) -> tuple[str, ...]:
    """Return the planted names: the paths and services that the original lacks, and the marks."""
    marks = _declared(sweep).marks
    paths = column_of(with_planted, "files", "path") - column_of(original.folder, "files", "path")
    own = {path for path in paths if not is_shared(sweep, path)}
    registry = isinstance(sweep.material, RegistryMaterial)
    services = services_of(with_planted) - services_of(original.folder) if registry else set()
    return tuple(sorted({*own, *services, *marks}))


def _check_names(sweep: Sweep, declared: Canaries, names: tuple[str, ...], planted: Path, original: Snapshot) -> None:
    """Raise ``MaterialError`` where what stems from a canary could be taken for real, or the other way round."""
    for keys, what, help in canaries.problems(sweep, names):
        raise MaterialError(what, key=dotted(("canaries", *keys)), help=help)
    for name, where in _mentioned(original, names):
        what = f"the planted name {name!r} stands in {where} of the material"
        raise MaterialError(what, key="canaries", help="plant something by another name")
    tables = sorted(path.stem for path in planted.glob("*.parquet"))
    said = (str(value) for table in tables for row in rows_of(planted, table) for value in row.values())
    for mark in canaries.not_planted(declared, said):
        raise MaterialError(f"no canary holds the mark {mark!r}", key="canaries.marks")


def _mentioned(original: Snapshot, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (name, file or table) of the names that stand anywhere in a snapshot, whatever their case."""
    # What a file says is in its text; the tables that are made of it say nothing else.
    tables = ("unreadable", *(name for name, _ in original.tables))
    with scratch() as connection:
        wanted = {"names": list(names), "folded": [folded(name) for name in names]}
        given = {**wanted, "table": str(original.folder / "files.parquet")}
        found = connection.execute(_MENTIONED_IN_FILES, given).fetchall()
        for table in tables:
            given = {**wanted, "table": str(original.folder / f"{table}.parquet")}
            found += [(name, f"the table {table}") for (name,) in connection.execute(_MENTIONED, given).fetchall()]
    return found


def _united(building: Path, original: Snapshot, others: tuple[Path, Path], shared: list[str]) -> Written:
    """Write each table with the rows of the material, of what is planted, and of the files that are of both."""
    rows, own = {}, [name for name, _ in original.tables]
    with scratch() as connection:
        for table in sorted(path.stem for path in original.folder.glob("*.parquet")):
            united = building / f"{table}.parquet"
            parts, given = [], []
            for came, folder in enumerate((original.folder, *others)):
                if (folder / united.name).exists():
                    part, values = _part(table, came, own=table in own, shared=shared)
                    parts.append(part)
                    given += [str(folder / united.name), *values]
            sql = _UNITED.format(rows=" union all by name ".join(parts))
            connection.execute(sql, [*given, str(united)])
            rows[table] = pq.read_metadata(united).num_rows
    return Written(rows, tuple(own))


def _part(table: str, came: int, *, own: bool, shared: list[str]) -> tuple[str, list[list[str]]]:
    """Return SQL for the rows of a table that came with the material, the canaries, or both, and what it binds."""
    if own:
        columns, place = ("*", "file_row_number") if came == 0 else (f"* exclude ({PLACE})", PLACE)
        return _ROWS.format(columns=columns, place=place, came=came, where=""), []
    order = _ORDER.get(table, "service")
    left_out = table in _BY_FILE and came < 2
    where = f"where not list_contains(cast(? as varchar[]), {order})" if left_out else ""
    return _ROWS.format(columns="*", place=order, came=came, where=where), [shared] if left_out else []
