"""The commands by name, and the one place where errors become exit codes."""

import atexit
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from drysweep_pipeline import interruption, system
from drysweep_pipeline.cli import (
    backfill,
    campaigns,
    decide,
    demo,
    doctor,
    findings,
    init,
    plan,
    prune,
    rebuild,
    refusing,
    replay,
    report,
    resume,
    run,
    schema,
    sql,
    status,
    ui,
    validate,
    verify,
)
from drysweep_pipeline.errors import DrysweepError

# Typer brings its own Click along, or uses the one installed; this is the base of its usage errors either way.
_UsageError: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")

# The exit code of this process, once it was interrupted.
_left_with: list[int] = []

app = typer.Typer(
    name="drysweep",
    help="Search until the search goes quiet, and say honestly why it stopped.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    pretty_exceptions_enable=False,
    # Rich would render the help with frames, and importing it would take longer than all else that --help does.
    rich_markup_mode=None,
)


def _version(context: typer.Context, wanted: bool) -> None:
    if wanted:
        from drysweep_pipeline.cli.versions import versions

        found = versions()
        lines = (
            [json.dumps({"schema_version": 1, **found})] if context.obj else [" ".join(each) for each in found.items()]
        )
        sys.stdout.write("\n".join(lines) + "\n")
        raise typer.Exit


@app.callback(epilog="drysweep COMMAND --help says more of a command, with an example.")
def every_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which versions these are.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --version: exactly one JSON object.")] = False,
) -> None:
    """Search until the search goes quiet, and say honestly why it stopped."""
    if as_json:
        raise typer.BadParameter("it goes after the command", param_hint="--json")


app.command("init")(init.init)
app.command("demo")(demo.demo)
app.command("plan")(plan.plan)
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
app.command("verify")(verify.verify)
app.command("rebuild")(rebuild.rebuild)
app.command("prune")(prune.prune)
app.command("doctor")(doctor.doctor)
app.command("ui")(ui.ui)


def wants_json(given: list[str]) -> bool:
    """Tell whether the answer is to be JSON, be it that the command cannot be made out."""
    return "--json" in given[: given.index("--")] if "--" in given else "--json" in given


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if arguments is None:
        _have_streams()
        # Registered first, it comes last.
        atexit.register(_leave)
    given = sys.argv[1:] if arguments is None else arguments
    as_json = wants_json(given)
    if (broken := refusing.no_text(given)) is not None:
        return refusing.unreadable(broken, as_json=as_json)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    refusing.forget_how_it_goes_on()
    # Whoever calls this in a process of their own has their own way with signals.
    with interruption.noting() if arguments is None else nullcontext():
        return _code_of(given, as_json=as_json, whole=arguments is None)


def _code_of(given: list[str], *, as_json: bool, whole: bool) -> int:
    """Run a command and return its exit code; what went wrong is said."""
    try:
        code = app(given, prog_name="drysweep", standalone_mode=False, obj=as_json)
    except DrysweepError as error:
        if not interruption.came():
            return refusing.refuse(error, as_json=as_json)
        code = refusing.INTERRUPTED
    except _UsageError as error:
        return refusing.misused(error, as_json=as_json)
    except (KeyboardInterrupt, typer.Abort):
        code = refusing.INTERRUPTED
    except BrokenPipeError:
        # The reader has what it wanted; Python would complain again while it shuts down.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if (refused := system.refusal(error)) is not None:
            return refusing.refuse(refused, as_json=as_json)
        # What a library makes of an interruption may be any error of its own.
        if not (interruption.is_one(error) or interruption.came()):
            return refusing.unexpected(error, given, as_json=as_json)
        code = refusing.INTERRUPTED
    if code == refusing.INTERRUPTED:
        return _interrupted(as_json, whole=whole)
    return code if isinstance(code, int) else 0


def _have_streams() -> None:
    """Have what is written to a closed stream go nowhere; else a file that is opened would get its number, and it."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)
            # A number is no path, and the stream stays open as long as the process.
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: PTH123, SIM115


def _interrupted(as_json: bool, *, whole: bool) -> int:
    """Say that a command was interrupted; a ``whole`` process that is interrupted again ends at once, as it would."""
    if whole:
        _on_signals(signal.SIG_IGN)
    code = refusing.interrupted(as_json=as_json)
    if whole:
        sys.stdout.flush()
        _left_with.append(code)
        _on_signals(lambda *_: os._exit(code))
    return code


def _on_signals(handler: Callable[..., Any] | signal.Handlers) -> None:
    """Have those signals that ask a process to end dealt with so."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def _leave() -> None:
    """End a process that was interrupted, now that Python has put in order what is its own.

    What is left is the work of libraries, who may wait seconds for a query that nobody wants any more, deaf to us.
    """
    if _left_with:
        os._exit(_left_with[0])
    # Others have been told what came of it; a signal that comes now would have the exit code say something else.
    _on_signals(signal.SIG_IGN)
