"""Trying again, and saying so in the log only.

Left alone, stamina tells of every retry through structlog, which prints to stdout, where only an answer may stand.
"""

import logging
from functools import cache
from typing import Any

import stamina
from stamina import instrumentation

_LOG = logging.getLogger(__name__)


def retry_context(**how: Any) -> Any:
    """Return what ``stamina.retry_context`` does, with its retries told in the log of this module."""
    _tell_in_the_log()
    return stamina.retry_context(**how)


@cache
def _tell_in_the_log() -> None:
    # For the whole process, since stamina knows no other way; whoever sets hooks of their own later has the last word.
    instrumentation.set_on_retry_hooks((_told,))


def _told(details: instrumentation.RetryDetails) -> None:
    _LOG.info("tried %d times, again in %.1f s: %r", details.retry_num, details.wait_for, details.caused_by)
