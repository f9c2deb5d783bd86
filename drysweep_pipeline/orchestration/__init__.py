"""The Dagster layer: thin over the engine. An asset calls one engine function, makes metadata of its report, returns.

Everything that decides lives in the core; Dagster's events mirror what the ledger committed and are never read back.
Modules here do without ``from __future__ import annotations``: Dagster looks at the annotations of asset functions.
"""
