"""The Dagster layer: thin over the engine. An asset calls one engine function, makes metadata of its report, returns.

Everything that decides lives in the core; Dagster's events mirror what the ledger committed and are never read back.
Modules here do without ``from __future__ import annotations``: Dagster looks at the annotations of asset functions.
"""

import warnings

from dagster import BetaWarning

# Every process that loads a sweep would say it anew for each of its jobs, pages of it; which Dagster the owners of jobs
# work with is this package's concern, and held by its tests.
warnings.filterwarnings("ignore", "Parameter `owners` of ", BetaWarning)
