"""``drysweep demo``: the 400-service registry, generated and swept to its outcome; offline, from the wheel alone."""

import shlex
import shutil
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, QuietOption, writable_home_of
from drysweep_pipeline.errors import Refused

_MARK = ".drysweep-demo"


def demo(
    seed: Annotated[int, typer.Option(help="Another registry, with the same numbers of faults.")] = 7,
    registry: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Only write the registry, to this folder.")
    ] = None,
    quiet: QuietOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Generate a registry of 400 services and sweep it to its end.

    Example: drysweep demo
    """
    from drysweep_pipeline.cli.driving import drive, show
    from drysweep_pipeline.cli.output import note, put_json
    from drysweep_pipeline.declaration import read_declaration
    from drysweep_pipeline.demo.registry import generate
    from drysweep_pipeline.engine.starting import start
    from drysweep_pipeline.home import Home

    if registry is not None:
        _generate(registry, seed)
        note(f"wrote a registry to {registry}")
        if json:
            put_json({"schema_version": 1, "registry": str(registry), "seed": seed})
        return 0
    root = writable_home_of(home).root
    folder = root / "demo" if home is None else root
    if _fresh(folder):
        note("starts over: the earlier demo's campaign is gone")
    generate(folder / "examples" / "registry", seed=seed)
    declared = _declare(folder)
    place = Home(folder)
    campaign = start(place, read_declaration(declared), as_of=datetime.now(UTC).replace(microsecond=0), driver="cli")
    drive(place, campaign, quiet=quiet)
    code = show(place, campaign, as_json=json)
    if not json:
        _put_hints(folder)
    return code


def _generate(folder: Path, seed: int) -> None:
    """Write a registry to a folder. Raises ``Refused`` where that cannot be."""
    from drysweep_pipeline.demo.registry import generate

    try:
        generate(folder, seed=seed)
    except OSError as error:
        what, help = f"no registry can be written there: {error.strerror}", "name a new folder"
        raise Refused(what, file=folder, key="--registry", help=help) from None


def _put_hints(folder: Path) -> None:
    """Print what can be done next, as commands that can be pasted."""
    from drysweep_pipeline.cli.output import program, put

    at_home = f"--home {shlex.quote(str(folder))}"
    put("look at it:")
    put(f"  {program()} ui {at_home}")
    put("query it:")
    put(f"  {program()} sql {at_home} 'select label, severity, path from findings limit 5'")


def _fresh(folder: Path) -> bool:
    """Make an empty folder for the demo; return whether an earlier demo had to go. Anything else there is refused."""
    earlier = folder.exists() and any(folder.iterdir())
    if earlier:
        if not (folder / _MARK).exists():
            raise Refused("the folder is not empty and holds no demo", file=folder, help="give another --home")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    (folder / _MARK).touch()
    return earlier


def _declare(folder: Path) -> Path:
    """Write the config-registry sweep where its relative path leads to the registry, and return its file."""
    from drysweep_pipeline.declaration.schema import schema_text
    from drysweep_pipeline.durable import write_text
    from drysweep_pipeline.projects import SCHEMA

    target = folder / "assets" / "sweeps" / "config_registry"
    with resources.as_file(resources.files("drysweep_pipeline") / "templates" / "config_registry") as template:
        shutil.copytree(template, target)
    # Where an editor looks for it that the file is opened in.
    write_text(folder / SCHEMA, schema_text())
    return target / "defs.yaml"
