"""How a sweep is declared: its shape, reading it from YAML with lines, and what is wise about it."""

from drysweep_pipeline.declaration.model import Sweep
from drysweep_pipeline.declaration.reading import (
    Declaration,
    declaration_from,
    declared,
    declared_name,
    errors,
    find_sweeps,
    freeze_json,
    read_declaration,
    resolve_sweep,
    thaw_json,
)

__all__ = [
    "Declaration",
    "Sweep",
    "declaration_from",
    "declared",
    "declared_name",
    "errors",
    "find_sweeps",
    "freeze_json",
    "read_declaration",
    "resolve_sweep",
    "thaw_json",
]
