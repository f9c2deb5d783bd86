"""``drysweep schema``: the JSON Schema of a sweep's file, for editors."""

from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import JsonOption
from drysweep_pipeline.errors import Refused


def schema(
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write it to this file, in place of what is there.")
    ] = None,
    json: JsonOption = False,
) -> int:
    """Print the JSON Schema of a sweep's file.

    Editors complete and check by it what is written.

    Example: drysweep schema
    """
    from drysweep_pipeline.cli.output import note, put_document, put_json
    from drysweep_pipeline.declaration.schema import json_schema, schema_text

    if output is not None:
        _write(output, schema_text())
        note(f"wrote the schema to {output}")
    if json:
        put_json({"schema_version": 1, "file": None if output is None else str(output), "schema": json_schema()})
    elif output is None:
        put_document(schema_text().rstrip("\n"))
    return 0


def _write(path: Path, text: str) -> None:
    from drysweep_pipeline.durable import write_text

    try:
        write_text(path, text)
    except OSError as error:
        what, help = f"the schema cannot be written: {error.strerror}", "name a file that can be written"
        raise Refused(what, file=path, help=help) from None
