"""The commands by name, and the one place where errors become exit codes."""

import io
import json
import os
import signal
import sys
from typing import Any

import typer

from drysweep_pipeline.cli import (
    backfill,
    campaigns,
    decide,
    demo,
    doctor,
    findings,
    replay,
    report,
    resume,
    run,
    schema,
    sql,
    status,
    ui,
    validate,
)
from drysweep_pipeline.errors import DrysweepError

INTERRUPTED = 130
# Typer brings its own Click along, or uses the one installed; this is the base of its usage errors either way.
_UsageError: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

app = typer.Typer(
    name="drysweep",
    help="Search until the search goes quiet, and say honestly why it stopped.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Rich would render the help with frames, and importing it would take longer than all else that --help does.
    rich_markup_mode=None,
)
app.command("demo")(demo.demo)
app.command("run")(run.run)
app.command("campaigns")(campaigns.campaigns)
app.command("status")(status.status)
app.command("resume")(resume.resume)
app.command("go")(decide.go)
app.command("stop")(decide.stop)
app.command("decide")(decide.decide)
app.command("backfill")(backfill.backfill)
app.command("report")(report.report)
app.command("sql")(sql.sql)
app.add_typer(findings.app)
app.command("replay")(replay.replay)
app.command("validate")(validate.validate)
app.command("schema")(schema.schema)
app.command("doctor")(doctor.doctor)
app.command("ui")(ui.ui)


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(given, standalone_mode=False)
    except DrysweepError as error:
        return _refuse(error, as_json="--json" in given)
    except _UsageError as error:
        return _usage(error, as_json="--json" in given)
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted; Python would complain again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        raise _without_secrets(error) from None
    if code == INTERRUPTED:
        sys.stderr.write("interrupted; `drysweep resume` goes on from the last whole round\n")
    return code if isinstance(code, int) else 0


def _without_secrets(error: Exception) -> BaseException:
    """Return what nobody expected, for Python to show, with what this process knows to be secret masked."""
    from drysweep_pipeline.redaction import without_secrets

    return without_secrets(error)


def _refuse(error: DrysweepError, *, as_json: bool) -> int:
    if as_json:
        _write_json(error.what, error.file, error.line, error.key, error.help)
    else:
        _complain(f"drysweep: {error}")
    return error.exit_code


def _usage(error: Any, *, as_json: bool) -> int:
    if as_json:
        _write_json(error.format_message(), None, None, None, "drysweep --help")
    else:
        from drysweep_pipeline.reports.text import safe_text

        shown, message = io.StringIO(), error.format_message()
        error.show(shown)
        # What was typed may hold line ends too; those that stay are the usage's own.
        _complain(*shown.getvalue().replace(message, safe_text(message)).rstrip("\n").split("\n"))
    return 2


def _complain(*lines: str) -> None:
    # Here and not above, so that --help does not load what makes reports.
    from drysweep_pipeline.cli.output import note

    for line in lines:
        note(line)


def _write_json(what: str, file: str | None, line: int | None, key: str | None, help: str | None) -> None:
    from drysweep_pipeline.redaction import hidden_data

    said = hidden_data({"error": what, "file": file, "line": line, "key": key, "help": help})
    problem: dict[str, Any] = {"schema_version": 1, **said}
    sys.stdout.write(json.dumps(problem, ensure_ascii=False) + "\n")
