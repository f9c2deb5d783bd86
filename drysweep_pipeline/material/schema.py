"""The tables of a snapshot: one constant that the writer, the reader and the tests share."""

import pyarrow as pa

_KEYED = pa.schema([("service", pa.string()), ("key", pa.string()), ("value", pa.string())])

TABLES: dict[str, pa.Schema] = {
    "files": pa.schema(
        [
            ("path", pa.string()),
            ("bytes", pa.int64()),
            ("modified_at", pa.timestamp("us", tz="UTC")),
            ("revision", pa.string()),
            ("sha256", pa.string()),
            ("text", pa.string()),
        ]
    ),
    "settings": pa.schema(
        [
            ("file", pa.string()),
            ("document", pa.int32()),
            ("pointer", pa.string()),
            ("key", pa.string()),
            ("value", pa.string()),
            ("type", pa.string()),
            ("line", pa.int32()),
        ]
    ),
    "unreadable": pa.schema([("file", pa.string()), ("reason", pa.string())]),
}

REGISTRY_TABLES: dict[str, pa.Schema] = {
    "services": pa.schema(
        [("service", pa.string()), ("path", pa.string()), ("modified_at", pa.timestamp("us", tz="UTC"))]
    ),
    "labels": _KEYED,
    "live": _KEYED,
    "charter": _KEYED,
}
