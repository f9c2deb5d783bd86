"""Secrets made unreadable before anything is written or shown: known values, and what detectors take for secrets.

``Redactor`` masks texts, values and tables; ``hidden`` and ``brief`` mask what is shown in this process. Which
variables hold secrets is the declaration's business, and where a campaign's redactor comes from is the engine's.
"""

from drysweep_pipeline.redaction.process import brief, hidden, hidden_data, remember, without_secrets
from drysweep_pipeline.redaction.redactor import Mode, Redactor

__all__ = ["Mode", "Redactor", "brief", "hidden", "hidden_data", "remember", "without_secrets"]
