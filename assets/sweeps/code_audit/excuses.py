"""The judge of the audit: confirms what was found unless the file itself excuses it."""

import ast
import ipaddress
import re
from typing import Any

# What RFC 5737 and RFC 2606 set aside for documentation: no machine has these addresses and names.
_FOR_DOCUMENTS = [ipaddress.ip_network(each) for each in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
_FOR_EXAMPLES = re.compile(r"http://([\w-]+\.)*(example\.(com|net|org)|[\w-]+\.(example|invalid|test))\b")
_NUMBERS = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")


def rule(finding: dict[str, Any], material: Any) -> tuple[str, str]:
    """Return the verdict on a finding and what it rests on."""
    excuse = _excuse(finding["kind"], finding["title"], material.text(finding["path"]) or "")
    return ("rejected", excuse) if excuse else ("confirmed", "nothing in the file excuses it")


def _excuse(kind: str, title: str, text: str) -> str | None:
    if kind in _SHAPES and not _has(kind, text):
        return "the file says it in text or comments only"
    if kind == "hard_coded_address" and all(map(_is_for_documents, _NUMBERS.findall(title))):
        return "set aside for documentation"
    if kind == "unencrypted_address" and len(_FOR_EXAMPLES.findall(title)) == title.count("http://"):
        return "a name that is set aside for examples"
    return None


def _is_for_documents(text: str) -> bool:
    try:
        return any(ipaddress.ip_address(text) in network for network in _FOR_DOCUMENTS)
    except ValueError:
        return False


def _is_bare_except(node: ast.AST) -> bool:
    return isinstance(node, ast.ExceptHandler) and node.type is None


def _is_exec(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "exec"


_SHAPES = {"E722": _is_bare_except, "S102": _is_exec}


def _has(kind: str, text: str) -> bool:
    """Tell whether the syntax of a file has what is meant; a file that cannot be parsed may."""
    try:
        return any(map(_SHAPES[kind], ast.walk(ast.parse(text))))
    except (SyntaxError, ValueError, RecursionError):
        return True
