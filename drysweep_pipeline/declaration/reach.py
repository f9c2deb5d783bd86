"""What a sweep declares that its children are to read, held against the home that they may not.

Reading a declaration does not know the home; this is for ``validate`` and for the start of a campaign. What is declared
to be read is refused where it would lead to what was found; what else lies beside the home is still read around it.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from drysweep_pipeline.children.confinement import holds, leads_into, other_homes, places_of
from drysweep_pipeline.declaration.checks import document_of
from drysweep_pipeline.declaration.model import (
    CommandJudge,
    CommandMaterial,
    CommandStrategy,
    InAChild,
    ScriptedMaterial,
    Sweep,
)
from drysweep_pipeline.declaration.reading import Declaration
from drysweep_pipeline.declaration.refusals import Written
from drysweep_pipeline.declaration.yaml_reader import Keys
from drysweep_pipeline.errors import DeclarationError, MaterialError
from drysweep_pipeline.material.paths import locate
from drysweep_pipeline.programs import named, words

_HELP = "name the files and folders in it that are needed, or keep the home elsewhere"


def reach_problems(declaration: Declaration, home: Path) -> list[DeclarationError]:
    """Return what is declared to be read and would open the home to a child; an empty list where nothing would."""
    written = Written(declaration.path, None, Sweep, document_of(declaration))
    kept_out = places_of(home)
    return [
        problem
        for keys, who in _in_children(declaration)
        for problem in _problems(written, keys, who, declaration.base, kept_out)
    ]


def home_in_material(declaration: Declaration, home: Path) -> list[str]:
    """Return what is to be known where the home lies in what is searched as it is now: it is left out."""
    material = declaration.sweep.material
    if isinstance(material, ScriptedMaterial | CommandMaterial):
        return []
    try:
        place = locate(material.path, declaration.base, datetime.now(UTC)).path
    except MaterialError:
        return []  # where the material does not lie, nothing lies in it
    if place.resolve() not in home.resolve().parents:
        return []
    return [f"the home {home} lies in the material; it is left out, and searching a narrower path would be quicker"]


def _in_children(declaration: Declaration) -> Iterator[tuple[Keys, InAChild]]:
    for index, strategy in enumerate(declaration.sweep.strategies):
        if isinstance(strategy, InAChild):
            yield ("strategies", index), strategy
    if isinstance(declaration.sweep.judge, InAChild):
        yield ("judge",), declaration.sweep.judge


def _problems(
    written: Written, keys: Keys, who: InAChild, base: Path, kept_out: tuple[Path, ...]
) -> Iterator[DeclarationError]:
    for index, name in enumerate(who.reads):
        if leads_into(base / name, kept_out):
            what = f"{name!r} lies in the home, which no strategy or judge may read"
            yield written.refusal((*keys, "reads", index), what, "it would not be blind")
        elif holds(base / name, kept_out):
            yield written.refusal((*keys, "reads", index), f"the home lies in {name!r}", _HELP)
        else:
            yield from _of_others(written, (*keys, "reads", index), name, base / name)
    if isinstance(who, CommandStrategy | CommandJudge):
        for path in named(words(who.argv, base)):
            if leads_into(path, kept_out):
                what = f"{path} lies in the home, which no strategy or judge may read"
                yield written.refusal((*keys, "argv"), what, "it would not be blind")


def _of_others(written: Written, keys: Keys, name: str, path: Path) -> Iterator[DeclarationError]:
    """Yield a refusal where what is to be read lies in another home than the one in use, or holds one."""
    for home in other_homes(path)[:1]:
        if path.resolve().is_relative_to(home):
            yield written.refusal(keys, f"{name!r} lies in {home}, another home of drysweep", "it would not be blind")
        else:
            yield written.refusal(keys, f"{home}, another home of drysweep, lies in {name!r}", _HELP)
