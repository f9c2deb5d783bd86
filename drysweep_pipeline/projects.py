"""New projects: written from templates, whole, where nothing is in the way.

``templates/project`` is what every project has; a template beside it is the folder of its sweep, as it stands in
``assets/sweeps``. Files that end in ``.jinja`` are filled in, and lose that ending.
"""

import difflib
import importlib.metadata
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.values import SWEEP_NAME

DEFAULT = "minimal"
SCHEMA = PurePosixPath("assets/sweep.schema.json")
# A project is written within seconds.
_STALE_SECONDS = 3600
_TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"^  name: .*$", re.MULTILINE)
_PATH = re.compile(r"^    path: .*$", re.MULTILINE)
_SCHEMA_LINE = re.compile(r"\A# yaml-language-server: .*\n")


@dataclass(frozen=True, slots=True)
class Template:
    """What a project may begin with: the name of its sweep, a line about it, and what writes material to search."""

    sweep: str
    about: str
    material: Callable[[Path], Any]


def _made_up_services(examples: Path) -> None:
    shutil.copytree(_TEMPLATES / "examples" / "services", examples / "services")


def _made_up_code(examples: Path) -> None:
    # Python with faults in it, which is not called that here so that nobody takes it for this package's.
    _fill(_TEMPLATES / "examples" / "code", examples / "code", {})


def _made_up_registry(examples: Path) -> None:
    from drysweep_pipeline.demo.registry import generate

    generate(examples / "registry")


TEMPLATES = {
    "minimal": Template("services", "eight made-up services, a strategy in SQL and one in Python", _made_up_services),
    "config_registry": Template(
        "config_registry", "the demo's 400 made-up services, five strategies in SQL", _made_up_registry
    ),
    "code_audit": Template(
        "code_audit", "a little code with faults in it, patterns in SQL and questions in Python", _made_up_code
    ),
}


@dataclass(frozen=True, slots=True)
class Project:
    """A project that was written: where, from which template, the name of its sweep, and its files in order."""

    folder: Path
    template: str
    sweep: str
    files: tuple[str, ...]


def begin(folder: Path, template: str = DEFAULT, name: str | None = None) -> Project:
    """Write a new project to a folder; a new folder appears whole or not at all, an existing one keeps all it has.

    Raises ``Refused`` for a template that is not there, for a name that no sweep may have, and where a file is in the
    way, which is named.
    """
    chosen = _template(template)
    sweep = _sweep_name(chosen.sweep if name is None else name)
    folder = folder.expanduser().absolute()
    if folder.is_symlink() or folder.exists():
        files = _beside_what_is_there(folder, template, sweep)
    else:
        files = _whole(folder, template, sweep)
    return Project(folder, template, sweep, files)


def begin_sweep(folder: Path) -> None:
    """Write a sweep to a folder, with what it looks at beside its declaration; its name is like that of the folder.

    What it declares is that of the smallest template. Raises ``Refused`` where no sweep can have such a name, and where
    the folder holds something.
    """
    sweep = _sweep_name(_near(folder.name))
    if folder.exists() and any(folder.iterdir()):
        raise Refused("the folder is not empty, nothing was written", file=folder, help="name a new one")
    _declare(folder, DEFAULT, sweep)
    _rewrite(folder / "defs.yaml", _PATH, "    path: material")
    if not (folder.parent.parent / SCHEMA.name).is_file():
        _rewrite(folder / "defs.yaml", _SCHEMA_LINE, "")
    shutil.copytree(_TEMPLATES / "examples" / "services", folder / "material")


def _template(name: str) -> Template:
    if name in TEMPLATES:
        return TEMPLATES[name]
    near = difflib.get_close_matches(name, TEMPLATES, n=1)
    help = f"did you mean {near[0]}?" if near else f"there is {', '.join(TEMPLATES)}"
    raise Refused(f"no template {name!r}", key="template", help=help)


def _sweep_name(name: str) -> str:
    if SWEEP_NAME.fullmatch(name):
        return name
    allowed = "a name has lower-case letters, digits and _, begins with a letter, and is at most 63 long"
    near = _near(name)
    help = f"{allowed}; {near} would do" if SWEEP_NAME.fullmatch(near) else allowed
    raise Refused(f"{name!r} is no name of a sweep", key="name", help=help)


def _near(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:63].rstrip("_")


def _whole(folder: Path, template: str, sweep: str) -> tuple[str, ...]:
    """Write beside the place of a folder that is not there, and put it there in one step."""
    with _refusing(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{folder.name[:50]}.drysweep-init-"
        _forget_stages(folder.parent, prefix)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=prefix) as stage:
            # A folder of its own in there, which has the rights that the user's folders have.
            made = Path(stage) / "project"
            _render(made, _project_name(folder), template, sweep)
            files = _files(made)
            made.rename(folder)
    return files


def _forget_stages(parent: Path, prefix: str) -> None:
    """Remove what somebody began to write there and did not live to put in its place."""
    for path in parent.iterdir():
        if path.name.startswith(prefix) and path.stat().st_mtime < time.time() - _STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _beside_what_is_there(folder: Path, template: str, sweep: str) -> tuple[str, ...]:
    """Write into a folder that is there; where that fails, what was written is taken back."""
    if not folder.is_dir():
        raise Refused("it is there, and no folder", file=folder, help="name a new folder")
    with _refusing(folder), tempfile.TemporaryDirectory() as stage:
        made = Path(stage) / "project"
        _render(made, _project_name(folder), template, sweep)
        files = _files(made)
        for name in files:
            _is_free(folder, PurePosixPath(name))
        _copy(made, folder, files)
    return files


@contextmanager
def _refusing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # What is written beside the place of a new folder has a name that nobody gave.
        named = error.filename if Path(str(error.filename)).is_relative_to(folder) else folder
        what = f"no project can be written there: {error.strerror}"
        raise Refused(what, file=named, help="name a folder that can be written") from None


def _is_free(folder: Path, name: PurePosixPath) -> None:
    """Refuse a file that is there, and one below what is no folder or leads elsewhere."""
    for above in reversed(name.parents[:-1]):
        place = folder / above
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise Refused("it is in the way, nothing was written", file=place, help="name a new folder")
    place = folder / name
    if place.is_symlink() or place.exists():
        help = "name a new folder; to add a sweep to a project, see docs/projects.md"
        raise Refused("it is there already, nothing was written", file=place, help=help)


def _copy(made: Path, folder: Path, files: tuple[str, ...]) -> None:
    written: list[Path] = []
    try:
        for name in files:
            written += _folders_to(folder / name)
            # Fails where somebody else was faster, so that nothing of theirs is replaced.
            with (folder / name).open("xb") as target:
                written.append(folder / name)
                target.write((made / name).read_bytes())
    except BaseException:
        for each in reversed(written):
            each.rmdir() if each.is_dir() else each.unlink()
        raise


def _folders_to(path: Path) -> list[Path]:
    """Make the folders above a file that are missing, and return them, the highest first."""
    missing = [each for each in reversed(path.parents) if not each.is_dir()]
    for each in missing:
        each.mkdir()
    return missing


def _files(made: Path) -> tuple[str, ...]:
    return tuple(sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()))


def _render(made: Path, project: str, template: str, sweep: str) -> None:
    """Write all files of a project to a folder that is not there."""
    from drysweep_pipeline.declaration.schema import schema_text

    values = {"project": project, "template": template, "sweep": sweep, "requirement": _requirement()}
    _fill(_TEMPLATES / "project", made, values)
    _declare(made / "assets" / "sweeps" / sweep, template, sweep)
    (made / SCHEMA).write_text(schema_text(), encoding="utf-8")
    TEMPLATES[template].material(made / "examples")


def _declare(folder: Path, template: str, sweep: str) -> None:
    """Write the folder of a template's sweep, under a name."""
    _fill(_TEMPLATES / template, folder, {})
    _rewrite(folder / "defs.yaml", _NAME, f"  name: {sweep}")


def _rewrite(path: Path, line: re.Pattern[str], instead: str) -> None:
    """Put something in the place of the first line of a file that is like that."""
    text = path.read_text(encoding="utf-8")
    path.write_text(line.sub(instead, text, count=1), encoding="utf-8")


def _fill(source: Path, target: Path, values: dict[str, str]) -> None:
    """Copy a folder of a template, filling in what ends in ``.jinja``; ``dot-`` stands for a dot that hides a file."""
    import jinja2

    # Nothing here is HTML, and what is filled in are names and versions.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701
    environment.trim_blocks = True
    for path in sorted(each for each in source.rglob("*") if each.is_file()):
        inside = path.relative_to(source)
        name = inside.name.removesuffix(".jinja")
        place = target / inside.with_name("." + name.removeprefix("dot-") if name.startswith("dot-") else name)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        filled = environment.from_string(text).render(values) if path.suffix == ".jinja" else text
        place.write_text(filled, encoding="utf-8")


def _project_name(folder: Path) -> str:
    """Return the name of a project in a folder, as pyproject.toml may have it."""
    return re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-") or "sweeps"


def _requirement() -> str:
    """Return how a project asks for drysweep: this version or a later one that keeps to its promises."""
    try:
        version = importlib.metadata.version("drysweep-pipeline")
    except importlib.metadata.PackageNotFoundError:
        return "drysweep-pipeline"
    major, minor = (int(part) for part in version.split(".")[:2])
    return f"drysweep-pipeline>={major}.{minor},<{major + 1 if major else f'0.{minor + 1}'}"
