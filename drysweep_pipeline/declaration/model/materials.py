"""Material as it is declared, a class a kind."""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    Field,
    StrictBool,
    StrictInt,
    field_serializer,
    field_validator,
)

from drysweep_pipeline.declaration.model.parts import EnvironmentName, Part, not_allowed
from drysweep_pipeline.programs import placeholders
from drysweep_pipeline.values import SWEEP_NAME

# What every snapshot has of its own, and what a judge's query reads beside it.
TAKEN_TABLES = ("files", "settings", "unreadable", "findings")
ColumnType = Literal[
    "BIGINT", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "TIMESTAMPTZ", "BIGINT[]", "DOUBLE[]", "VARCHAR[]"
]


class Source(Part):
    """Where a registry keeps one thing about its services; see ``material.registry``."""

    file: str
    at: str = ""
    by: str | None = None


Sources = str | Source | tuple[str | Source, ...]


class RegistryMap(Part):
    """Which files describe services, and where labels, live state, charter and modification times are."""

    services: str
    labels: Sources = ()
    live: Sources = ()
    charter: Sources = ()
    modified: Source | str | None = None


class RegistryMaterial(Part):
    """A directory of services."""

    kind: Literal["registry"]
    path: str
    map: RegistryMap
    ignore: tuple[str, ...] = ()
    max_bytes: int = Field(default=5_000_000, ge=1)
    allow_empty: StrictBool = False


class FilesMaterial(Part):
    """A directory of files."""

    kind: Literal["files"]
    path: str
    ignore: tuple[str, ...] = ()
    max_bytes: int = Field(default=5_000_000, ge=1)
    allow_empty: StrictBool = False


def _lies_below(file: str) -> str:
    if file.startswith("/") or ".." in file.split("/") or "\0" in file:
        raise not_allowed(f"{file!r} lies outside the material", "name a file below path")
    return file


FileBelow = Annotated[str, AfterValidator(_lies_below)]


def _is_a_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


class TableSource(Part):
    """Where one table is kept, and how it is read; see ``material.tabular``."""

    file: FileBelow = ""
    format: Literal["csv", "tsv", "json", "jsonl", "parquet", "database"] | None = None
    table: str | None = None
    columns: dict[Annotated[str, Field(min_length=1)], ColumnType] = Field(default_factory=dict)
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None

    @field_serializer("columns", when_used="json")
    def _in_order(self, columns: dict[str, ColumnType]) -> list[tuple[str, ColumnType]]:
        # Lists take their names in this order, and what is frozen or digested has its keys sorted.
        return list(columns.items())

    @field_validator("columns", mode="before")
    @classmethod
    def _as_frozen(cls, columns: Any) -> Any:
        return dict(columns) if isinstance(columns, list) and all(map(_is_a_pair, columns)) else columns


def _are_free(tables: dict[str, Any]) -> dict[str, Any]:
    for name in tables:
        if not SWEEP_NAME.fullmatch(name):
            help = "a name has lower-case letters, digits and _, begins with a letter, and is at most 63 long"
            raise not_allowed(f"{name!r} is no name of a table", help, at=(name,))
        if name in TAKEN_TABLES:
            raise not_allowed(f"the name {name!r} is taken", f"so are {', '.join(TAKEN_TABLES)}", at=(name,))
    return tables


class TablesMaterial(Part):
    """Files that hold tables: each is a table of the snapshot, by its declared name."""

    kind: Literal["tables"]
    path: str
    tables: Annotated[dict[str, FileBelow | TableSource], Field(min_length=1), AfterValidator(_are_free)]
    max_bytes: int = Field(default=1_000_000_000, ge=1)
    max_rows: int = Field(default=10_000_000, ge=1)
    timeout_s: float = Field(default=600.0, gt=0)
    allow_empty: StrictBool = False


class PrintedTable(Part):
    """A table that a program prints: what its columns are, as far as that is declared."""

    columns: dict[Annotated[str, Field(min_length=1)], ColumnType] = Field(default_factory=dict)


class CommandMaterial(Part):
    """A program that prints the tables to be searched; ``argv`` meets no shell."""

    kind: Literal["command"]
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    tables: Annotated[dict[str, PrintedTable], Field(min_length=1), AfterValidator(_are_free)]
    env: tuple[EnvironmentName, ...] = ()
    timeout_s: float = Field(default=120.0, gt=0)
    max_bytes: int = Field(default=256_000_000, ge=1)
    max_rows: int = Field(default=10_000_000, ge=1)
    allow_empty: StrictBool = False

    @field_validator("argv")
    @classmethod
    def _can_be_filled_in(cls, argv: tuple[str, ...]) -> tuple[str, ...]:
        for index, word in enumerate(argv):
            for name in placeholders([word]):
                if name.startswith("env."):
                    help = f"name it under env: what stands in argv, everybody on the machine can read ({name[4:]})"
                    raise not_allowed(f"{{{name}}} does not belong in argv", help, at=(index,))
                if name != "as_of":
                    raise not_allowed(f"{{{name}}} is no placeholder", "there is {as_of}", at=(index,))
        return argv


class Reverted(Part):
    """What a revert test answers yes to, from the round after ``after`` on: finding and fix, by their labels."""

    finding: str
    fix: str
    after: StrictInt = Field(default=0, ge=0)


class ScriptedMaterial(Part):
    """Nothing at all: scripted strategies look at their script, and so do revert tests."""

    kind: Literal["scripted"]
    reverts: tuple[Reverted, ...] = ()


AnyMaterial = Annotated[
    RegistryMaterial | FilesMaterial | TablesMaterial | CommandMaterial | ScriptedMaterial, Field(discriminator="kind")
]
