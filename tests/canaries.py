"""Sweeps with canaries for tests: a folder of planted files beside a small sweep."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

# What nothing else in a test is called.
SERVICE = "relay-quillon"
PATH = f"services/{SERVICE}.yaml"
OWNERLESS = {PATH: json.dumps({"name": SERVICE, "labels": {"tier": "one"}})}


def planted(folder: Path, files: dict[str, str] | None = None) -> Path:
    """Write files, by path, into ``folder``/extra; a service without an owner unless others are given."""
    for name, text in (OWNERLESS if files is None else files).items():
        path = folder / "extra" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder / "extra"


def expecting(mode: str = "no_owner", **more: Any) -> dict[str, Any]:
    """A declaration of one canary: the planted service, with what is wrong with it."""
    finding = {"service": SERVICE, "failure_mode": mode}
    return {"path": "extra", "expect": [{"name": "first", "finding": finding, **more}]}


def said_in(file: Path) -> str:
    """Return all that a file says, in lower case; what is compressed in it is read as what it is."""
    if file.suffix == ".parquet":
        return str(pq.read_table(file).to_pylist()).lower()
    if file.suffix != ".duckdb":
        return file.read_bytes().decode(errors="replace").lower()
    with duckdb.connect(str(file), read_only=True) as connection:
        tables = connection.execute("select schema_name, table_name from duckdb_tables()").fetchall()
        return str([connection.execute(f"from {schema}.{name}").fetchall() for schema, name in tables]).lower()
