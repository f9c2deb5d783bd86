"""The redactor of a campaign: the secrets that its declaration names, and the key of its home."""

from functools import lru_cache, partial
from pathlib import Path

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.secrets import not_set, secret_values
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.home import Home
from drysweep_pipeline.redaction import Mode, Redactor, remember
from drysweep_pipeline.redaction.key import key_at


def redactor_of(campaign: Campaign) -> Redactor:
    """Return what masks the secrets that a campaign may come by; from now on, what this process shows lacks them too.

    The key is made in the home when the first secret is met.
    """
    return redactor_for(campaign.home.home, campaign.declaration)


def redactor_for(home: Home, declaration: Declaration) -> Redactor:
    """Return what masks the secrets that a declaration names, under the key of a home."""
    sweep = declaration.sweep
    values = tuple(sorted(secret_values(sweep.model_dump(), declaration.base).values()))
    return _made(home.redaction_key, values, sweep.redaction.mode)


def check_known(declaration: Declaration) -> None:
    """Raise ``DeclarationError`` where a declaration says that a variable holds a secret and it is not set here."""
    missing = not_set(declaration.sweep.model_dump())
    if missing:
        raise DeclarationError(
            f"{', '.join(missing)} holds a secret and is not set here, so that it could not be masked",
            file=declaration.path,
            key="redaction.env",
            help="set it wherever the sweep runs, with the value that the material holds, or take it from the list",
        )


@lru_cache(maxsize=64)
def _made(key: Path, values: tuple[str, ...], mode: Mode) -> Redactor:
    redactor = Redactor(values, partial(key_at, key), mode)
    remember((key, values, mode), redactor)
    return redactor
