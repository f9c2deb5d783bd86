"""The findings for whoever reads tables by type: a Parquet file, a row a finding, the outcome in each and in the file.

The metadata of the file has the campaign under ``drysweep``, as JSON, so that a table without rows still tells why.
"""

import io
import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import COLUMNS, head_of, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

METADATA = b"drysweep"
_WHOLE = ("k", "rounds", "missed_by_k", "first_round", "last_round", "line", "sightings")


def render(said: Contents) -> bytes:
    """Return the file; instants are UTC, ``attributes`` is JSON text, everything else is of its own type."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist([_typed(row) for row in rows_of(said)], schema=_schema(said))
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def _schema(said: Contents) -> "pa.Schema":
    import pyarrow as pa

    types = {
        **{name: pa.string() for name in COLUMNS},
        **{name: pa.int64() for name in _WHOLE},
        "as_of": pa.timestamp("us", tz="UTC"),
        "lower_bound": pa.bool_(),
        **{name: pa.list_(pa.string()) for name in ("looked_with", "strategies")},
        "expires": pa.date32(),
    }
    fields = [pa.field(name, types[name]) for name in COLUMNS]
    return pa.schema(fields, metadata={METADATA: json.dumps(head_of(said), ensure_ascii=False).encode()})


def _typed(row: dict[str, Any]) -> dict[str, Any]:
    expires = row["expires"]
    return {
        **row,
        "as_of": datetime.fromisoformat(row["as_of"]),
        "attributes": json.dumps(row["attributes"], ensure_ascii=False),
        "expires": datetime.fromisoformat(expires).date() if expires else None,
    }
