"""``drysweep init``: a new project, with a sweep that runs as it is."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import JsonOption


def init(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="The folder to write it to; nothing in it is replaced.")],
    template: Annotated[
        str, typer.Option(help="What it begins with: minimal, config_registry or code_audit.")
    ] = "minimal",
    name: Annotated[str | None, typer.Option(metavar="SWEEP", help="The name of its sweep.")] = None,
    json: JsonOption = False,
) -> int:
    """Write a new project, with a sweep that runs as it is.

    Example: drysweep init my_project
    """
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.errors import Refused
    from drysweep_pipeline.projects import TEMPLATES, begin

    if not folder.strip():
        raise Refused("a project needs a folder", key="DIR", help="name a new one, or . for this one")
    project = begin(Path(folder), template, name)
    # What begins with a dash is taken for an option.
    place = f"./{folder}" if folder.startswith("-") else folder
    commands = [f"cd {shlex.quote(place)}", f"{_program()} run {project.sweep}", f"{_program()} findings list"]
    if json:
        said = {"folder": str(project.folder), "template": template, "sweep": project.sweep}
        put_json({"schema_version": 1, **said, "files": project.files, "next": commands})
        return 0
    put(f"wrote a project to {folder}: the sweep {project.sweep}, with {TEMPLATES[template].about}")
    put("go on with:")
    for command in commands:
        put(f"  {command}")
    return 0


def _program() -> str:
    """Return how this program can be called from another folder."""
    from drysweep_pipeline.cli.output import program

    named = program()
    return named if named == "drysweep" else shlex.quote(str(Path(sys.argv[0]).absolute()))
