"""Settings files as leaves. A new format is one file here and one line in ``FORMATS``."""

from collections.abc import Callable

from drysweep_pipeline.material.settings import dotenv, ini, json, toml, yaml
from drysweep_pipeline.material.settings.leaf import Leaf, Unreadable

__all__ = ["FORMATS", "Leaf", "Unreadable", "is_settings", "read_settings"]

FORMATS: dict[str, Callable[[str], list[Leaf]]] = {
    ".yaml": yaml.leaves,
    ".yml": yaml.leaves,
    ".json": json.leaves,
    ".jsonl": json.lines_leaves,
    ".ndjson": json.lines_leaves,
    ".toml": toml.leaves,
    ".ini": ini.leaves,
    ".env": dotenv.leaves,
}


def is_settings(path: str) -> bool:
    """Tell whether a file's name says that it holds settings."""
    return _suffix(path) in FORMATS


def read_settings(path: str, text: str) -> list[Leaf]:
    """Return the leaves of a file in the order they are written; none where the name names no known format.

    Raises ``Unreadable`` with the reason where the text is not what the name says.
    """
    suffix = _suffix(path)
    if suffix not in FORMATS:
        return []
    try:
        return FORMATS[suffix](text)
    except Unreadable:
        raise
    except Exception as error:  # a parser that trips over a hostile file costs that file, not the sweep
        raise Unreadable(f"its parser failed: {type(error).__name__}: {error}") from error


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    if name.startswith(".env."):
        return ".env"
    return "." + name.rpartition(".")[2] if "." in name else ""
