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

    file: str = Field(description="A file, or a pattern whose star names the service")
    at: str = Field(default="", description="A JSON pointer; only what lies below it is taken")
    by: str | None = Field(default=None, description="Where the entries of a list name their service")


Sources = str | Source | tuple[str | Source, ...]


class RegistryMap(Part):
    """Which files describe services, and where labels, live state, charter and modification times are."""

    services: str = Field(description="The files that describe a service; the first * stands for its name")
    labels: Sources = Field(default=(), description="Where the rows of the table labels come from")
    live: Sources = Field(default=(), description="Where the rows of the table live come from")
    charter: Sources = Field(default=(), description="Where the rows of the table charter come from")
    modified: Source | str | None = Field(
        default=None, description="Where each file's modification time comes from, in place of the file system's"
    )


class RegistryMaterial(Part):
    """A directory of services."""

    kind: Literal["registry"] = Field(description="A directory of services")
    path: str = Field(description="The directory, relative to the declaration; {env.NAME} and {as_of} are replaced")
    map: RegistryMap = Field(description="Which files describe services, and where what is said of them is found")
    ignore: tuple[str, ...] = Field(default=(), description="Globs of files that are left out, much as git would")
    max_bytes: int = Field(default=5_000_000, ge=1, description="A larger file is listed as not searched")
    allow_empty: StrictBool = Field(default=False, description="Whether material without a service is searched")


class FilesMaterial(Part):
    """A directory of files."""

    kind: Literal["files"] = Field(description="A directory of files")
    path: str = Field(description="The directory, relative to the declaration; {env.NAME} and {as_of} are replaced")
    ignore: tuple[str, ...] = Field(default=(), description="Globs of files that are left out, much as git would")
    max_bytes: int = Field(default=5_000_000, ge=1, description="A larger file is listed as not searched")
    allow_empty: StrictBool = Field(default=False, description="Whether material without a file is searched")


def _lies_below(file: str) -> str:
    if file.startswith("/") or ".." in file.split("/") or "\0" in file:
        raise not_allowed(f"{file!r} lies outside the material", "name a file below path")
    return file


FileBelow = Annotated[str, AfterValidator(_lies_below)]


def _is_a_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


class TableSource(Part):
    """Where one table is kept, and how it is read; see ``material.tabular``."""

    file: FileBelow = Field(
        default="", description="A file or a pattern below path; files that one pattern names are one table"
    )
    format: Literal["csv", "tsv", "json", "jsonl", "parquet", "database"] | None = Field(
        default=None, description="How the file is read; by its name unless given"
    )
    table: str | None = Field(default=None, description="Which table or view of a database")
    columns: dict[Annotated[str, Field(min_length=1)], ColumnType] = Field(
        default_factory=dict,
        description="Columns that must be there and be of that type, without which delimited text is text",
    )
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = Field(
        default=None, description="What parts the fields of delimited text: a comma, or a tab for tsv"
    )

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

    kind: Literal["tables"] = Field(description="Files that hold tables")
    path: str = Field(
        description="The directory, or the one file, relative to the declaration; {env.NAME} and {as_of} are replaced"
    )
    tables: Annotated[dict[str, FileBelow | TableSource], Field(min_length=1), AfterValidator(_are_free)] = Field(
        description="The tables of the snapshot by name, each a file, a pattern or a source"
    )
    max_bytes: int = Field(
        default=1_000_000_000, ge=1, description="A larger file, also once it is unpacked, is listed as not searched"
    )
    max_rows: int = Field(default=10_000_000, ge=1, description="A table with more rows is not read")
    timeout_s: float = Field(default=600.0, gt=0, description="Reading that takes more seconds refuses the round")
    allow_empty: StrictBool = Field(default=False, description="Whether material without a row is searched")


class PrintedTable(Part):
    """A table that a program prints: what its columns are, as far as that is declared."""

    columns: dict[Annotated[str, Field(min_length=1)], ColumnType] = Field(
        default_factory=dict, description="The types of its columns, as far as they are declared"
    )


class CommandMaterial(Part):
    """A program that prints the tables to be searched; ``argv`` meets no shell."""

    kind: Literal["command"] = Field(description="A program that prints the tables")
    argv: tuple[Annotated[str, Field(min_length=1)], ...] = Field(
        min_length=1, description="The program and its arguments; {as_of} is replaced; no shell reads them"
    )
    tables: Annotated[dict[str, PrintedTable], Field(min_length=1), AfterValidator(_are_free)] = Field(
        description="The tables that it prints, by name"
    )
    env: tuple[EnvironmentName, ...] = Field(
        default=(), description="Variables of this environment that it is given as well"
    )
    timeout_s: float = Field(default=120.0, gt=0, description="Printing that takes more seconds refuses the round")
    max_bytes: int = Field(default=256_000_000, ge=1, description="Printing more refuses the round")
    max_rows: int = Field(default=10_000_000, ge=1, description="A table with more rows refuses the round")
    allow_empty: StrictBool = Field(default=False, description="Whether material without a row is searched")

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

    finding: str = Field(description="The label of the finding")
    fix: str = Field(description="The label of the fix")
    after: StrictInt = Field(default=0, ge=0, description="The round after which it holds")


class ScriptedMaterial(Part):
    """Nothing at all: scripted strategies look at their script, and so do revert tests."""

    kind: Literal["scripted"] = Field(description="Nothing at all, for replays")
    reverts: tuple[Reverted, ...] = Field(default=(), description="What revert tests answer yes to")


AnyMaterial = Annotated[
    RegistryMaterial | FilesMaterial | TablesMaterial | CommandMaterial | ScriptedMaterial, Field(discriminator="kind")
]
