"""The history: what all sweeps' ledgers decided, published as one read-only DuckDB file of views and macros."""

from drysweep_pipeline.history.reading import history, query

__all__ = ["history", "query"]
