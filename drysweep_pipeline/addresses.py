"""Addresses of services, and the headers that go there: which may be declared, and how secrets are filled in.

A secret is never written down: a header names the variable that holds it, as ``{env.NAME}``, and the value is looked up
when a call is made. Nothing here opens a connection.
"""

import ipaddress
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import TypeAlias
from urllib.parse import parse_qsl, quote, urlsplit

from drysweep_pipeline.errors import FinderError

Fault: TypeAlias = tuple[str, str | None]
"""What is wrong with something that was declared, and what helps."""

# What drysweep itself writes, and what says where a message ends.
_OURS = frozenset(
    (
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer"),
        *("connection", "keep-alive", "upgrade", "expect", "accept", "accept-encoding", "proxy-authorization"),
    )
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")
_ENV = re.compile(r"\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
_BRACED = re.compile(r"\{(\w[^{}]*)\}")
_HOLDS_A_SECRET = re.compile(
    r"auth|token|secret|passw|cookie|credential|session|signature|(^|[-_])(api)?[-_]?key", re.I
)
_IS_A_SECRET = re.compile(r"\s*(bearer|basic|token|digest)\s+\S", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9_.-]+")
_HIDDEN = "***"
# What is shorter is found in too much else to be blotted out.
_SHORTEST_SECRET = 6


def fault_of_url(url: str, *, allow_plain_http: bool) -> Fault | None:
    """Return what is wrong with the address of a service, or None."""
    shown = repr(_without_userinfo(url))
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        return f"{shown} is no address", "write it in ASCII, with %XX for what is not"
    if _BRACED.search(url):
        return f"{shown} has a placeholder", "an address is written out; {env.NAME} is for headers"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        return f"{shown} is no address: {error}", None
    if parts.scheme not in ("http", "https"):
        return f"{shown} does not begin with https://", "a service is reached over https"
    if "@" in parts.netloc:
        return "the address holds a name or a password", "send it in a header, as {env.NAME}"
    if not parts.hostname or port == 0 or not (_is_address(parts.hostname) or _HOST.fullmatch(parts.hostname)):
        return f"{shown} names no host", "write https://HOST/PATH"
    if "#" in url:
        return f"{shown} has a fragment, which is never sent", "leave out what follows the #"
    secret = next((name for name, _ in parse_qsl(parts.query, keep_blank_values=True) if looks_secret(name)), None)
    if secret is not None:
        return f"the address has the parameter {secret!r}, which looks like a secret", "send it in a header"
    if parts.scheme == "http" and not allow_plain_http and not _is_loopback(parts.hostname):
        help = "use https, or say allow_plain_http: true"
        return f"{shown} is plain http to another machine: what is sent and answered can be read on the way", help
    return None


def fault_of_secret_url(url: str, *, allow_plain_http: bool) -> str | None:
    """Return what helps against what is wrong with an address that is kept secret, or None; nothing of it is repeated.

    What follows a question mark may hold a secret, since all of it is one.
    """
    fault = fault_of_url(url.partition("?")[0], allow_plain_http=allow_plain_http)
    if fault is None and url.isascii() and url.isprintable() and " " not in url:
        return None
    return (fault and fault[1]) or "write https://HOST/PATH"


def fault_of_header(name: str, value: str) -> Fault | None:
    """Return what is wrong with a header, or None; what may be a secret is not repeated."""
    if not _HEADER_NAME.fullmatch(name):
        return f"{name!r} is not the name of a header", None
    if name.lower() in _OURS:
        return f"the header {name} is not for a sweep to declare", "drysweep writes it itself"
    if not _HEADER_VALUE.fullmatch(value):
        return f"the header {name} holds more than one line of plain ASCII", None
    unknown = next((word for word in _BRACED.findall(value) if not _ENV.fullmatch(f"{{{word}}}")), None)
    if unknown is not None:
        return f"{{{unknown}}} is no placeholder of a header", "there is {env.NAME}"
    if not _ENV.search(value) and (looks_secret(name) or _IS_A_SECRET.match(value)):
        help = f"name the variable that holds it, such as {name}: 'Bearer {{env.TOKEN}}'"
        return f"the header {name} looks like a secret that is written down", help
    return None


def looks_secret(name: str) -> bool:
    """Tell whether a header or parameter of that name holds a secret, as far as its name says."""
    return bool(_HOLDS_A_SECRET.search(name))


def variables(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the variables that headers are filled from, each once, in order."""
    return tuple(dict.fromkeys(name for value in headers.values() for name in _ENV.findall(value)))


def filled(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with the values of their variables. Raises ``FinderError`` where one is not set or unfit."""
    for name in variables(headers):
        value = os.environ.get(name)
        if not value:
            raise FinderError(f"the variable {name} is not set, which a header names", help=f"set {name}")
        if not _HEADER_VALUE.fullmatch(value) or value != value.strip():
            raise FinderError(f"the value of {name} cannot be sent in a header", help="one line of plain ASCII can")
    return {name: _ENV.sub(lambda match: os.environ[match[1]], value) for name, value in headers.items()}


def secrets(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is not to be repeated of headers: the values of their variables, the longest first."""
    values = {os.environ.get(name, "") for name in variables(headers)}
    return tuple(sorted((each for each in values if len(each) >= _SHORTEST_SECRET), key=len, reverse=True))


def hidden(text: str, known: Iterable[str]) -> str:
    """Return a text with every secret in it blotted out, also as JSON and addresses write it."""
    for secret in known:
        in_json = json.dumps(secret)[1:-1]
        for written in (secret, in_json, in_json.replace("/", "\\/"), quote(secret), quote(secret, safe="")):
            text = text.replace(written, _HIDDEN)
    return text


def _without_userinfo(url: str) -> str:
    before, at, after = url.rpartition("@")
    return f"{before.partition('//')[0]}//{after}" if at else url


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback if _is_address(host) else host.rstrip(".").lower() == "localhost"
