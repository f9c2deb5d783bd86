"""What this process knows to be secret, for what it shows: errors, notes, logs, and texts that are cut short.

What is written goes through a campaign's own redactor. This here stands before terminals and the like, where it does
not matter which campaign a text is about, and where an error may come from anywhere.
"""

import threading
from typing import Any

from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.redaction.redactor import Redactor
from drysweep_pipeline.wording import cut

_LOCK = threading.Lock()
_KNOWN: dict[object, Redactor] = {}
_PATTERNS = Redactor(mode="mask")
_MOST = 64


def remember(name: object, redactor: Redactor) -> None:
    """Have ``hidden`` use a redactor from now on, in place of the one remembered by that name before."""
    with _LOCK:
        _KNOWN.pop(name, None)
        _KNOWN[name] = redactor
        while len(_KNOWN) > _MOST:
            del _KNOWN[next(iter(_KNOWN))]


def hidden(text: str, most: int | None = None) -> str:
    """Return a text without what anybody in this process knows to be a secret, and then no longer than ``most``.

    In this order, because half a secret is not known for one.
    """
    with _LOCK:
        latest = list(reversed(_KNOWN.values()))
    for redactor in latest:
        text = redactor.text(text)
    return _PATTERNS.text(text)[:most]


def brief(text: str, most: int) -> str:
    """Return a text as ``hidden`` does, cut where it is longer than ``most`` characters, and the cut shown."""
    return cut(hidden(text), most)


def hidden_data(value: Any) -> Any:
    """Return a value as JSON has them without what this process knows to be secret."""
    with _LOCK:
        latest = list(reversed(_KNOWN.values()))
    for redactor in (*latest, _PATTERNS):
        value = redactor.data(value)
    return value


def without_secrets(error: BaseException) -> BaseException:
    """Return an exception whose texts, and those of what led to it, are masked: the same one wherever that can be."""
    causes = _causes(error)
    for each in causes:
        _hide_in(each)
    if any(hidden(str(each)) != str(each) for each in causes[1:]):
        error.__cause__, error.__context__ = None, None
    text = str(error)
    # Some put their text together from what cannot be changed.
    return error if hidden(text) == text else DrysweepError(f"{type(error).__name__}: {hidden(text)}")


def _causes(error: BaseException) -> list[BaseException]:
    """Return an exception and all that led to it or is in it, itself first."""
    found: dict[int, BaseException] = {}
    left = [error]
    while left:
        each = left.pop()
        if id(each) not in found:
            found[id(each)] = each
            left += [cause for cause in (each.__cause__, each.__context__) if cause is not None]
            left += each.exceptions if isinstance(each, BaseExceptionGroup) else ()
    return list(found.values())


def _hide_in(error: BaseException) -> None:
    error.args = hidden_data(error.args)
    for name, value in list(vars(error).items()):
        if isinstance(value, str | list):
            setattr(error, name, hidden_data(value))
    if isinstance(error, OSError):
        for name in ("strerror", "filename", "filename2"):
            if isinstance(getattr(error, name), str):
                setattr(error, name, hidden(getattr(error, name)))
