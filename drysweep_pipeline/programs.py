"""Where what a sweep names is found: programs, the files that their arguments name, and modules of Python.

All of it beside the declaration first. Nothing here is run or imported.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

_PLACEHOLDER = re.compile(r"{(\w+(?:\.[^{}]+)?)}")


def found(argv0: str, base: Path) -> str:
    """Return the program that the first word of argv means.

    It is a file beside the declaration, else one on the PATH, else one that is installed with drysweep.
    """
    beside = base / argv0
    # A path is never looked for where the child happens to start.
    if beside.is_file() or os.sep in argv0:
        return str(beside.absolute())
    # What lies in a virtual environment is on the PATH only where somebody has activated it.
    installed = Path(sys.executable).parent / argv0
    return str(installed) if shutil.which(argv0) is None and installed.is_file() else argv0


def words(argv: Sequence[str], base: Path) -> tuple[str, ...]:
    """Return an argv for a child that starts elsewhere: words that name a file beside the declaration lead to it.

    So does the value of an option that is written ``--option=value``, and a folder where it is written with a slash.
    """
    first, *others = argv
    return (found(first, base), *(_led(word, base) for word in others))


def named(argv: Sequence[str]) -> tuple[Path, ...]:
    """Return the files and folders that the full paths in an argv lead to, also as ``--option=value``; but the first.

    What is named by words that ``words`` led elsewhere is among them.
    """
    values = (word.partition("=")[2] if word.startswith("-") else word for word in argv[1:])
    return tuple(Path(value) for value in values if os.path.isabs(value) and os.path.exists(value))  # noqa: PTH110, PTH117


def beside(names: Iterable[str], base: Path) -> tuple[Path, ...]:
    """Return what a declaration names relative to itself, as full paths."""
    return tuple((base / name).absolute() for name in names)


def placeholders(argv: Sequence[str]) -> list[str]:
    """Return what is written in braces in an argv, in order; braces around anything but a name are left alone."""
    return [name for word in argv for name in _PLACEHOLDER.findall(word)]


def filled(argv: Sequence[str], values: Mapping[str, str]) -> tuple[str, ...]:
    """Return an argv with its placeholders replaced; those without a value stay as they are."""
    # In one pass, so that what is filled in is not read for placeholders again.
    return tuple(_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in argv)


def search_path(base: Path) -> list[str]:
    """Return where a declared function is imported from first: the declaring folder, then the project it lies in."""
    here = base.absolute()
    project = next((folder for folder in (here, *here.parents) if (folder / "pyproject.toml").exists()), None)
    return [str(folder) for folder in dict.fromkeys((here, project)) if folder is not None]


def _led(word: str, base: Path) -> str:
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return f"{option}{equals}{(base / value).absolute()}" if _is_there(base, value) else word


def _is_there(base: Path, word: str) -> bool:
    try:
        # A word such as "check" is rather one of the program than a folder.
        return bool(word) and ((base / word).is_file() or (os.sep in word and (base / word).is_dir()))
    except (OSError, ValueError):
        return False
