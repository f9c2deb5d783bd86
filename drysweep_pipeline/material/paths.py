"""Where material lies: ``{env.NAME}`` and ``{as_of}`` in a declared path, and the directory of a date."""

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material import commits
from drysweep_pipeline.material.commits import Commit

AS_OF = "{as_of}"
_ENV = re.compile(r"\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
_DATE = r"\d{4}-\d{2}-\d{2}(?:T\d{6}Z)?|\d{8}T\d{6}Z"
_FORMS = ("%Y-%m-%d", "%Y-%m-%dT%H%M%SZ", "%Y%m%dT%H%M%SZ")


@dataclass(frozen=True, slots=True)
class Location:
    """Where a declared path leads: the path, and what ``{as_of}`` picked, if it has one.

    That is the name of a date, or the commit of a repository; ``path`` is in the work tree then, as it is now.
    """

    path: Path
    date: str | None
    commit: Commit | None = None


def resolve_path(template: str, base: Path, as_of: datetime) -> Path:
    """Return the path that a declaration means on a date; what it leads to need not exist.

    ``base``: the folder of the declaring file. Raises ``MaterialError`` for an unset variable and where no date
    at or before ``as_of`` is there.
    """
    return locate(template, base, as_of).path


def dates_of(template: str, base: Path) -> list[datetime]:
    """Return the instants for which dated material has a folder, in order. Raises ``MaterialError``.

    In git, that is the last commit of each day on which the material was changed.
    """
    parent, segment, below = _dated(template, base)
    if segment is None:
        return []
    if _is_in_git(parent, segment):
        return commits.days(parent, _in_repository(below))
    return [at for at, _ in _dates(parent, segment)]


def locate(template: str, base: Path, as_of: datetime) -> Location:
    """Return the path that a declaration means, with the date that ``{as_of}`` picked."""
    parent, segment, below = _dated(template, base)
    if segment is None:
        return Location(parent, None)
    if _is_in_git(parent, segment):
        commit = commits.commit_at(parent, _in_repository(below), _utc(as_of))
        return Location(_plain(parent.joinpath(*below)), None, commit)
    date = _newest(parent, segment, as_of)
    return Location(_plain(parent.joinpath(*(part.replace(AS_OF, date) for part in (segment, *below)))), date)


def _dated(template: str, base: Path) -> tuple[Path, str | None, tuple[str, ...]]:
    """Part a declared path into what lies above its dated segment, that segment, and what lies below it."""
    parts = Path(base, _ENV.sub(_variable, template)).parts
    dated = next((number for number, part in enumerate(parts) if AS_OF in part), None)
    if dated is None:
        return _plain(Path(*parts)), None, ()
    return _plain(Path(*parts[:dated])), parts[dated], parts[dated + 1 :]


def undated(template: str, base: Path) -> str:
    """Return where a declaration's material lies, variables filled in and dates left open."""
    parent, segment, below = _dated(template, base)
    return str(parent if segment is None else parent.joinpath(segment, *below))


def readable(path: Path) -> Path:
    """Return the path if it is a file or a folder that can be read. Raises ``MaterialError`` saying what is wrong."""
    return path if path.is_file() and os.access(path, os.R_OK) else readable_folder(path)


def readable_folder(path: Path) -> Path:
    """Return the path if it is a folder that can be read. Raises ``MaterialError`` saying what is wrong with it."""
    if not path.exists():
        raise MaterialError("there is no such folder", file=path, help=_nearest(path))
    if not path.is_dir():
        raise MaterialError("is a file, not a folder", file=path, help=f"did you mean {path.parent}?")
    if not os.access(path, os.R_OK | os.X_OK):
        raise MaterialError("may not be read", file=path, help="give this user the right to read it")
    return path


def _plain(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _variable(match: re.Match[str]) -> str:
    value = os.environ.get(match[1])
    if value is None:
        raise MaterialError(
            f"the variable {match[1]} is not set", key="path", help=f"set {match[1]} before the sweep runs"
        )
    return value


def _nearest(path: Path) -> str:
    there = next((parent for parent in path.parents if parent.exists()), path)
    return f"the path goes as far as {there}; it is relative to the file that declares it"


def _is_in_git(parent: Path, segment: str) -> bool:
    """Tell whether a date means a commit: of a repository without a folder for any date."""
    return segment == AS_OF and not _dates(parent, segment) and commits.is_repository(parent)


def _in_repository(below: tuple[str, ...]) -> str:
    """Return a path in a repository as git names it. Raises ``MaterialError`` where it leads out of it."""
    if AS_OF in "/".join(below) or ".." in below:
        raise MaterialError(
            f"{'/'.join(below)!r} is no path in a repository", key="path", help="it stays below {as_of}"
        )
    return "/".join(below)


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def _newest(parent: Path, segment: str, as_of: datetime) -> str:
    """Return the newest date at or before ``as_of`` that has a folder; a bare date counts from its first moment."""
    dates = _dates(parent, segment)
    limit = _utc(as_of)
    reached = [(at, name) for at, name in dates if at <= limit]
    if reached:
        return max(reached)[1]
    shown = (
        ", ".join(name for _, name in dates) or "no folder named by a date, such as 2026-01-31, and no git repository"
    )
    raise MaterialError(
        f"nothing is dated {limit:%Y-%m-%dT%H:%M:%SZ} or earlier", file=parent / segment, help=f"there is {shown}"
    )


def _dates(parent: Path, segment: str) -> list[tuple[datetime, str]]:
    before, _, after = segment.partition(AS_OF)
    name = re.compile(f"{re.escape(before)}({_DATE}){re.escape(after)}", re.ASCII)
    matches = [match for entry in _folders(parent) if (match := name.fullmatch(entry))]
    found = [(at, match[1]) for match in matches if (at := _instant(match[1])) is not None]
    return sorted(found)


def _folders(parent: Path) -> list[str]:
    try:
        return [entry.name for entry in readable_folder(parent).iterdir() if entry.is_dir()]
    except OSError as error:
        raise MaterialError(f"cannot be read: {error.strerror}", file=parent) from error


def _instant(text: str) -> datetime | None:
    for form in _FORMS:
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
