"""What holds for every test."""

import signal
from collections.abc import Iterator

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

# What people have in their shell and machines that build have in theirs, which has programs find or write other things.
NOBODYS = (
    *("DRYSWEEP_HOME", "DRYSWEEP_ISOLATION", "DRYSWEEP_TRACEBACK", "DAGSTER_HOME", "PYTEST_ADDOPTS"),
    *("FORCE_COLOR", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS", "COLUMNS", "LINES"),
)


@pytest.fixture(scope="session", autouse=True)
def _nobodys_settings() -> Iterator[None]:
    """Have no test depend on what is set where it is run."""
    with pytest.MonkeyPatch.context() as patch:
        for name in NOBODYS:
            patch.delenv(name, raising=False)
        yield
