"""What the syntax of Python files says: one question a round.

A finding names what it is about by its qualified name. Files that Python cannot parse have no syntax to look at; a
linter reports those.
"""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Any

Finding = dict[str, Any]
Function = ast.FunctionDef | ast.AsyncFunctionDef
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_WORD = re.compile(r"\w+")
_MADE = ("list", "dict", "set", "bytearray")


def find(material: Any, angle: dict[str, Any], rng: Any) -> Iterator[Finding]:
    """Yield what the question of the angle finds in every Python file of the material."""
    question = _QUESTIONS[angle["ask"]]
    for file in material.query("select path, text from files where path like '%.py' and text is not null"):
        tree = _parsed(file["text"])
        if tree is not None:
            for finding in question(tree, file["text"], angle):
                yield {"path": file["path"], **finding}


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _named(node: ast.AST, above: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Yield classes and functions with their qualified names, outer ones first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            name = f"{above}.{child.name}" if above else child.name
            yield name, child
            yield from _named(child, name)
        else:
            yield from _named(child, above)


def unused_import(tree: ast.Module, text: str, angle: dict[str, Any]) -> Iterator[Finding]:
    """Yield names that a module imports at its top and neither uses nor exports, and that no comment excuses."""
    used, lines = _used(tree), text.splitlines()
    for node in tree.body:
        if not isinstance(node, ast.Import | ast.ImportFrom) or "noqa" in lines[node.lineno - 1]:
            continue
        for alias in node.names:
            whole = _whole(node, alias)
            if (alias.asname or alias.name.partition(".")[0]) in used or alias.name in ("*", alias.asname):
                continue
            shown = f"{whole} as {alias.asname}" if alias.asname else whole
            yield {"kind": "F401", "title": f"`{shown}` imported but unused", "line": node.lineno, "evidence": shown}


def _whole(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return an imported name with the module that it comes from."""
    if isinstance(node, ast.Import):
        return alias.name
    return f"{'.' * node.level}{node.module}.{alias.name}" if node.module else f"{'.' * node.level}{alias.name}"


def _used(tree: ast.Module) -> set[str]:
    """Return the names that a module uses, in annotations written as text and by exporting them too."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {"annotations"}
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            texts = [each.value for each in ast.walk(part) if isinstance(each, ast.Constant)] if part else []
            names.update(word for each in texts if isinstance(each, str) for word in _WORD.findall(each))
        if isinstance(node, ast.Assign) and any(getattr(each, "id", "") == "__all__" for each in node.targets):
            names.update(str(each.value) for each in ast.walk(node.value) if isinstance(each, ast.Constant))
    return names


def mutable_default(tree: ast.Module, text: str, angle: dict[str, Any]) -> Iterator[Finding]:
    """Yield defaults of parameters that all calls of a function share and can change."""
    title = "Do not use mutable data structures for argument defaults"
    for name, node in _named(tree):
        if isinstance(node, Function):
            defaults = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
            for each in filter(_is_mutable, defaults):
                yield {"kind": "B006", "title": title, "line": each.lineno, "evidence": f"in {name}"}


def _is_mutable(node: ast.expr) -> bool:
    made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _MADE
    return made or isinstance(node, _MUTABLE)


def long_function(tree: ast.Module, text: str, angle: dict[str, Any]) -> Iterator[Finding]:
    """Yield functions of more lines than the angle allows; how many there are is no part of what is found."""
    for name, node in _named(tree):
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if isinstance(node, Function) and length > angle["lines"]:
            title = f"{name} has more than {angle['lines']} lines"
            yield _minor("long_function", title, node, f"{length} lines")


def missing_docstring(tree: ast.Module, text: str, angle: dict[str, Any]) -> Iterator[Finding]:
    """Yield public classes and functions at the top of a module that say nothing about themselves."""
    for name, node in _named(tree):
        # Tests say it in their names.
        public = not name.startswith(("_", "test_", "Test"))
        if public and name == node.name and ast.get_docstring(node, clean=False) is None:
            yield _minor("missing_docstring", f"{name} has no docstring", node, name)


def _minor(kind: str, title: str, node: Function | ast.ClassDef, evidence: str) -> Finding:
    return {"kind": kind, "severity": "minor", "title": title, "line": node.lineno, "evidence": evidence}


_QUESTIONS: dict[str, Callable[[ast.Module, str, dict[str, Any]], Iterator[Finding]]] = {
    "unused_import": unused_import,
    "mutable_default": mutable_default,
    "long_function": long_function,
    "missing_docstring": missing_docstring,
}
