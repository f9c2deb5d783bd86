"""Sweeps read from their files: found by name, checked, their SQL brought in, frozen and thawed.

What may stand in a sweep is ``declaration.model``; YAML itself is ``declaration.yaml_reader``. Nothing here opens
the material, so an unset ``{env.NAME}`` refuses a run and not the reading.
"""

import copy
import difflib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from drysweep_pipeline.declaration.folder import folder_digest
from drysweep_pipeline.declaration.model import Sweep
from drysweep_pipeline.declaration.refusals import (
    Problem,
    Written,
    did_you_mean,
    first_of,
    in_file_order,
    problems,
    shown,
)
from drysweep_pipeline.declaration.secrets import redactor_here, written_out
from drysweep_pipeline.declaration.yaml_reader import MAX_BYTES, Document, Keys, read_yaml
from drysweep_pipeline.errors import DeclarationError, IntegrityError, NotFound
from drysweep_pipeline.redaction import remember

TYPE = "drysweep_pipeline.Sweep"
# What else Dagster lets stand beside them in a defs.yaml; it is Dagster's to read.
_DAGSTERS_KEYS = ("template_vars_module", "requirements", "post_processing")
# Where a strategy or a judge names a file whose text is frozen with the declaration.
_TEXTS: tuple[Keys, ...] = (("query",), ("send", "query"), ("prompt",))
# Keys that came later: where they say nothing, a digest is what it was before there were any.
_LATER: tuple[tuple[str, ...], ...] = (("notify",), ("fingerprint", "normalise"))
_NO_SWEEP = "none is declared under assets/sweeps here; give the YAML file of one"
_FILE_KEYS = ("type", "attributes", *_DAGSTERS_KEYS)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A sweep as it was declared: every query's text filled in, the file it came from, and its digest.

    ``digest``: SHA-256, in hex, of the sweep as canonical JSON, the texts of its queries included.
    """

    sweep: Sweep
    path: Path
    digest: str

    @property
    def base(self) -> Path:
        """The folder that the paths in the sweep are relative to."""
        return self.path.parent


def read_declaration(path: Path) -> Declaration:
    """Read the sweep that a YAML file declares.

    Raises ``DeclarationError`` for the first wrong thing in the file, saying how many more there are.
    """
    document = _attributes(path)
    return declaration_from(document.data, path, document)


def declaration_from(data: dict[str, Any], path: Path, document: Document | None = None) -> Declaration:
    """Read a sweep from the mapping under ``attributes``; ``document``, where given, knows the lines of it.

    Raises ``DeclarationError`` as ``read_declaration`` does.
    """
    sweep, refusals = _examined(data, path, document)
    if sweep is None:
        raise first_of(refusals)
    return declared(sweep, path)


def declared(sweep: Sweep, path: Path) -> Declaration:
    """Return a sweep that was put together elsewhere as the declaration it would be if it stood in ``path``."""
    return Declaration(sweep, path, _digest(_plain(sweep)))


def errors(path: Path) -> list[DeclarationError]:
    """Return everything that is wrong in a file, in its order; an empty list where nothing is."""
    try:
        document = _attributes(path)
    except DeclarationError as error:
        return [error]
    return _examined(document.data, path, document)[1]


def find_sweeps(root: Path) -> dict[str, Path]:
    """Return the sweeps that a project declares, by name: every ``assets/sweeps/*/defs.yaml`` of their type.

    A file that cannot be read goes by the name of its folder, so that reading it says what is wrong.
    Raises ``DeclarationError`` where two files declare one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(root.glob("assets/sweeps/*/defs.yaml")):
        name = _declared_name(path)
        if name is None:
            continue
        if name in found:
            help = f"the other one is {found[name]}"
            raise DeclarationError(f"a sweep {name!r} is declared twice", file=path, key="name", help=help)
        found[name] = path
    return found


def resolve_sweep(name_or_path: str, root: Path) -> Path:
    """Return the file of a sweep, given its name in the project at ``root``, its file, or the folder of its defs.yaml.

    Raises ``NotFound``, naming the nearest there is, and ``DeclarationError`` for a YAML file that is not there and for
    a folder without one.
    """
    known = find_sweeps(root)
    if name_or_path in known:
        return known[name_or_path]
    path = _file_of(Path(name_or_path))
    if path is not None:
        return path
    if Path(name_or_path).suffix in (".yaml", ".yml"):
        raise DeclarationError("there is no such file", file=name_or_path, help=_as_far_as(Path(name_or_path)))
    if "/" in name_or_path and Path(name_or_path).is_dir():
        help = "name the folder of a sweep's defs.yaml, or a YAML file"
        raise DeclarationError("the folder has no defs.yaml", file=name_or_path, help=help)
    near = _nearest(name_or_path, list(known))
    raise NotFound("sweep", name_or_path, near, help=None if near else _NO_SWEEP)


def _nearest(name: str, known: list[str]) -> list[str]:
    """Return what may be meant by a name that no sweep has: a file of that name, sweeps of a like one, or all."""
    files = [file for file in (f"{name}.yaml", f"{name}.yml") if _file_of(Path(file))]
    return [*files, *difflib.get_close_matches(name, known, n=5, cutoff=0.5)] or known


def declared_name(path: Path) -> str:
    """Return the name that a file declares a sweep by, whatever else is wrong with it.

    Raises ``DeclarationError`` where it declares none.
    """
    data = read_yaml(path).data
    attributes = data.get("attributes") if isinstance(data, dict) else None
    name = attributes.get("name") if isinstance(attributes, dict) else None
    return name if isinstance(name, str) else read_declaration(path).sweep.name


def _as_far_as(path: Path) -> str:
    """Return the nearest file beside one that is not there, else the folder down to which its path leads."""
    folder = path.absolute().parent
    beside = [each.name for pattern in ("*.yaml", "*.yml") for each in sorted(folder.glob(pattern))]
    near = difflib.get_close_matches(path.name, beside, n=1)
    if near:
        return f"did you mean {path.with_name(near[0])}?"
    there = next(each for each in (folder, *folder.parents) if each.is_dir())
    return f"looked in {there}" if there == folder else f"the path goes as far as {there}"


def _file_of(path: Path) -> Path | None:
    try:
        path = path / "defs.yaml" if path.is_dir() else path
        return path if path.is_file() else None
    except OSError:
        return None


def freeze_json(declaration: Declaration) -> str:
    """Return a declaration as JSON that ``thaw_json`` reads, whatever becomes of its files and from whatever folder."""
    path = str(declaration.path.absolute())
    return _canonical({"path": path, "digest": declaration.digest, "sweep": _plain(declaration.sweep)})


def thaw_json(text: str) -> Declaration:
    """Return the declaration that ``freeze_json`` wrote.

    The digest is that of the frozen text, so that it stays what it was when later versions add keys.
    Raises ``IntegrityError`` where the text is not what was frozen.
    """
    try:
        frozen = json.loads(text)
        recorded, path = frozen["digest"], Path(frozen["path"])
        if _digest(frozen["sweep"]) != recorded:
            raise IntegrityError("a frozen declaration does not agree with its digest", file=path)
        return Declaration(Sweep.model_validate(frozen["sweep"]), path, recorded)
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError(f"a frozen declaration cannot be read: {error}") from error


def _plain(sweep: Sweep) -> dict[str, Any]:
    plain = sweep.model_dump(mode="json")
    for *above, key in _LATER:
        part = plain
        for each in above:
            part = part[each]
        if not part[key]:
            del part[key]
    return plain


def _canonical(plain: dict[str, Any]) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(plain).encode()).hexdigest()


def _attributes(path: Path) -> Document:
    """Return what stands under ``attributes``. Raises ``DeclarationError`` where the file is not one of a sweep."""
    document = read_yaml(path, within="attributes")
    written = Written(path, document.data, None, document)
    if not isinstance(document.data, dict):
        raise written.refusal((), f"expected 'type' and 'attributes', got {shown(document.data)}")
    for key in document.data:
        if key not in _FILE_KEYS:
            help = _below_attributes(key) or did_you_mean(key, _FILE_KEYS)
            raise written.refusal((key,), f"unknown key {key!r}", help)
    for key in ("type", "attributes"):
        if key not in document.data:
            raise written.refusal((key,), f"{key!r} is missing", f"a sweep has type: {TYPE} and its attributes:")
    if document.data["type"] != TYPE:
        what = f"expected {TYPE!r}, got {shown(document.data['type'])}"
        raise written.refusal(("type",), what, did_you_mean(document.data["type"], [TYPE]))
    if not isinstance(document.data["attributes"], dict):
        what = f"expected a mapping, got {shown(document.data['attributes'])}"
        raise written.refusal(("attributes",), what)
    return document.under("attributes")


def _below_attributes(key: object) -> str | None:
    return f"{key!r} belongs under 'attributes'" if key in Sweep.model_fields else None


def _examined(
    data: dict[str, Any], path: Path, document: Document | None
) -> tuple[Sweep | None, list[DeclarationError]]:
    """Return the sweep, or everything that keeps it from being one."""
    written = Written(path, data, Sweep, document)
    # Before anything that is refused is quoted.
    remember(path, redactor_here(data, path.parent))
    found = _one_round_fits(written)
    filled, unread = _with_texts(written)
    sweep = None
    try:
        sweep = Sweep.model_validate(filled)
    except ValidationError as error:
        found += problems(error, Written(path, filled, Sweep, document))
    # What is refused already need not be refused for the secret in it as well.
    refused = {problem.keys for problem in found}
    found += [problem for problem in written_out(written, filled) if problem.keys not in refused]
    refusals = in_file_order(written, found + unread)
    return (None if refusals else sweep), refusals


def _one_round_fits(written: Written) -> list[Problem]:
    strategies, budget = written.data.get("strategies"), written.data.get("budget")
    calls = budget.get("calls") if isinstance(budget, dict) else None
    if not isinstance(strategies, list) or type(calls) is not int:
        return []
    needed = sum(_calls_at_most(strategy) for strategy in strategies)
    if not 1 <= calls < needed:
        return []
    keys = ("budget", "calls")
    each = "one a strategy" if needed == len(strategies) else "what each strategy takes at_most"
    what = f"{calls} calls are less than one round, which takes {needed}: {each}"
    return [Problem(keys, written.refusal(keys, what, f"allow {needed} or more"))]


def _calls_at_most(strategy: Any) -> int:
    """Return the calls that a strategy, as it is written, declares for one look; 1 where it says nothing sensible."""
    at_most = strategy.get("at_most") if isinstance(strategy, dict) else None
    calls = at_most.get("calls") if isinstance(at_most, dict) else None
    return calls if type(calls) is int and calls > 0 else 1


def _with_texts(written: Written) -> tuple[dict[str, Any], list[Problem]]:
    """Return the data with the text of every named file filled in, and those that could not be read."""
    filled = copy.deepcopy(written.data)
    unread = []
    for keys, query in _named_texts(filled):
        if "text" in query:
            below = (*keys, "text")
            help = "SQL and prompts are kept in files, name one under 'file'"
            unread.append(Problem(below, written.refusal(below, "unknown key 'text'", help)))
        elif isinstance(query.get("file"), str):
            below = (*keys, "file")
            try:
                query["text"] = _text_of(written, below, query["file"])
            except DeclarationError as error:
                unread.append(Problem(below, error))
    return filled, [*unread, *_with_canaries(written, filled)]


def _with_canaries(written: Written, filled: dict[str, Any]) -> list[Problem]:
    """Fill in the digest of what is to be planted; return why it cannot be read, if so."""
    canaries = filled.get("canaries")
    if not isinstance(canaries, dict):
        return []
    if "digest" in canaries:
        below: Keys = ("canaries", "digest")
        return [Problem(below, written.refusal(below, "unknown key 'digest'", "it is worked out from the folder"))]
    if not isinstance(canaries.get("path"), str):
        return []
    below = ("canaries", "path")
    try:
        canaries["digest"] = _folder_digest(written, below, canaries["path"])
    except DeclarationError as error:
        return [Problem(below, error)]
    return []


def _folder_digest(written: Written, keys: Keys, name: str) -> str:
    """Return the digest of a folder beside the declaration. Raises ``DeclarationError`` where it may not be read."""
    folder = _beside(written, keys, name)
    if not folder.is_dir():
        raise written.refusal(keys, f"there is no folder {shown(name)}", f"it is relative to {written.file.parent}")
    try:
        return folder_digest(folder)
    except (OSError, ValueError) as error:
        raise written.refusal(keys, f"{shown(name)} cannot be planted: {error}") from None


def _named_texts(data: dict[str, Any]) -> Iterator[tuple[Keys, dict[str, Any]]]:
    """Yield the parts that name a file whose text belongs to the declaration."""
    strategies = data.get("strategies")
    places: list[tuple[Keys, Any]] = [(("judge",), data.get("judge"))]
    places += (
        [(("strategies", index), each) for index, each in enumerate(strategies)] if isinstance(strategies, list) else []
    )
    for keys, part in places:
        for below in _TEXTS:
            named = part
            for key in below:
                named = named.get(key) if isinstance(named, dict) else None
            if isinstance(named, dict):
                yield (*keys, *below), named


def _text_of(written: Written, keys: Keys, name: str) -> str:
    """Return the text of a file beside the declaration. Raises ``DeclarationError`` where it may not be read."""
    path = _beside(written, keys, name)
    try:
        if not path.is_file():
            base = written.file.parent.resolve()
            raise written.refusal(keys, f"there is no file {shown(name)}", _nearest_file(base, name) or _stays(written))
        text = _first_mebibyte(path).decode()
    except UnicodeDecodeError:
        raise written.refusal(keys, f"{shown(name)} is not UTF-8 text") from None
    except OSError as error:
        raise written.refusal(keys, f"{shown(name)} cannot be read: {error}") from None
    if not text.strip() or len(text) > MAX_BYTES:
        raise written.refusal(keys, f"{shown(name)} is {'larger than 1 MiB' if text.strip() else 'empty'}")
    return text


def _beside(written: Written, keys: Keys, name: str) -> Path:
    """Return what a relative path leads to. Raises ``DeclarationError`` where that is not below the declaration."""
    if Path(name).is_absolute() or "\0" in name:
        raise written.refusal(keys, f"{shown(name)} is not a relative path", _stays(written))
    try:
        base = written.file.parent.resolve()
        path = (base / name).resolve()
    # A loop of links is a RuntimeError.
    except (OSError, RuntimeError) as error:
        raise written.refusal(keys, f"{shown(name)} cannot be read: {error}") from None
    if ".." in Path(name).parts or not path.is_relative_to(base):
        raise written.refusal(keys, f"{shown(name)} leads out of the folder of the sweep", _stays(written))
    return path


def _stays(written: Written) -> str:
    return f"paths are relative to {written.file.parent}, and stay in it"


def _first_mebibyte(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _nearest_file(base: Path, name: str) -> str | None:
    there = sorted((base / name).parent.glob("*"))
    beside = [str(path.relative_to(base)) for path in there if path.suffix == Path(name).suffix]
    near = difflib.get_close_matches(name, beside, n=1)
    return f"did you mean {near[0]!r}?" if near else None


def _declared_name(path: Path) -> str | None:
    """Return the name of the sweep in a file, that of its folder where it has none; None where it is no sweep."""
    try:
        data = read_yaml(path).data
    except DeclarationError:
        return path.parent.name
    if not isinstance(data, dict) or data.get("type") != TYPE:
        return None
    attributes = data.get("attributes")
    name = attributes.get("name") if isinstance(attributes, dict) else None
    return name if isinstance(name, str) else path.parent.name
