"""Everything drysweep refuses or gives up on, one class a condition.

    DrysweepError
    ├── DeclarationError      a sweep, scenario or option cannot be taken as written
    ├── MaterialError         the material cannot be reached or frozen
    ├── FinderError           a finder did not run to its end
    │   └── RowsRefused       what it returned cannot be taken in; a retry cannot mend that
    ├── Refused               a move that the rules do not allow
    │   ├── NotFound          no such sweep, campaign or finding
    │   └── RoundGap          a round before the one that is due, or beyond it
    ├── IntegrityError        landed files or the ledger are not what was recorded
    ├── SystemRefusal         the operating system refused: no room, no permission, too many open files
    └── Busy                  somebody else holds what is needed; try later

Each takes its culprits as data and says what, which, the effect and what helps, and has a ``code``: the word for its
condition, which programs may rely on. Stopping at a ceiling is a result, not an error: see ``values.Outcome``.
"""

from collections.abc import Sequence
from pathlib import Path

# How many of the names that there are an error tells.
_NAMED = 10


class DrysweepError(Exception):
    """The base of all that drysweep raises on purpose; ``exit_code`` is what the command line returns.

    ``each``: the problems one by one, where this is the first of several that were found at once.
    """

    exit_code = 1
    code = "failed"
    each: Sequence["DrysweepError"] = ()

    def __init__(
        self,
        what: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        key: str | None = None,
        help: str | None = None,
    ) -> None:
        self.what = what
        self.file = str(file) if file is not None else None
        self.line = line
        self.key = key
        self.help = help
        super().__init__(what)

    def __str__(self) -> str:
        where = self.file or ""
        if self.line is not None:
            where += f":{self.line}"
        named = self.key is None or _begins_with(self.what, self.key)
        parts = [f"{where}: " if where else "", "" if named else f"{self.key}: ", self.what]
        return "".join(parts) + (f" ({self.help})" if self.help else "")


def _begins_with(text: str, word: str) -> bool:
    """Tell whether a text begins with a word, and not only with its letters."""
    return text.startswith(word) and not text[len(word) : len(word) + 1].isalnum()


class DeclarationError(DrysweepError):
    """A sweep, scenario or option cannot be taken as written."""

    exit_code = 2
    code = "declaration"


class MaterialError(DrysweepError):
    """The material cannot be reached or frozen."""

    exit_code = 2
    code = "material"


class FinderError(DrysweepError):
    """A finder did not run to its end; ``status`` is the word recorded for the attempt."""

    code = "finder"

    def __init__(self, what: str, *, status: str = "failed", help: str | None = None) -> None:
        self.status = status
        super().__init__(what, help=help)


class RowsRefused(FinderError):
    """A finder returned rows that cannot be taken in; asking again would bring the same."""

    code = "rows"

    def __init__(self, what: str, *, help: str | None = None) -> None:
        super().__init__(what, status="refused", help=help)


class Refused(DrysweepError):
    """A move that the rules do not allow; nothing was changed."""

    exit_code = 2
    code = "refused"


class NotFound(Refused):
    """No such sweep, campaign or finding; names the nearest there is."""

    code = "not_found"

    def __init__(self, kind: str, name: str, known: list[str] | None = None, *, help: str | None = None) -> None:
        self.kind, self.name = kind, name
        names = known or []
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        shown = ", ".join(names[:_NAMED]) + more
        there_is = f"there is {shown}" if shown else f"there is no {kind} yet"
        super().__init__(f"no {kind} {name!r}", help=help or there_is)


class RoundGap(Refused):
    """A round was asked for that is not due: the rounds of a campaign have no gaps."""

    code = "round_gap"

    def __init__(self, campaign: str, asked: int, due: int | None) -> None:
        self.campaign, self.asked, self.due = campaign, asked, due
        next_one = f"round {due} is due" if due is not None else "none is due"
        super().__init__(f"campaign {campaign}: round {asked} cannot run, {next_one}")


class IntegrityError(DrysweepError):
    """A landed file or the ledger is not what was recorded; it is not read."""

    exit_code = 7
    code = "integrity"


class SystemRefusal(DrysweepError):
    """The operating system refused what was needed, such as room on the disk; what was landed is kept."""

    code = "system"


class Busy(DrysweepError):
    """Somebody else holds the file or the campaign; nothing was changed, try later."""

    exit_code = 75
    code = "busy"
