"""Writing a snapshot's Parquet tables, file after file, so that memory does not grow with the material."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.material.listing import File, Listing, read_bytes
from drysweep_pipeline.material.registry import Registry, service_rows
from drysweep_pipeline.material.schema import REGISTRY_TABLES, TABLES
from drysweep_pipeline.material.settings import Leaf, Unreadable, is_settings, read_settings

_BATCH_ROWS = 50_000
_BATCH_CHARS = 32_000_000
_BINARY_PROBE_BYTES = 8_000
_IN_VAIN = "is named by the registry's map, which takes YAML, JSON, JSON Lines, TOML, INI and .env files only"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Written:
    """The tables that were written for a snapshot: rows by name, and which of them only this material has."""

    rows: dict[str, int]
    tables: tuple[str, ...] = ()


class _Table:
    """One Parquet file that rows are added to; it is written in batches."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self._schema = schema
        self._batch: list[tuple[Any, ...]] = []
        self._chars = 0
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)

    def add(self, *row: Any) -> None:
        self._batch.append(row)
        self._chars += sum(len(value) for value in row if isinstance(value, str))
        if len(self._batch) >= _BATCH_ROWS or self._chars >= _BATCH_CHARS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        columns = list(zip(*self._batch, strict=True)) or [() for _ in self._schema]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self.rows += len(self._batch)
        self._batch, self._chars = [], 0


def write_tables(folder: Path, listing: Listing, registry: Registry | None, max_bytes: int) -> Written:
    """Write every table of a snapshot as ``<table>.parquet`` into a folder.

    Raises ``MaterialError`` where a file is no longer what was listed.
    """
    schemas = TABLES | (REGISTRY_TABLES if registry is not None else {})
    return Written(_filled(folder, schemas, lambda tables: _fill(tables, listing, registry, max_bytes)))


def write_without_text(folder: Path, listing: Listing) -> dict[str, int]:
    """Write the tables that every snapshot has, for files that are searched as something else than text."""

    def fill(tables: dict[str, _Table]) -> None:
        for file in listing.files:
            tables["files"].add(file.path, file.bytes, file.modified_at, file.revision, file.sha256, None)
        for file_and_reason in listing.unreadable:
            tables["unreadable"].add(*file_and_reason)

    return _filled(folder, TABLES, fill)


def _filled(folder: Path, schemas: dict[str, pa.Schema], fill: Callable[[dict[str, _Table]], None]) -> dict[str, int]:
    """Have tables filled and written, and return their rows by name."""
    with ExitStack() as stack:
        tables = {name: _Table(folder / f"{name}.parquet", schema) for name, schema in schemas.items()}
        for table in tables.values():
            stack.callback(table.close)
        fill(tables)
    return {name: table.rows for name, table in tables.items()}


def _fill(tables: dict[str, _Table], listing: Listing, registry: Registry | None, max_bytes: int) -> None:
    unreadable = list(listing.unreadable)
    for file in listing.files:
        text, reason = _text(listing, file, max_bytes)
        tables["files"].add(file.path, file.bytes, file.modified_at, file.revision, file.sha256, text)
        try:
            _add_settings(tables, file.path, text, registry)
        except Unreadable as error:
            reason = str(error)
        if reason is None and file.sha256 is not None and registry is not None and registry.names_in_vain(file.path):
            reason = _IN_VAIN
        if reason is not None:
            unreadable.append((file.path, reason))
    if registry is not None:
        for row in service_rows(registry, listing):
            tables["services"].add(*row)
    for file_and_reason in sorted(unreadable):
        tables["unreadable"].add(*file_and_reason)


def _add_settings(tables: dict[str, _Table], path: str, text: str | None, registry: Registry | None) -> None:
    if text is None:
        return
    leaves = read_settings(path, text)
    for row in setting_rows(path, leaves):
        tables["settings"].add(*row)
    for keyed in registry.rows(path, leaves) if registry is not None else ():
        tables[keyed.table].add(keyed.service, keyed.key, keyed.value)


def setting_rows(path: str, leaves: list[Leaf]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the table ``settings`` that the leaves of a file make."""
    for leaf in leaves:
        yield path, leaf.document, leaf.pointer, leaf.key, leaf.value, leaf.type, leaf.line


def _text(listing: Listing, file: File, max_bytes: int) -> tuple[str | None, str | None]:
    """Return a file's text, and why it cannot be searched; neither for a binary file, which has no text to search."""
    if file.sha256 is None:
        return None, None  # the listing has said why
    if file.bytes > max_bytes:
        return None, f"{file.bytes} bytes, more than max_bytes ({max_bytes})"
    content = read_bytes(listing, file)
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError as error:
        if _is_binary(content) and not is_settings(file.path):
            return None, None
        return None, f"not UTF-8: byte {error.start} cannot be decoded"


def _is_binary(content: bytes) -> bool:
    return b"\0" in content[:_BINARY_PROBE_BYTES] and not content.startswith(_UTF16)
