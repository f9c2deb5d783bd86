"""Material of the kind ``tables``: files that hold tables, each a table of the snapshot.

.. code-block:: yaml

    path: data/{as_of}                                     # a folder; or one file, of which no table then names a file
    tables:
      truth: truth.csv
      parts: "parts/*.parquet"                             # all that match, which must have the same columns
      tokens: {file: tokens.jsonl.gz, columns: {path: VARCHAR, line: BIGINT, words: "VARCHAR[]"}}
      nodes: {file: mesh.db, table: nodes}

What cannot be read is in ``unreadable``, and the snapshot has no such table: SQL over it fails, rather than to find
nothing. The files are copied first, held to what was listed, and read in a child process by ``tabular``.
"""

import gzip
import json
import sys
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from drysweep_pipeline import exact
from drysweep_pipeline.children import complaints
from drysweep_pipeline.children.child import Child, lines
from drysweep_pipeline.children.confinement import Confinement
from drysweep_pipeline.children.installation import interpreter_places
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.declaration.model import TablesMaterial, TableSource
from drysweep_pipeline.errors import FinderError, MaterialError
from drysweep_pipeline.material.globs import may_hide, pattern
from drysweep_pipeline.material.listing import File, Listing, list_files, read_into
from drysweep_pipeline.tabular.wanted import Wanted

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".db": "database",
    ".duckdb": "database",
    ".sqlite": "database",
    ".sqlite3": "database",
}
_TEXT = ("csv", "tsv", "json", "jsonl")
_BEING_WRITTEN = ("-wal", "-journal", ".wal")
_PIECE_BYTES = 1 << 20
READING = 2
"""How tables are read, by number: the same bytes read in another way are another snapshot."""


@dataclass(frozen=True, slots=True)
class Read:
    """What became of the declared tables: rows by name of those that were read, and (file, reason) for the others."""

    rows: Mapping[str, int]
    unreadable: tuple[tuple[str, str], ...]


def sources(material: TablesMaterial, path: Path) -> dict[str, TableSource]:
    """Return where each table is kept, with its format. Raises ``MaterialError`` where that cannot be told."""
    return {name: _complete(name, source, path) for name, source in material.tables.items()}


def list_sources(
    material: TablesMaterial,
    path: Path,
    others: tuple[tuple[str, str], ...] = (),
    own: frozenset[str] = frozenset(),
) -> Listing:
    """List the files that the declared tables are in; a file that is not there, or being written, is unreadable.

    ``others``: what else is at the place and cannot be read. ``own``: the paths in it that are the home in use.
    """
    known = sources(material, path).values()
    declared = sorted({source.file for source in known})
    databases = {source.file for source in known if source.format == "database"}
    root = path if path.is_dir() else path.parent
    listing = list_files(root, (), lambda name: any(may_hide(name, file) for file in declared), own)
    files = tuple(file for file in listing.files if any(pattern(each).fullmatch(file.path) for each in declared))
    # Here, since the bytes of a database do not tell what lies beside it, and this is what a snapshot is named by.
    asked = [file.path for file in files if any(pattern(each).fullmatch(file.path) for each in databases)]
    busy = {each: why for each in asked if (why := _busy(root, each))}
    files = tuple(file for file in files if file.path not in busy)
    given = (*listing.unreadable, *others, *busy.items())
    unread = [each for each in given if any(may_hide(each[0], file) for file in declared)]
    listed = [*(file.path for file in files), *(name for name, _ in unread)]
    missing = [(each, "there is no such file") for each in declared if not any(may_hide(name, each) for name in listed)]
    return replace(listing, files=files, unreadable=tuple(sorted({*unread, *missing})))


def read_tables(material: TablesMaterial, path: Path, listing: Listing, out: Path) -> Read:
    """Read each declared table into ``out/<name>.parquet``.

    Raises ``MaterialError`` where a file is no longer what was listed, or reading did not come to its end.
    """
    told = dict(listing.unreadable)
    with scratch_folder() as scratch:
        copies = _Copies(listing, scratch, material.max_bytes)
        tasks, unread = [], []
        for name, source in sources(material, path).items():
            files = [file for file in listing.files if pattern(source.file).fullmatch(file.path)]
            if any(may_hide(each, source.file) for each in told):
                continue  # the listing has said why
            refused = [(file.path, f"table {name}: {why}") for file in files if (why := copies.refused(file, source))]
            unread += refused
            if not refused:
                copied = [copies.of(file) for file in files]
                tasks.append(task(name, source, copied, material.max_rows, material.max_bytes))
        rows, reasons = read_files(tasks, out, scratch, material.timeout_s)
    shown = {name: source.file for name, source in sources(material, path).items()}
    unread += [(shown[name], f"table {name}: {why}") for name, why in reasons.items()]
    return Read(rows, tuple(sorted(set(unread))))


def _complete(name: str, source: str | TableSource, path: Path) -> TableSource:
    source = TableSource(file=source) if isinstance(source, str) else source
    key = f"tables.{name}"
    if path.is_dir() != bool(source.file):
        what = "names no file" if path.is_dir() else "names a file, and path is one already"
        raise MaterialError(what, file=path, key=key, help="path is a folder and each table names its file, or is one")
    file = source.file or path.name
    known = source.format or _FORMATS.get(Path(file.lower().removesuffix(".gz")).suffix)
    if known is None:
        raise MaterialError(
            f"{file!r} does not say what it holds", key=key, help=f"format: {', '.join(set(_FORMATS.values()))}"
        )
    if (known == "database") != (source.table is not None):
        what = "does not say which table of the database" if known == "database" else "is no database that has tables"
        raise MaterialError(what, key=key, help="table: NAME is for databases")
    if known not in ("csv", "tsv") and source.delimiter:
        raise MaterialError("delimiter is for csv and tsv", key=key)
    return source.model_copy(update={"file": file, "format": known})


class _Copies:
    """Private copies of source files, made when first asked for: what is read is what was listed."""

    def __init__(self, listing: Listing, scratch: Path, max_bytes: int) -> None:
        self._listing, self._max_bytes = listing, max_bytes
        self._folder = scratch / "sources"
        self._folder.mkdir()
        self._made: dict[str, Path] = {}
        self._numbers = count()

    def refused(self, file: File, source: TableSource) -> str | None:
        """Return why a file is not read as a table, or None."""
        if file.bytes > self._max_bytes:
            return f"{file.bytes} bytes, more than max_bytes ({self._max_bytes})"
        if source.format == "database" and (busy := _busy(self._listing.root, file.path)):
            # The listing did not know, and a snapshot that says so would be found again once nobody writes.
            help = "run again when nothing writes to the material"
            raise MaterialError(f"changed while it was being frozen: {busy}", file=file.path, help=help)
        if source.format in _TEXT and file.path.lower().endswith(".gz"):
            return self._unpacked(file)
        return None

    def of(self, file: File) -> Path:
        """Return the copy of a file, unpacked where it was packed."""
        if file.path not in self._made:
            self._made[file.path] = self._copy(file)
        return self._made[file.path]

    def _copy(self, file: File) -> Path:
        path = self._folder / str(next(self._numbers))
        with path.open("xb") as stream:
            read_into(self._listing, file, stream)
        return path

    def _unpacked(self, file: File) -> str | None:
        """Unpack a file; return why it cannot be."""
        if file.path in self._made:
            return None
        packed = self._copy(file)
        path, size = packed.with_suffix(".unpacked"), 0
        try:
            with gzip.open(packed) as stream, path.open("xb") as out:
                while piece := stream.read(_PIECE_BYTES):
                    size += len(piece)
                    if size > self._max_bytes:
                        return f"more than max_bytes ({self._max_bytes}) bytes, once unpacked"
                    out.write(piece)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            return f"cannot be unpacked: {error}"
        finally:
            packed.unlink()
        self._made[file.path] = path
        return None


def _busy(root: Path, path: str) -> str | None:
    """Return what says that somebody is writing to a database, or None."""
    beside = next((f"{path}{each}" for each in _BEING_WRITTEN if _has_something(root / f"{path}{each}")), None)
    return f"{beside} lies beside it: somebody is writing to it" if beside else None


def _has_something(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def task(name: str, source: TableSource, files: list[Path], max_rows: int, max_bytes: int) -> dict[str, Any]:
    """Return what the child is told of one table."""
    wanted = Wanted(
        name,
        str(source.format),
        tuple(files),
        dict(source.columns),
        source.table,
        source.delimiter or ("\t" if source.format == "tsv" else ","),
        max_rows,
        max_bytes,
    )
    return {**asdict(wanted), "files": [str(file) for file in files]}


def read_files(
    tasks: list[dict[str, Any]], out: Path, scratch: Path, seconds: float
) -> tuple[dict[str, int], dict[str, str]]:
    """Have a child read tables into ``out``; return rows by name, and why the others were not read.

    Raises ``MaterialError`` where it did not come to its end.
    """
    if not tasks:
        return {}, {}
    given = json.dumps({"out": str(out), "scratch": str(scratch), "tables": tasks}).encode() + b"\n"
    answers: list[dict[str, Any]] = []
    try:
        with Child(_reader(scratch, out)) as child:
            answers += [json.loads(line) for line in lines(child, given, seconds)]
    except FinderError as error:
        at = tasks[len(answers)]["name"] if len(answers) < len(tasks) else tasks[-1]["name"]
        help = "nothing is searched that was not read to its end"
        raise MaterialError(f"the table {at} was not read: {error}", key="material.tables", help=help) from None
    if not answers or answers[-1] != {"drysweep": "end", "count": len(tasks)}:
        raise MaterialError("the tables were not read to their end", key="material.tables")
    rows = {said["table"]: int(said["rows"]) for said in answers[:-1] if "rows" in said}
    return rows, {said["table"]: complaints.told(said["unread"]) for said in answers[:-1] if "unread" in said}


def _reader(scratch: Path, out: Path) -> Program:
    """Return the child that reads: where the kernel has walls, it reaches its copies, its answers and its libraries."""
    argv = (sys.executable, "-I", "-m", "drysweep_pipeline.tabular")
    walls = Confinement((scratch, out), reads=(*interpreter_places(), Path(exact.__file__).parent))
    return Program(argv, scratch, environment(scratch, (), {}), confinement=walls)
