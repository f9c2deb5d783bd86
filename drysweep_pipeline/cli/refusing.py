"""How every command says that it did not do what was asked: one form for people, one JSON object for programs.

    error[declaration]: unknown key 'stratgies'
      --> sweep.yaml:4, stratgies
      help: did you mean 'strategies'?

The word in brackets is the error's ``code``. Nobody is shown a traceback who did not ask for one: what nobody expected
is kept in a file, and the file is named.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from drysweep_pipeline.errors import DrysweepError

INTERRUPTED = 130
USAGE = 2
UNEXPECTED = 1
TRACEBACK = "DRYSWEEP_TRACEBACK"
"""The variable that, set to anything, has the traceback of what nobody expected shown instead of kept."""
# So many problems of one declaration are shown; whoever has more mends these first.
_SHOWN = 20
_BOLD_RED, _BLUE, _CYAN, _PLAIN = "\x1b[1;31m", "\x1b[34m", "\x1b[36m", "\x1b[0m"


_goes_on: list[str] = []


@contextmanager
def going_on(how: str) -> Iterator[None]:
    """Have it said how things go on where somebody interrupts the block, or interrupts it again while it is left.

    It is no part of what is raised: Click keeps nothing of an interruption but the exit code, and a second one that
    comes while the first is dealt with takes its place.
    """
    _goes_on.append(how)
    yield
    _goes_on.clear()


def forget_how_it_goes_on() -> None:
    """Have nothing said of what an earlier command of this process was interrupted in."""
    _goes_on.clear()


@dataclass(frozen=True, slots=True)
class Refusal:
    """What is said of one thing that is wrong, whatever raised it."""

    code: str
    what: str
    file: str | None = None
    line: int | None = None
    key: str | None = None
    usage: str | None = None
    help: str | None = None

    @property
    def where(self) -> str:
        """File, line and key, as far as they are known."""
        place = f"{self.file}:{self.line}" if self.line is not None else self.file
        return ", ".join(part for part in (place, self.key) if part)


def refuse(error: DrysweepError, *, as_json: bool) -> int:
    """Say what drysweep refused or gave up on, and return the exit code; of several problems, each."""
    if as_json:
        _put_json(_of(error), problems=[_plain(_of(each)) for each in error.each])
    else:
        _complain([_of(each) for each in error.each or (error,)])
    return error.exit_code


def misused(error: Any, *, as_json: bool) -> int:
    """Say what is wrong with how a command was called, from an error of Click's, and return the exit code."""
    if type(error).__name__ == "NoArgsIsHelpError" and not as_json:
        sys.stderr.write(error.format_message() + "\n")
        return USAGE
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "drysweep"
    parameter = getattr(error, "option_name", None) or getattr(getattr(error, "param", None), "name", None)
    usage = None if context is None else " ".join(context.get_usage().removeprefix("Usage:").split())
    what = error.format_message() if type(error).__name__ != "NoArgsIsHelpError" else f"{command} needs a command"
    said = Refusal("usage", what.rstrip("."), key=parameter, usage=usage, help=f"{command} --help says what there is")
    if as_json:
        _put_json(said)
    else:
        # Which parameter it is stands in the message already.
        _complain([Refusal(said.code, said.what, usage=usage, help=said.help)])
    return USAGE


def no_text(given: Sequence[str]) -> str | None:
    """Return the first word of a command line that is no text, its bytes spelled out; None where all are."""
    for word in given:
        try:
            word.encode()
        except UnicodeEncodeError:
            # Half of a pair, which no shell passes on but a program may, stands for no byte of a name of a file.
            is_bytes = all(not "\ud800" <= character < "\udc80" for character in word)
            spelled = os.fsencode(word) if is_bytes else word.encode(errors="surrogatepass")
            return spelled.decode(errors="backslashreplace")
    return None


def unreadable(word: str, *, as_json: bool) -> int:
    """Say that a word of a command line is no text, and return the exit code."""
    said = Refusal("usage", f"what was given is no UTF-8: {word}", help="give it as UTF-8 text")
    if as_json:
        _put_json(said)
    else:
        _complain([said])
    return USAGE


def interrupted(*, as_json: bool) -> int:
    """Say that the work was interrupted and how it goes on, and return the exit code."""
    help = _goes_on[-1] if _goes_on else "`drysweep resume` goes on with a campaign that was under way"
    if as_json:
        _put_json(Refusal("interrupted", "interrupted", help=help))
    sys.stderr.write(f"interrupted; {help}\n")
    return INTERRUPTED


def unexpected(error: Exception, given: Sequence[str], *, as_json: bool) -> int:
    """Say that something happened that nobody expected, keep its traceback in a file, and return the exit code."""
    import traceback

    from drysweep_pipeline.redaction import hidden, without_secrets

    masked = without_secrets(error)
    told = hidden("".join(traceback.format_exception(masked)))
    what = f"{type(error).__name__}: {hidden(str(masked)) or 'no reason given'}"
    if os.environ.get(TRACEBACK):
        sys.stderr.write(told)
        said = Refusal("unexpected", what, help="this is a fault of drysweep; report it with the traceback")
    else:
        kept = _kept(told, given)
        help = f"this is a fault of drysweep; the traceback is in {kept}" if kept else "the traceback cannot be kept"
        said = Refusal("unexpected", what, help=f"{help}, {TRACEBACK}=1 shows it")
    if as_json:
        _put_json(said)
    else:
        _complain([said])
    return UNEXPECTED


def of(error: DrysweepError) -> list[str]:
    """Return the lines that say what an error says, made safe, secrets masked."""
    return list(_lines(_of(error), lambda text, _: text))


def warning(text: str, file: str) -> list[str]:
    """Return the lines that warn of something in a file, in the form of an error's."""
    from drysweep_pipeline.redaction import hidden
    from drysweep_pipeline.reports.text import safe_text

    return [f"warning: {safe_text(hidden(text))}", f"  --> {safe_text(hidden(file))}"]


def _lines(said: Refusal, painted: Callable[[str, str], str]) -> Iterator[str]:
    from drysweep_pipeline.redaction import hidden
    from drysweep_pipeline.reports.text import safe_text

    yield f"{painted(f'error[{said.code}]', _BOLD_RED)}: {safe_text(hidden(said.what))}"
    if said.where:
        yield f"  {painted('-->', _BLUE)} {safe_text(hidden(said.where))}"
    for name, text in (("usage", said.usage), ("help", said.help)):
        if text:
            yield f"  {painted(name, _CYAN)}: {safe_text(hidden(text))}"


def _of(error: DrysweepError) -> Refusal:
    return Refusal(error.code, error.what, error.file, error.line, error.key, help=error.help)


def _complain(refusals: Sequence[Refusal]) -> None:
    for said in refusals[:_SHOWN]:
        for line in _lines(said, _painted):
            sys.stderr.write(line + "\n")
    if len(refusals) > _SHOWN:
        file = shlex.quote(refusals[0].file or "FILE")
        sys.stderr.write(f"and {len(refusals) - _SHOWN} more: drysweep validate {file} shows all\n")


def _put_json(said: Refusal, problems: Sequence[dict[str, Any]] = ()) -> None:
    from drysweep_pipeline.redaction import hidden_data

    told = {"schema_version": 1, **hidden_data(_plain(said))}
    if problems:
        told["problems"] = hidden_data(list(problems))
    sys.stdout.write(json.dumps(told, ensure_ascii=False) + "\n")


def _plain(said: Refusal) -> dict[str, Any]:
    """Return a refusal as JSON has it; the texts stay as they are, since JSON escapes what could steer a terminal."""
    where = {"file": said.file, "line": said.line, "key": said.key}
    return {"error": said.what, **where, "help": said.help, "code": said.code}


def _painted(text: str, colour: str) -> str:
    """Return a text in a colour where stderr is a terminal that has some, and nobody asked for none."""
    dumb = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
    return text if dumb or not sys.stderr.isatty() else f"{colour}{text}{_PLAIN}"


def _kept(text: str, given: Sequence[str]) -> str | None:
    """Keep a traceback in the home, or where temporary files go; return the file, or None where neither takes it."""
    import tempfile

    for folder in (_tracebacks(given), None):
        try:
            if folder is not None:
                folder.mkdir(mode=0o700, exist_ok=True)
            begin = f"drysweep-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-"
            descriptor, path = tempfile.mkstemp(".txt", begin, folder)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as out:
                out.write(text)
        except OSError:
            continue
        return path
    return None


def _tracebacks(given: Sequence[str]) -> Path | None:
    """Return the folder for tracebacks in the home that a command was called for; None where that is not there yet."""
    from drysweep_pipeline.cli.options import home_of

    named = [word.removeprefix("--home=") for word in given if word.startswith("--home=")]
    named += [after for word, after in pairwise(given) if word == "--home"]
    root = home_of(Path(named[-1]) if named else None).root
    return root / "tracebacks" if root.is_dir() else None
