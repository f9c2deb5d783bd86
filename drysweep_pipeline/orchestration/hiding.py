"""Before Dagster keeps what left a step: exceptions lose the secrets that they quote, and stay what they are."""

from collections.abc import Iterator
from contextlib import contextmanager

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.engine.redacting import redactor_for
from drysweep_pipeline.home import Home
from drysweep_pipeline.redaction import without_secrets


@contextmanager
def hiding(home: Home, declaration: Declaration) -> Iterator[None]:
    """Mask what an exception says that leaves the block; whoever catches it by its class does so as before."""
    redactor_for(home, declaration)
    try:
        yield
    except Exception as error:
        masked = without_secrets(error)
        if masked is error:
            raise
        raise masked from None
