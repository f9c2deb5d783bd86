"""How a registry's ``map`` turns files into services and their labels, live state and charter.

.. code-block:: yaml

    path: registry/{as_of}
    map:
      services: "blueprints/*/docker-compose.yml"          # what the first * stands for names the service
      labels:                                              # one source or several
        - {file: meta.json, by: id, at: /tags}             # a list of entries; `id` names the service
        - {file: "blueprints/*/meta.json", at: /tags}      # a file a service
      live: live.json                                      # {"api": {"port": 80}}: a mapping by service
      charter: "blueprints/*/template.toml"
      modified: {file: "../{as_of}.manifest.jsonl", by: path, at: /last_modified}

Each source gives rows ``(service, key, value)``, one a leaf below ``at``:

- With a ``*`` in ``file``, the star names the service and ``at`` is looked up in the file.
- Without one and without ``by``, the file is a mapping whose keys are services; ``at`` is looked up in each
  service's part.
- With ``by``, the file is a list (or one entry a document, as in JSON Lines) and the entry's value at ``by``
  names the service; ``at`` is looked up in each entry. ``by`` is a name, or a JSON pointer.

``key`` is the JSON pointer of the leaf below ``at`` without its leading slash: ``/services/web/ports/0`` below
``/services`` is ``web/ports/0``; a scalar at ``at`` itself has the empty key. So the tags of a list have the
keys ``0``, ``1``, ... ``value`` is the text of the leaf. An empty list or mapping is a leaf, too.

A source that matches no file is empty, since catalogues move between dates. A file that cannot be read is in
the table ``unreadable``. Files of a source must be settings files inside the material.

``modified`` gives each file's modification time: a mapping from path to ISO time, or a source as above whose
entries are named by path. Its file is relative to the material's folder, may lie outside it, must exist, and
may name the date that ``{as_of}`` picked. A file that it does not mention has no modification time; a time
without a zone is UTC.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from drysweep_pipeline.declaration.model import RegistryMap, Source, Sources
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material.globs import has_star, pattern
from drysweep_pipeline.material.listing import Listing
from drysweep_pipeline.material.paths import AS_OF, Location
from drysweep_pipeline.material.settings import Leaf, Unreadable, is_settings, read_settings
from drysweep_pipeline.material.settings.leaf import pointer, segments

KEYED_TABLES = ("labels", "live", "charter")
_EMPTY = ("null", "empty_map", "empty_list")


@dataclass(frozen=True, slots=True)
class Keyed:
    """One leaf of what a source says about a service; ``table`` is labels, live or charter."""

    table: str
    service: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Registry:
    """The sources of a declared map, ready to be shown file after file."""

    services: str
    sources: tuple[tuple[str, Source], ...]

    @classmethod
    def of(cls, declared: RegistryMap) -> "Registry":
        """Read a declared map. Raises ``MaterialError`` for a map that cannot name services."""
        if not has_star(declared.services):
            raise MaterialError(
                f"{declared.services!r} names no service",
                key="map.services",
                help="put a * where the name of the service stands, as in services/*.yaml",
            )
        sources = [
            (table, _checked(table, source)) for table in KEYED_TABLES for source in _several(getattr(declared, table))
        ]
        return cls(declared.services, tuple(sources))

    def service_of(self, path: str) -> str | None:
        """Return the name of the service that a file describes, or None."""
        match = pattern(self.services).fullmatch(path)
        return match[1] if match else None

    def shares(self, path: str) -> bool:
        """Tell whether a file tells of many services at once."""
        matches = ((source, pattern(source.file).fullmatch(path)) for _, source in self.sources)
        return any(match is not None and not match.groups() for _, match in matches)

    def names_in_vain(self, path: str) -> bool:
        """Tell whether a source names a file by its ending, or by all of its name, that is in no format of settings."""
        if is_settings(path):
            return False
        named = (source.file for _, source in self.sources if pattern(source.file).fullmatch(path))
        ending = PurePosixPath(path).suffix
        alike = (file.removeprefix("./") == path or PurePosixPath(file).suffix == (ending or None) for file in named)
        return any(alike)

    def rows(self, path: str, leaves: list[Leaf]) -> Iterator[Keyed]:
        """Yield what a file says about services. Raises ``Unreadable`` where entries do not name their service."""
        for table, source in self.sources:
            match = pattern(source.file).fullmatch(path)
            if match is None:
                continue
            found = _below(leaves, match[1], source.at) if match.groups() else entries(leaves, source)
            yield from (Keyed(table, service, key, leaf.value) for service, key, leaf in found)


def entries(leaves: list[Leaf], source: Source) -> Iterator[tuple[str, str, Leaf]]:
    """Yield (name, key, leaf) below ``at`` of every entry of a file that tells of many.

    Raises ``Unreadable`` where the file is no mapping, or an entry of a list has no name.
    """
    at = segments(source.at)
    if source.by is None:
        named: Iterable[tuple[str, int, Leaf]] = _mapped(leaves)
    else:
        named = _listed(leaves, segments(source.by) if source.by.startswith("/") else (source.by,))
    for name, depth, leaf in named:
        if (rest := _rest(leaf, depth, at)) is not None:
            yield name, rest, leaf


def modified_times(declared: Source | str, where: Location, listing: Listing) -> dict[str, datetime]:
    """Return modification times by path. Raises ``MaterialError`` where the file is not there or not as declared."""
    source = Source(file=declared) if isinstance(declared, str) else declared
    if AS_OF in source.file and where.date is None:
        raise MaterialError(
            f"{AS_OF} stands in modified.file but not in path", key="map.modified", help="date the path as well"
        )
    file = listing.root / source.file.replace(AS_OF, where.date or "")
    try:
        leaves = read_settings(file.name, file.read_bytes().decode("utf-8-sig"))
        return {path: _instant(leaf) for path, key, leaf in entries(leaves, source) if not key}
    except OSError as error:
        raise MaterialError(
            f"cannot be read: {error.strerror}", file=file, key="map.modified", help="it is relative to the material"
        ) from error
    except (UnicodeDecodeError, Unreadable) as error:
        raise MaterialError(f"cannot be read: {error}", file=file, key="map.modified") from error


def _several(sources: Sources) -> tuple[Source, ...]:
    many = sources if isinstance(sources, tuple) else (sources,)
    return tuple(Source(file=source) if isinstance(source, str) else source for source in many)


def _checked(table: str, source: Source) -> Source:
    key = f"map.{table}"
    if source.file.startswith("/") or ".." in source.file.split("/"):
        raise MaterialError(f"{source.file!r} lies outside the material", key=key, help="name a file below path")
    if source.by is not None and has_star(source.file):
        raise MaterialError(
            f"{source.file!r} names services by its * and by {source.by!r}", key=key, help="leave one of them out"
        )
    return source


def _below(leaves: list[Leaf], service: str, at: str) -> Iterator[tuple[str, str, Leaf]]:
    wanted = segments(at)
    for leaf in leaves:
        if (rest := _rest(leaf, 0, wanted)) is not None:
            yield service, rest, leaf


def _rest(leaf: Leaf, depth: int, at: tuple[str, ...]) -> str | None:
    """Return the key of a leaf below ``at``, which starts ``depth`` segments down; None where it is elsewhere."""
    end = depth + len(at)
    if tuple(str(part) for part in leaf.path[depth:end]) != at:
        return None
    return pointer(leaf.path[end:]).removeprefix("/")


def _mapped(leaves: list[Leaf]) -> Iterator[tuple[str, int, Leaf]]:
    for leaf in leaves:
        if leaf.path and isinstance(leaf.path[0], str):
            yield leaf.path[0], 1, leaf
        elif leaf.path or leaf.type not in _EMPTY:
            raise Unreadable("is not a mapping by service; a list needs `by` in the map", leaf.line)


def _listed(leaves: list[Leaf], by: tuple[str, ...]) -> Iterator[tuple[str, int, Leaf]]:
    names: dict[tuple[int, int], str] = {}
    for leaf in leaves:
        entry, depth = _entry(leaf)
        if tuple(str(part) for part in leaf.path[depth:]) == by:
            names[entry] = leaf.value
    nameless = [leaf for leaf in leaves if _entry(leaf)[0] not in names and (leaf.path or leaf.type not in _EMPTY)]
    for leaf in leaves:
        entry, depth = _entry(leaf)
        if entry in names:
            yield names[entry], depth, leaf
    if nameless:
        raise Unreadable(f"an entry without {'/'.join(by)!r}, which names its service", nameless[0].line)


def _entry(leaf: Leaf) -> tuple[tuple[int, int], int]:
    """Return which entry a leaf belongs to, and how deep the entry starts: an element of a list, or a document."""
    if leaf.path and isinstance(leaf.path[0], int):
        return (leaf.document, leaf.path[0]), 1
    return (leaf.document, -1), 0


def _instant(leaf: Leaf) -> datetime:
    try:
        at = datetime.fromisoformat(leaf.value)
    except ValueError as error:
        raise Unreadable(f"{leaf.value!r} is not an ISO time", leaf.line) from error
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def service_rows(registry: Registry, listing: Listing) -> list[tuple[str, str, datetime | None]]:
    """Return (service, path, modified_at) of every file that describes a service, sorted by path."""
    named = ((registry.service_of(file.path), file) for file in listing.files)
    return [(service, file.path, file.modified_at) for service, file in named if service is not None]
