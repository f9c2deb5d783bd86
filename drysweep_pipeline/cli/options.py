"""Options that several commands share, and what they stand for: the home, the project, a campaign by its name."""

import getpass
import os
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.durable import make_private
from drysweep_pipeline.errors import DeclarationError, NotFound, Refused
from drysweep_pipeline.home import Home


def _folder(text: str) -> Path:
    """Return the folder that is named; no text names none, since the folder one is in is hardly what was meant."""
    if not str(text).strip():
        raise typer.BadParameter("a home needs a folder")
    return Path(text)


HomeOption = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", parser=_folder, help="Where ledgers and landings lie (DRYSWEEP_HOME)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object on stdout.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress on stderr.")]


def _sweeps(incomplete: str) -> list[str]:
    from drysweep_pipeline.cli import completing

    return completing.sweeps(incomplete)


def _campaigns(ctx: typer.Context, incomplete: str) -> list[str]:
    from drysweep_pipeline.cli import completing

    return completing.campaigns(ctx, incomplete)


SweepArgument = Annotated[
    str,
    typer.Argument(metavar="SWEEP", help="A sweep's name in the project, or its YAML file.", autocompletion=_sweeps),
]
CampaignArgument = Annotated[
    str, typer.Argument(metavar="CAMPAIGN", help="A campaign, as [SWEEP/]ID.", autocompletion=_campaigns)
]
OneSweepArgument = Annotated[
    str | None,
    typer.Argument(metavar="SWEEP", help="Only this sweep; all unless given.", autocompletion=_sweeps),
]
ByOption = Annotated[str | None, typer.Option("--by", help="Your name; the login name unless given.")]
_DAY_LETTERS = len("2026-01-31")
FailOnOption = Annotated[
    str | None, typer.Option("--fail-on", help="Exit with 6 on findings this bad: major, new:major, ...")
]
ReasonOption = Annotated[str | None, typer.Option("--reason", help="Why.")]


def project_root() -> Path:
    """Return the folder of the nearest pyproject.toml upwards, else the current folder."""
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / "pyproject.toml").exists()), here)


def home_of(given: Path | None, beside: Path | None = None, *, there: bool = False) -> Home:
    """Return the home: as given, DRYSWEEP_HOME, beside the project, else beside the YAML file.

    For what only reads what is ``there``, raises ``Refused`` where that is no folder, or is not there.
    """
    home = _home_of(given, beside)
    if there:
        _check_folder(home.root)
        if not home.root.exists():
            raise _NoHome(home.root)
    return home


def _check_folder(root: Path) -> None:
    nearest = next(path for path in (root, *root.parents) if path.exists())
    if not nearest.is_dir():
        raise Refused(f"{nearest} is no folder", file=root, key="--home", help="name a folder for the home")


def writable_home_of(given: Path | None, beside: Path | None = None) -> Home:
    """Return the home, as ``home_of``, for what writes there. Raises ``Refused`` where that cannot be done."""
    home = _home_of(given, beside)
    _check_folder(home.root)
    try:
        make_private(home.root)
    except OSError as error:
        what = f"the home cannot be made: {error.strerror or error}"
        raise Refused(what, file=home.root, key="--home", help="name a folder that can be written") from None
    if not os.access(home.root, os.W_OK | os.X_OK):
        what = "the home cannot be written"
        raise Refused(what, file=home.root, key="--home", help="name a folder that can be written")
    return home


class _NoHome(Refused):
    """There is no home where one is looked for."""

    code = "not_found"

    def __init__(self, root: Path) -> None:
        help = "--home or DRYSWEEP_HOME names another; `drysweep run` makes one"
        super().__init__("there is no home", file=root, help=help)


def _home_of(given: Path | None, beside: Path | None) -> Home:
    if given is not None:
        return Home(given.expanduser().resolve())
    if os.environ.get("DRYSWEEP_HOME"):
        return Home(Path(os.environ["DRYSWEEP_HOME"]).expanduser().resolve())
    root = project_root()
    if not (root / "pyproject.toml").exists() and beside is not None:
        root = beside.resolve().parent
    return Home(root / ".drysweep")


def instant(text: str | None, option: str = "--as-of") -> datetime | None:
    """Return an ISO date or instant in UTC; a day stands for its midnight. Raises ``DeclarationError``."""
    if text is None:
        return None
    try:
        if len(text) == _DAY_LETTERS:
            return datetime.combine(date.fromisoformat(text), time(), UTC)
        parsed = datetime.fromisoformat(text)
    except ValueError:
        help = "write 2026-01-31 or 2026-01-31T06:00:00Z"
        raise DeclarationError(f"{text!r} is no instant", key=option, help=help) from None
    return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)


def last_instant(text: str | None, option: str = "--to") -> datetime | None:
    """Return the end of a span in UTC: as ``instant``, but a day stands for its last moment."""
    found = instant(text, option)
    if found is None or text is None or len(text) != _DAY_LETTERS:
        return found
    return found + timedelta(days=1, microseconds=-1)


def find_campaign(home: Home, text: str) -> tuple[str, str]:
    """Return sweep and id of a campaign given as [SWEEP/]ID. Raises ``NotFound``, or ``Refused`` where two have it."""
    from drysweep_pipeline.engine.campaign import campaigns

    sweep, _, name = text.rpartition("/")
    if sweep:
        if sweep not in home.sweeps():
            raise NotFound("sweep", sweep, home.sweeps())
        return sweep, name
    known = {each: campaigns(home, each) for each in home.sweeps()}
    having = [each for each, names in known.items() if name in names]
    if len(having) > 1:
        raise Refused(f"{len(having)} sweeps have a campaign {name}", help=f"say {having[0]}/{name}")
    if known.get(name) and not having:  # a sweep: its campaigns are meant, and the newest of them first
        raise NotFound("campaign", name, [f"{name}/{each}" for each in reversed(known[name])])
    if not having:
        raise NotFound("campaign", name, [f"{each}/{names[-1]}" for each, names in known.items() if names])
    return having[0], name


def recorded_in(given: Path | None, sweep: str | None) -> tuple[Home, str | None]:
    """Return the home that is there and the name of the sweep that is asked about, by that name or by its YAML file.

    Raises ``Refused`` where there is no home, ``DeclarationError`` where there is no such file or it declares none.
    """
    if sweep is None or Path(sweep).suffix not in (".yaml", ".yml"):
        return home_of(given, there=True), sweep
    from drysweep_pipeline.declaration import declared_name, resolve_sweep

    path = resolve_sweep(sweep, project_root())
    return home_of(given, path, there=True), declared_name(path)


def recorded_sweeps(home: Home, sweep: str | None) -> list[str]:
    """Return the one sweep that is asked about, or all that have anything in the home. Raises ``NotFound``.

    A sweep that only the published history knows has lost all that it had here, and is one as well.
    """
    from drysweep_pipeline.history.comparing import sweeps

    known = sorted({*home.sweeps(), *sweeps(home)})
    if sweep is None:
        return known
    if sweep not in known:
        raise NotFound("sweep", sweep, known)
    return [sweep]


def person(given: str | None) -> str:
    """Return the name of the person at the terminal. Raises ``Refused`` where nobody can tell."""
    try:
        name = (given if given is not None else getpass.getuser()).strip()
    except (OSError, KeyError):
        name = ""
    if not name:
        raise Refused("a decision needs a name", key="by", help="give --by NAME")
    return name
