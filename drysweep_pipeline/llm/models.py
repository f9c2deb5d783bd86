"""Declared models made ones that can be asked: their provider, their address, their key, and what they must be able to.

The value of a key is read when a model is asked, handed to the provider, and kept nowhere.
"""

import importlib
import inspect
import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from drysweep_pipeline.declaration.model import Model
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.wording import first_line

if TYPE_CHECKING:
    import httpx2

    from drysweep_pipeline.llm.client import Heard

EXTRA = "install drysweep-pipeline[llm]"
# What has to be in our hands: no answer longer than reserved, and no request that nobody counts.
_NEEDED = {"max_tokens": "how much it answers cannot be limited", "max_retries": "its retries cannot be counted"}
_NO_KEY = "none"
# Imported by several threads at once, a package of that size may be seen half made.
_IMPORTING = threading.Lock()


def library() -> Any:
    """Return pydantic-ai's module for single requests. Raises ``Refused`` where the extra is not installed."""
    with _IMPORTING:
        try:
            return importlib.import_module("pydantic_ai.direct")
        except ImportError as error:
            raise Refused(f"asking a model needs pydantic-ai, which is not installed: {error}", help=EXTRA) from None


def check(declared: Model) -> None:
    """Raise ``Refused`` where a model cannot be asked at all, whatever its server says; nothing is sent."""
    library()
    _provider_class(declared)


def key_of(declared: Model) -> str | None:
    """Return the key of a model, None where none is declared. Raises ``Refused`` where its variable is not set."""
    if declared.api_key_env is None:
        return None
    key = os.environ.get(declared.api_key_env, "")
    if not key.strip():
        raise Refused(f"the variable {declared.api_key_env}, which holds the key of {declared.model}, is not set")
    return key


@dataclass(frozen=True, slots=True)
class Ready:
    """A model that can be asked, in one event loop, while its connections are open; leaving the block closes them.

    ``heard`` is its last answer, as it came.
    """

    model: Any
    client: "httpx2.AsyncClient"
    heard: "Heard"

    async def __aenter__(self) -> Any:
        await self.client.__aenter__()
        await self.model.provider.__aenter__()
        return self.model

    async def __aexit__(self, *error: Any) -> None:
        try:
            await self.model.provider.__aexit__(*error)
        finally:
            await self.client.__aexit__(*error)


def ready(declared: Model) -> Ready:
    """Return a model made ready, which takes a second the first time. Raises ``Refused`` where it cannot be asked."""
    from drysweep_pipeline.llm.client import Heard, limited

    library()
    heard = Heard()
    client = limited(heard)
    model = _made(declared, client)
    lacking = [why for setting, why in _NEEDED.items() if setting in model.unsupported_settings]
    if lacking:
        raise Refused(f"{declared.model} cannot be asked within a budget: {' and '.join(lacking)}")
    return Ready(model, client, heard)


def _made(declared: Model, client: Any) -> Any:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model

    kind = _provider_class(declared)
    try:
        with _IMPORTING:
            return infer_model(declared.model, lambda _: kind(**_given(declared, kind, client)))
    except (ImportError, UserError) as error:
        raise Refused(f"{declared.model} cannot be asked: {first_line(error)}") from None


def _provider_class(declared: Model) -> Any:
    from pydantic_ai.providers import infer_provider_class

    name = declared.model.partition(":")[0]
    try:
        with _IMPORTING:
            kind = infer_provider_class(name)
    except ValueError:
        raise Refused(f"pydantic-ai knows no provider {name!r}", help="such as openai, anthropic, ollama") from None
    except ImportError as error:
        raise Refused(f"{declared.model} cannot be asked: {first_line(error)}") from None
    if declared.base_url is not None and "base_url" not in inspect.signature(kind).parameters:
        help = "openai-chat and openai take the address of any server that speaks their protocol"
        raise Refused(f"the provider {name} takes no base_url", help=help)
    return kind


def _given(declared: Model, kind: Any, client: Any) -> dict[str, Any]:
    """Return what a provider is made with; where nothing is declared, what it knows itself."""
    takes = inspect.signature(kind).parameters
    given: dict[str, Any] = {} if declared.base_url is None else {"base_url": declared.base_url}
    key = key_of(declared)
    if key is None and declared.base_url is not None:
        # So that the key which the environment holds for the provider does not go to somebody else's server.
        key = _NO_KEY
    if key is not None:
        if "api_key" not in takes:
            raise Refused(f"{declared.model} takes no key", help="leave api_key_env out: it has a login of its own")
        given["api_key"] = key
    # Some providers stand on another library for HTTP, whose client they make for themselves.
    if "http_client" in takes and not str(takes["http_client"].annotation).startswith("httpx."):
        given["http_client"] = client
    return given
