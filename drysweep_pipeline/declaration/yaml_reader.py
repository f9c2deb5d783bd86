"""YAML as plain values that still know their lines, read as something a stranger may have written.

YAML 1.2 through ruamel.yaml; what is refused is refused with file, line and key. What the keys mean is not
known here; that lives in ``declaration.reading`` and ``replay.scenario``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, DocumentStartEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.redaction import hidden

MAX_BYTES = 1024 * 1024
MAX_NODES = 100_000
MAX_DEPTH = 50

Keys = tuple[str | int, ...]
Position = tuple[int, int]

_CORE = "tag:yaml.org,2002:"
_SCALARS = {_CORE + name for name in ("str", "int", "float", "bool", "null", "timestamp", "merge")}
_TAGS = {ScalarNode: _SCALARS, MappingNode: {_CORE + "map"}, SequenceNode: {_CORE + "seq"}}
_MERGE = _CORE + "merge"


def dotted(keys: Keys) -> str:
    """Return a path of keys as people write it: ``strategies[1].query.file``."""
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return text.removeprefix(".")


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document: its plain values, and where in the file each of them stands."""

    data: Any
    starts: dict[Keys, Position] = field(default_factory=dict, repr=False)
    ends: dict[Keys, Position] = field(default_factory=dict, repr=False)
    prefix: Keys = ()

    def line(self, keys: Keys) -> int | None:
        """Return the line, from 1, of a value; of its nearest known ancestor where it is not there itself."""
        return self._nearest(self.starts, keys)[0] or None

    def place(self, keys: Keys) -> Position:
        """Return where reading comes upon a value: one that is missing is missed where its parent ends."""
        known = (*self.prefix, *keys) in self.starts
        return self._nearest(self.starts if known else self.ends, keys)

    def under(self, *keys: str | int) -> "Document":
        """Return the part of the document below some keys; paths are then counted from there."""
        data = self.data
        for key in keys:
            data = data[key]
        return Document(data, self.starts, self.ends, (*self.prefix, *keys))

    def _nearest(self, positions: dict[Keys, Position], keys: Keys) -> Position:
        path = (*self.prefix, *keys)
        while path and path not in positions:
            path = path[:-1]
        return positions.get(path, (0, 0))


def read_yaml(path: Path, text: str | None = None, *, within: str = "") -> Document:
    """Read a file of one YAML document into plain values and their lines.

    ``text`` stands in for what the file holds; ``within`` is a leading key that refusals leave out of the keys they
    name. At most 1 MiB, 100 000 values with aliases expanded, and 50 levels.

    Raises ``DeclarationError``, with file, line and key, for anything that is not one plain document: missing or
    unreadable files, text that is not UTF-8, syntax errors, keys written twice, tags, endless aliases.
    """
    content = _content(path) if text is None else text
    if len(content) > MAX_BYTES:
        raise _too_large(path)
    try:
        _Guard(path).check(YAML(typ="safe").parse(content))
        reader = YAML(typ="safe")
        return _Builder(path, reader, within).document(reader.compose(content))
    except ReaderError as error:
        raise _unprintable(path, content, error) from None
    except MarkedYAMLError as error:
        raise _syntax(path, content, error) from None
    except (YAMLError, AssertionError) as error:
        raise DeclarationError(f"is not YAML: {error}", file=path) from None


def _content(path: Path) -> str:
    try:
        if not path.is_file():
            what = "is a directory, not a YAML file" if path.is_dir() else "there is no such file"
            raise DeclarationError(what, file=path)
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DeclarationError(f"cannot be read: {error.strerror}", file=path) from None
    if len(raw) > MAX_BYTES:
        raise _too_large(path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DeclarationError("is not UTF-8 text", file=path, line=line, help="save it as UTF-8") from None


def _too_large(path: Path) -> DeclarationError:
    return DeclarationError("is larger than 1 MiB", file=path, help="it is meant to be written by hand")


def _syntax(path: Path, content: str, error: MarkedYAMLError) -> DeclarationError:
    mark = error.problem_mark or error.context_mark
    # What was never closed is to be looked for where it began; it is missed at the end of the file.
    if error.context_mark and _is_end(content, mark):
        mark = error.context_mark
    line = mark.line + 1 if mark else None
    what = ", ".join(part for part in (error.context, error.problem) if part)
    shown = content.splitlines()[mark.line : mark.line + 1] if mark else []
    tabbed = bool(shown) and "\t" in shown[0]
    help = "YAML is indented with spaces, never with tabs" if tabbed else None
    return DeclarationError(f"is not YAML: {what}", file=path, line=line, help=help)


def _is_end(content: str, mark: Any) -> bool:
    return not "".join(content.splitlines(keepends=True)[mark.line :])[mark.column :].strip()


def _unprintable(path: Path, content: str, error: ReaderError) -> DeclarationError:
    line = content.count("\n", 0, error.position) + 1
    point = error.character if isinstance(error.character, int) else ord(error.character)
    what = f"holds the character U+{point:04X}, which YAML does not allow"
    return DeclarationError(what, file=path, line=line, help='write it as an escape in double quotes, "\\u...."')


@dataclass(slots=True)
class _Open:
    """A collection that the guard is inside of: values so far, levels so far, and the name of its anchor."""

    anchor: str | None
    size: int = 1
    height: int = 1


class _Guard:
    """Counts a document before anything is built of it: documents, levels, and values with aliases expanded."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[int, int]] = {}
        self.total = 0
        self.documents = 0

    def check(self, events: Iterator[Any]) -> None:
        """Go through the events of a document. Raises ``DeclarationError`` at the first limit passed."""
        for event in events:
            if isinstance(event, DocumentStartEvent):
                self._document(event)
            elif isinstance(event, CollectionStartEvent):
                self._named_once(event)
                self.open.append(_Open(event.anchor))
                self._measure(event, 1, 0)
            elif isinstance(event, CollectionEndEvent):
                self._close()
            elif isinstance(event, ScalarEvent):
                self._leaf(event)
            elif isinstance(event, AliasEvent):
                self._alias(event)

    def _document(self, event: DocumentStartEvent) -> None:
        self.documents += 1
        if self.documents > 1:
            help = "keep one, and give each of the others a file of its own"
            raise self._refused(event, "holds several documents, one is expected", help)
        if event.version not in (None, (1, 2)):
            raise self._refused(event, "asks for another YAML than 1.2", "leave the %YAML line out")

    def _close(self) -> None:
        closed = self.open.pop()
        if closed.anchor:
            self.anchors[closed.anchor] = (closed.size, closed.height)
        self._add(closed.size, closed.height)

    def _leaf(self, event: ScalarEvent) -> None:
        self._named_once(event)
        self._measure(event, 1, 0)
        self._add(1, 0)
        if event.anchor:
            self.anchors[event.anchor] = (1, 0)

    def _named_once(self, event: Any) -> None:
        if event.anchor and (event.anchor in self.anchors or any(outer.anchor == event.anchor for outer in self.open)):
            raise self._refused(event, f"the anchor &{event.anchor} is set twice", "give one of them another name")

    def _alias(self, event: AliasEvent) -> None:
        if any(outer.anchor == event.anchor for outer in self.open):
            raise self._refused(event, f"the alias *{event.anchor} stands inside of what it repeats")
        size, height = self.anchors.get(event.anchor, (1, 0))
        self._measure(event, size, height)
        self._add(size, height)

    def _add(self, size: int, height: int) -> None:
        if self.open:
            self.open[-1].size += size
            self.open[-1].height = max(self.open[-1].height, height + 1)

    def _measure(self, event: Any, size: int, height: int) -> None:
        self.total += size
        if self.total > MAX_NODES:
            raise self._refused(event, f"holds more than {MAX_NODES} values once its aliases are expanded")
        if len(self.open) + height > MAX_DEPTH:
            raise self._refused(event, f"is nested deeper than {MAX_DEPTH} levels")

    def _refused(self, event: Any, what: str, help: str | None = None) -> DeclarationError:
        return DeclarationError(what, file=self.path, line=event.start_mark.line + 1, help=help)


class _Builder:
    """Builds plain values from the nodes of a document and notes where each of them stands."""

    def __init__(self, path: Path, reader: YAML, within: str) -> None:
        self.path, self.reader, self.within = path, reader, within
        self.starts: dict[Keys, Position] = {}
        self.ends: dict[Keys, Position] = {}

    def document(self, root: Node | None) -> Document:
        """Return the document whose root node is given. Raises ``DeclarationError`` where there is none."""
        if root is None:
            raise DeclarationError("is empty", file=self.path)
        self._note((), root, root)
        return Document(self._value(root, ()), self.starts, self.ends)

    def _note(self, keys: Keys, first: Node, last: Node) -> None:
        self.starts[keys] = (first.start_mark.line + 1, first.start_mark.column)
        self.ends[keys] = (last.end_mark.line + 1, last.end_mark.column)

    def _value(self, node: Node, keys: Keys) -> Any:
        tag = str(node.tag)
        if tag not in _TAGS[type(node)]:
            raise self._refused(node, keys, f"{_tag(tag)} is not read", "write plain text, numbers, lists or mappings")
        if isinstance(node, MappingNode):
            return self._mapping(node, keys)
        if isinstance(node, SequenceNode):
            return self._sequence(node, keys)
        return self._scalar(node, keys)

    def _mapping(self, node: MappingNode, keys: Keys) -> dict[Any, Any]:
        mapping = {}
        for key, (key_node, value_node) in self._pairs(node, keys).items():
            below = (*keys, key)
            self._note(below, key_node, value_node)
            mapping[key] = self._value(value_node, below)
        return mapping

    def _pairs(self, node: MappingNode, keys: Keys) -> dict[Any, tuple[Node, Node]]:
        """Return the pairs of a mapping by key; merged ones (``<<``) come after its own and give way to them."""
        own: dict[Any, tuple[Node, Node]] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            if str(key_node.tag) == _MERGE:
                merged += value_node.value if isinstance(value_node, SequenceNode) else [value_node]
                continue
            key = self._key(key_node, keys)
            if key in own:
                raise self._twice(own[key][0], key_node, (*keys, key))
            own[key] = (key_node, value_node)
        for other in merged:
            if not isinstance(other, MappingNode):
                raise self._refused(other, keys, "'<<' merges mappings, this is none")
            for key, pair in self._pairs(other, keys).items():
                own.setdefault(key, pair)
        return own

    def _key(self, node: Node, keys: Keys) -> Any:
        if not isinstance(node, ScalarNode):
            raise self._refused(node, keys, "a key must be text, not a list or a mapping")
        return self._value(node, keys)

    def _sequence(self, node: SequenceNode, keys: Keys) -> list[Any]:
        for index, item in enumerate(node.value):
            self._note((*keys, index), item, item)
        return [self._value(item, (*keys, index)) for index, item in enumerate(node.value)]

    def _scalar(self, node: Node, keys: Keys) -> Any:
        try:
            return self.reader.constructor.construct_object(node)
        except (ValueError, KeyError, OverflowError) as error:
            what = f"{hidden(node.value, 40)!r} cannot be read: {error}"
            raise self._refused(node, keys, what, "as text it stands in quotes") from None

    def _twice(self, first: Node, second: Node, keys: Keys) -> DeclarationError:
        lines = f"on lines {first.start_mark.line + 1} and {second.start_mark.line + 1}"
        return self._refused(second, keys, f"the key {keys[-1]!r} is written twice, {lines}", "keep one of them")

    def _refused(self, node: Node, keys: Keys, what: str, help: str | None = None) -> DeclarationError:
        shown = keys[1:] if self.within and keys[:1] == (self.within,) else keys
        line = node.start_mark.line + 1
        return DeclarationError(what, file=self.path, line=line, key=dotted(shown) or None, help=help)


def _tag(tag: str) -> str:
    if tag == _CORE + "value":
        return "a bare '='"
    return f"the tag {tag.replace(_CORE, '!!')[:40]}"
