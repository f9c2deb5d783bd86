"""What holds for every test."""

import signal

from hypothesis import HealthCheck, settings

# No test is timed: a busy machine is not a fault of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

# A shell starts what it puts in the background deaf to an interruption, and several tests are about interruptions.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
