"""The command line: each command parses, calls the engine, and shows what it returned. Dagster is imported late."""

import os
import sys

try:
    from drysweep_pipeline.cli.app import main
except KeyboardInterrupt:  # in the first moments, nobody else is there to say so
    sys.stderr.write("interrupted\n")
    os._exit(130)

__all__ = ["main"]
