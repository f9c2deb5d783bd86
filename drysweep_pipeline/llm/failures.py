"""Why a model did not answer, in words that differ: none of them may be taken for having found nothing.

What asking again would not mend is a ``RowsRefused``, so that it is not paid for twice.
"""

from typing import TYPE_CHECKING, Any

from drysweep_pipeline.declaration.model import Model
from drysweep_pipeline.errors import FinderError, Refused, RowsRefused
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.wording import cut

if TYPE_CHECKING:
    from drysweep_pipeline.llm.client import TooLarge

_SHOWN = 300


def final(what: str, status: str = "failed", help: str | None = None) -> FinderError:
    """Return the error of what asking again would not mend."""
    error = RowsRefused(what, help=help)
    error.status = status
    return error


def passing(error: BaseException) -> bool:
    """Tell whether an error may be gone when the same request is made again."""
    from pydantic_ai import exceptions as of

    if _too_large(error) is not None:
        return False
    kinds = (of.ModelRateLimitError, of.ModelUnavailableError, of.ModelServerError, of.ModelConnectionError)
    return isinstance(error, kinds)


def costs_nothing(error: BaseException) -> bool:
    """Tell whether a provider turned a request away before it asked the model."""
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and 400 <= status < 500


def failure_of(error: Exception, declared: Model, key: str | None) -> FinderError:
    """Return an error of pydantic-ai as that of a finder; no key is in its text."""
    if isinstance(error, Refused):
        return final(error.what, help=error.help)
    found = error if isinstance(error, FinderError) else _known(error, declared, key)
    found.what = _without(found.what, key)
    found.args = (found.what,)
    return found


def _known(error: Exception, declared: Model, key: str | None) -> FinderError:
    from pydantic_ai import exceptions as of

    said, name = _said(error, key), declared.model
    if (large := _too_large(error)) is not None:
        return final(f"truncated: {large}", "truncated")
    if isinstance(error, of.ModelAuthenticationError):
        held = declared.api_key_env or "the variable that its provider reads"
        return final(f"unauthorized: {name} does not take the key that {held} holds: {said}")
    if isinstance(error, of.ModelNotFoundError):
        return final(f"model_not_found: there is no {name}, or not any more: {said}", help="declare another model")
    if isinstance(error, of.ModelContextWindowExceededError):
        return final(f"too_long: {name} cannot read that much: {said}", help="send less, or let an angle page")
    if isinstance(error, of.ModelQuotaExceededError):
        return final(f"quota: the account of {name} is used up: {said}")
    if isinstance(error, of.ContentFilterError):
        return FinderError(f"content_filter: {said}")
    if isinstance(error, of.ModelRequestRejectedError):
        return final(f"rejected: {name} does not take the request: {said}")
    if isinstance(error, of.ModelRateLimitError):
        return FinderError(f"rate_limited: {said}")
    if isinstance(error, of.ModelConnectionError):
        return FinderError(f"unreachable: {name}: {_cause(error, key)}")
    if isinstance(error, of.ModelUnavailableError | of.ModelServerError):
        return FinderError(f"unavailable: {said}")
    if isinstance(error, of.UserError):
        return final(f"{name} cannot be asked: {said}")
    return FinderError(f"garbled: {name} gave what is no answer: {said}")


def _said(error: Exception, key: str | None) -> str:
    """Return what a provider said, short."""
    body: Any = getattr(error, "body", None)
    status = getattr(error, "status_code", None)
    message = body.get("message") if isinstance(body, dict) else None
    told = message if isinstance(message, str) and message else str(error)
    return _short(f"status {status}: {told}" if status is not None and told is message else told, key)


def _cause(error: BaseException, key: str | None) -> str:
    """Return what broke a connection, as deep as it is told."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    return _short(str(error) or type(error).__name__, key)


def _too_large(error: BaseException | None) -> "TooLarge | None":
    from drysweep_pipeline.llm.client import TooLarge

    while error is not None and not isinstance(error, TooLarge):
        error = error.__cause__ or error.__context__
    return error


def _short(text: str, key: str | None) -> str:
    # Before it is cut, since half a key is not known for one.
    return cut(" ".join(hidden(_without(text, key)).split()), _SHOWN)


def _without(text: str, key: str | None) -> str:
    return text.replace(key, "***") if key else text
