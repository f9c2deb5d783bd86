"""What a shell offers while a command is typed: sweeps and campaigns, from the names of files alone.

A person waits for each key, so that nothing is read here and nothing heavy imported; what is wrong offers nothing.
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import typer

from drysweep_pipeline.cli.options import home_of, project_root
from drysweep_pipeline.home import Home

# As many as anybody reads.
_MOST = 200
# The first name in the file is the sweep's own, unless its keys stand in an order that nobody writes them in.
_NAME = re.compile(r"""^attributes:\s*\n(?:[ \t]*(?:#.*)?\n)*[ \t]+name:[ \t]*["']?([a-z]\w*)""", re.MULTILINE)


def sweeps(incomplete: str) -> list[str]:
    """Return the sweeps of the project whose names begin as what is typed, and the YAML files that do."""
    named = sorted(_name(path) for path in (project_root() / "assets" / "sweeps").glob("*/defs.yaml"))
    return [name for name in (*named, *_files(incomplete)) if name.startswith(incomplete)][:_MOST]


def _name(declared: Path) -> str:
    """Return the name that a sweep is declared by, as far as a look at its file tells, else that of its folder."""
    try:
        found = _NAME.search(declared.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    return found[1] if found else declared.parent.name


def campaigns(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the campaigns of the home that are meant by what is typed: SWEEP/ID, the newest first, or the ID alone."""
    home = home_of(ctx.params.get("home"))
    whole = [f"{sweep}/{name}" for sweep, name in _recorded(home)]
    alone = [name for _, name in _recorded(home)] if incomplete and "/" not in incomplete else []
    return list(islice((name for name in (*whole, *alone) if name.startswith(incomplete)), _MOST))


def _recorded(home: Home) -> Iterator[tuple[str, str]]:
    for sweep in home.sweeps():
        for path in sorted((home.sweep(sweep).root / "state").glob("*.json"), reverse=True):
            yield sweep, path.stem


def _files(incomplete: str) -> list[str]:
    """Return the YAML files, and the folders, in the folder that is typed so far."""
    typed, slash, _ = incomplete.rpartition("/")
    try:
        entries = sorted(Path(typed + slash or ".").iterdir())
    except OSError:
        return []
    found = [f"{each.name}/" if each.is_dir() else each.name for each in entries if not each.name.startswith(".")]
    return [typed + slash + name for name in found if name.endswith((".yaml", ".yml", "/"))]
