"""The command line: each command parses, calls the engine, and shows what it returned. Dagster is imported late."""

import os
import sys

from drysweep_pipeline import interruption

try:
    with interruption.noting():
        from drysweep_pipeline.cli.app import main

        interruption.check()
except KeyboardInterrupt:  # in the first moments, nobody else is there to say so
    sys.stderr.write("interrupted\n")
    os._exit(130)

__all__ = ["main"]
