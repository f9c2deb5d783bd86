"""The code location that ``workspace.yaml`` loads, from any working directory.

It merges what the folders under ``assets/sweeps`` declare with the resources of this deployment.
"""

import sys
from pathlib import Path

import dagster as dg

ROOT = Path(__file__).resolve().parent.parent


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions of all declared sweeps."""
    # Dagster restores sys.path after importing this file and calls this later: the root must be put back here.
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    import resources

    declared = dg.load_from_defs_folder(path_within_project=ROOT)
    return dg.Definitions.merge(declared, dg.Definitions(resources=resources.build(), executor=dg.in_process_executor))
