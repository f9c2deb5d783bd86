"""What holds for every test."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# No test is timed: a busy machine is not a fault of the code. And each has the same examples every time, so that none
# fails at one that nobody changed anything about; new ones are drawn with the long tests.
settings.register_profile("anew", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", settings.get_profile("anew"), derandomize=True)
settings.load_profile("steady")

# What these assert is said as in a test's own file.
pytest.register_assert_rewrite("tests.exports", "tests.ledger_machine")

# A shell starts what it puts in the background deaf to an interruption, and several tests are about interruptions.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
