"""Partitions and run tags of a sweep: a round is a partition, a campaign is one for its report.

Keys are ``<campaign>-r<NNN>``. Only rounds that were started exist, so none is missing for ever; the order of rounds
is never read out of the order of keys.
"""

import dagster as dg

from drysweep_pipeline.values import RoundKey

SWEEP_TAG = "drysweep/sweep"
CAMPAIGN_TAG = "drysweep/campaign"
ROUND_TAG = "drysweep/round"
REPORT_TAG = "drysweep/report"
# How Dagster calls a run that has a process, and what we say of one whose process is gone.
UNDER_WAY = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.CANCELING]
GONE = "drysweep: the process of this run is gone"
# How many runs of a round, or of a report, may end before it is done.
MAX_ATTEMPTS = 3


def rounds_of(sweep: str) -> dg.DynamicPartitionsDefinition:
    """Return the partitions of a sweep's rounds."""
    return dg.DynamicPartitionsDefinition(name=f"{sweep}_rounds")


def campaigns_of(sweep: str) -> dg.DynamicPartitionsDefinition:
    """Return the partitions of a sweep's campaigns."""
    return dg.DynamicPartitionsDefinition(name=f"{sweep}_campaigns")


def round_tags(sweep: str, key: str) -> dict[str, str]:
    """Return the tags of a round's run; at most one run a campaign is let through at a time, by its tag."""
    campaign = RoundKey.parse(key).campaign
    return {SWEEP_TAG: sweep, CAMPAIGN_TAG: f"{sweep}/{campaign}", ROUND_TAG: f"{sweep}/{key}"}
