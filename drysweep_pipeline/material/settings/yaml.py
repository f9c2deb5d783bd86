"""YAML as leaves: libyaml's events, composed here so that hostile files cost little and nothing is constructed.

Plain scalars are typed as YAML 1.2 types them. Merge keys are expanded. A tag that is not YAML's own makes its
scalar a string and is dropped from a mapping or list. Aliases are expanded under a cap on nodes and depth.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from _ruamel_yaml import CParser  # type: ignore[import-not-found]
from ruamel.yaml import YAML, events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.resolver import VersionedResolver

from drysweep_pipeline.material.settings.leaf import MAX_DEPTH, Leaf, Path, Unreadable, spelled_number

MAX_NODES = 100_000
_MAX_EVENTS = 3 * MAX_NODES
_PURE_PARSER_CHARS = 60_000
_CORE = "tag:yaml.org,2002:"
_TYPES = {"null": "null", "bool": "boolean", "int": "integer", "float": "number"}
_IMPLICIT = VersionedResolver(version=None).versioned_resolver
_DECIMAL = re.compile(r"([-+]?)0*([0-9]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Scalar:
    value: str
    type: str
    line: int
    is_merge: bool = False
    size: int = 1
    height: int = 0


@dataclass(frozen=True, slots=True)
class _List:
    items: "tuple[_Node, ...]"
    line: int
    size: int
    height: int


@dataclass(frozen=True, slots=True)
class _Map:
    """A mapping after merging; keys are told apart by type, as ``1`` and ``"1"`` are in YAML."""

    items: "dict[tuple[str, str], _Node]"
    line: int
    size: int
    height: int


_Node = _Scalar | _List | _Map


@dataclass(slots=True)
class _Open:
    """A mapping or list whose end has not come yet."""

    is_map: bool
    anchor: str | None
    line: int
    children: list[_Node] = field(default_factory=list)


def leaves(text: str) -> list[Leaf]:
    """Return the leaves of all documents. Raises ``Unreadable`` where the text is not YAML that can be kept."""
    try:
        return _leaves(_fast_events(text))
    except MarkedYAMLError as error:
        # libyaml refuses some of YAML 1.2, such as a colon inside a flow list's plain scalar.
        if len(text) > _PURE_PARSER_CHARS:
            raise _refusal(error) from error
    except YAMLError as error:
        raise _refusal(error) from error
    try:
        return _leaves(YAML(typ="safe", pure=True).parse(text))
    except YAMLError as error:
        raise _refusal(error) from error


def _refusal(error: YAMLError) -> Unreadable:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or str(error).partition("\n")[0]
    return Unreadable(f"not YAML: {said}", mark.line + 1 if mark is not None else None)


def _fast_events(text: str) -> Iterator[events.Event]:
    parser = CParser(text)
    while parser.check_event():
        yield parser.get_event()


def _leaves(stream: Iterable[events.Event]) -> list[Leaf]:
    found: list[Leaf] = []
    nodes = 0
    for document, root in enumerate(_documents(stream)):
        nodes += root.size
        _check_caps(nodes, root.height, root.line)
        _walk(root, (), document, found)
    return found


def _walk(node: _Node, path: Path, document: int, found: list[Leaf]) -> None:
    if isinstance(node, _Scalar):
        found.append(Leaf(path, node.value, node.type, node.line, document))
    elif not node.items:
        empty = ("{}", "empty_map") if isinstance(node, _Map) else ("[]", "empty_list")
        found.append(Leaf(path, *empty, node.line, document))
    elif isinstance(node, _Map):
        for (_, name), child in node.items.items():
            _walk(child, (*path, name), document, found)
    else:
        for position, child in enumerate(node.items):
            _walk(child, (*path, position), document, found)


def _documents(stream: Iterable[events.Event]) -> Iterator[_Node]:
    """Compose each document's root; the stack is ours, so that depth is a refusal and never a crash."""
    anchors: dict[str, _Node] = {}
    stack: list[_Open] = []
    for count, event in enumerate(stream):
        line = event.start_mark.line + 1
        if count > _MAX_EVENTS:
            raise Unreadable(f"more than {MAX_NODES} nodes", line)
        if isinstance(event, events.DocumentStartEvent):
            anchors, stack = {}, [_Open(False, None, line)]
        elif isinstance(event, events.DocumentEndEvent):
            yield stack[0].children[0]
        elif isinstance(event, events.CollectionStartEvent):
            _check_caps(0, len(stack), line)
            stack.append(_Open(isinstance(event, events.MappingStartEvent), event.anchor, line))
        elif isinstance(event, events.CollectionEndEvent):
            ended = stack.pop()
            _keep(_closed(ended), ended.anchor, anchors, stack)
        elif isinstance(event, events.AliasEvent):
            stack[-1].children.append(_aliased(event.anchor, anchors, line))
        elif isinstance(event, events.ScalarEvent):
            _keep(_scalar(event, line), event.anchor, anchors, stack)


def _keep(node: _Node, anchor: str | None, anchors: dict[str, _Node], stack: list[_Open]) -> None:
    stack[-1].children.append(node)
    if anchor is not None:
        anchors[anchor] = node


def _aliased(anchor: str, anchors: dict[str, _Node], line: int) -> _Node:
    if anchor not in anchors:
        raise Unreadable(f"the alias *{anchor} stands for nothing that ends before it", line)
    return anchors[anchor]


def _closed(ended: _Open) -> _Node:
    if ended.is_map:
        items = _merged(ended)
        node: _Map | _List = _Map(items, ended.line, *_measures(items.values()))
    else:
        node = _List(tuple(ended.children), ended.line, *_measures(ended.children))
    _check_caps(node.size, node.height, ended.line)
    return node


def _measures(children: Iterable[_Node]) -> tuple[int, int]:
    """Return nodes and height of a collection with its aliases expanded."""
    size, height = 1, 0
    for child in children:
        size += child.size
        height = max(height, child.height)
    return size, height + 1


def _check_caps(nodes: int, height: int, line: int) -> None:
    if nodes > MAX_NODES:
        raise Unreadable(f"more than {MAX_NODES} nodes once its aliases are expanded", line)
    if height > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", line)


def _merged(ended: _Open) -> dict[tuple[str, str], _Node]:
    """Return a mapping's items, its own keys before merged ones. Raises ``Unreadable`` for a key written twice."""
    own: dict[tuple[str, str], _Node] = {}
    lines: dict[tuple[str, str], int] = {}
    merged: dict[tuple[str, str], _Node] = {}
    for key, value in zip(ended.children[::2], ended.children[1::2], strict=True):
        if not isinstance(key, _Scalar):
            raise Unreadable("a key that is a list or a mapping", key.line)
        name = ("merge" if key.is_merge else key.type, key.value)
        if name in lines:
            raise Unreadable(f"duplicate key {key.value!r} on lines {lines[name]} and {key.line}")
        lines[name] = key.line
        if key.is_merge:
            merged = _sources(value, key.line)
        else:
            own[name] = value
    return own | {name: value for name, value in merged.items() if name not in own}


def _sources(value: _Node, line: int) -> dict[tuple[str, str], _Node]:
    """Return what a merge key brings in; of several mappings the earlier one wins."""
    merged: dict[tuple[str, str], _Node] = {}
    for source in value.items if isinstance(value, _List) else (value,):
        if not isinstance(source, _Map):
            raise Unreadable("'<<' merges something that is not a mapping", line)
        merged = source.items | merged
    return merged


def _scalar(event: events.ScalarEvent, line: int) -> _Scalar:
    tag = _tag(event)
    if tag == "merge":
        return _Scalar(event.value, "string", line, is_merge=True)
    return _Scalar(*_typed(tag, _whole(event.value, line)), line)


def _whole(value: str, line: int) -> str:
    """Return text with escaped surrogate pairs joined, as JSON writes them; half a pair is no text."""
    try:
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise Unreadable("half of a surrogate pair, which is not text", line) from error


def _tag(event: events.ScalarEvent) -> str:
    """Return the name of the scalar's YAML tag, ``str`` for tags that are not YAML's own."""
    if event.tag is not None and event.tag != "!":
        tag = str(event.tag)
        return tag.removeprefix(_CORE) if tag.startswith(_CORE) else "str"
    return _plain_tag(event.value) if event.implicit[0] else "str"


def _plain_tag(value: str) -> str:
    for tag, written in _IMPLICIT.get(value[:1], ()):
        if written.match(value):
            return str(tag).removeprefix(_CORE)
    return "str"


def _typed(tag: str, value: str) -> tuple[str, str]:
    try:
        return _SPELLED[tag](value), _TYPES[tag]
    except (KeyError, ValueError):
        return value, "string"


def _integer(text: str) -> str:
    bare = text.replace("_", "")
    decimal = _DECIMAL.fullmatch(bare)
    if decimal is None:
        return str(int(bare, 0))
    sign = "-" if decimal[1] == "-" and decimal[2] != "0" else ""
    return sign + decimal[2]


_SPELLED = {
    "null": lambda text: "null",
    "bool": lambda text: {"true": "true", "false": "false"}[text.lower()],
    "int": _integer,
    "float": spelled_number,
}
