"""The command line: each command parses, calls the engine, and shows what it returned. Dagster is imported late."""

from drysweep_pipeline.cli.app import main

__all__ = ["main"]
