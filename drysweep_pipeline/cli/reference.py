"""The reference of the command line as Markdown, made from the commands: ``make reference`` writes the page."""

import re
import sys
from collections.abc import Iterator
from typing import Any

import typer

from drysweep_pipeline.reports.text import code

_HEAD = """\
# Command line

Every command and every option, from the commands themselves; `make reference` writes this page. What the words mean is
in the [glossary](../glossary.md), and what a command returns in [exit codes](exit_codes.md) and [errors](errors.md).

What holds for all of them:

- `SWEEP` is a name under `assets/sweeps` or the path of a YAML file. `CAMPAIGN` is `ID`, or `SWEEP/ID` where two
  sweeps have one.
- Everything lies under one home: `--home`, else `DRYSWEEP_HOME`, else `.drysweep` beside the nearest `pyproject.toml`
  or the YAML file.
- With `--json`, stdout is one JSON object with `schema_version` (one a line where a command answers for several
  things), an error too; all else is on stderr.
- Who drives a campaign (`run`, `resume`, `go`, `decide`, `backfill`, `demo`) shows on stderr what each strategy does:
  in place on a terminal, a line an event elsewhere, nothing with `--quiet`. `NO_COLOR` and `TERM=dumb` are respected.
- A table that is too wide for the terminal is printed as records, a line a column; only `findings list` cuts its texts
  there, and says what it leaves out. In a pipe or a file each row is a line, whole, however wide.
- `run --campaign ID` goes on with an unfinished campaign of that id if the declaration is still the same, and is
  refused otherwise; `plan --campaign ID` tells what that would do.
"""
_TAIL = """\
## Completion

`drysweep --install-completion` has the shell that it is called from complete commands, options, sweeps and campaigns.
"""


def page() -> str:
    """Return the page: all commands in their order, the same text whenever the commands are the same."""
    from drysweep_pipeline.cli.app import app

    root = typer.main.get_command(app)
    context = _context(root, None, "drysweep")
    parts = [_HEAD, *(line for command in _commands(context) for line in command), _TAIL]
    return "\n".join(parts)


def _context(command: Any, parent: Any, name: str) -> Any:
    return command.context_class(command, info_name=name, parent=parent, **command.context_settings)


def _commands(context: Any) -> Iterator[list[str]]:
    """Yield what is said of a command, and then of those below it."""
    below = getattr(context.command, "commands", {})
    if context.parent is None:
        yield ["## Commands\n", *_options(context)]
    elif not below:
        yield _command(context)
    else:
        yield [f"### drysweep {context.info_name}\n", f"{context.command.help}\n"]
    for name, command in below.items():
        yield from _commands(_context(command, context, name))


def _command(context: Any) -> list[str]:
    said, _, example = (context.command.help or "").partition("Example: ")
    usage = " ".join(context.get_usage().removeprefix("Usage:").split())
    level = "###" if context.parent.parent is None else "####"
    shown = f"{usage}\n\n{example.strip()}" if example else usage
    return [f"{level} {context.command_path}\n", f"{said.strip()}\n", f"```text\n{shown}\n```\n", *_options(context)]


def _options(context: Any) -> list[str]:
    rows = [record for each in context.command.get_params(context) if (record := _record(each, context)) is not None]
    if not rows:
        return []
    return ["| | |\n| --- | --- |\n" + "".join(f"| {code(name)} | {help} |\n" for name, help in rows)]


def _record(parameter: Any, context: Any) -> tuple[str, str] | None:
    """Return an option or argument with what is said of it; the same of every command is said once, above."""
    if "--help" in parameter.opts and context.parent is not None:
        return None
    name, help = parameter.get_help_record(context) or (parameter.make_metavar(context), parameter.help or "")
    said = re.sub(r"\s+", " ", help).replace("|", "\\|").strip()
    return re.sub(r"\s+", " ", name), said.replace("[required]", "Required.")


def main() -> None:
    """Write the page to stdout."""
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
