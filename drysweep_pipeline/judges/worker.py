"""Run as a script in a child process: calls a declared function with one finding after the other.

The first line of stdin is a JSON object with ``call``, ``path`` and ``database``, each further one a question with
``id``, ``finding``, ``member`` and ``seed``; each is answered by a line. What the function prints goes to stderr, so
that it cannot be taken for an answer. Imports nothing of drysweep, so that it starts fast and finds what people wrote.
"""

import importlib
import inspect
import json
import os
import random
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import IO, Any

_REASON_CHARACTERS = 2000


class Material:
    """The snapshot that is searched, to be looked at: its tables, and the text of its files."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._connection: Any = None

    def query(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """Return the rows of a query over the snapshot's tables, values bound for each ``?``."""
        cursor = self._opened().execute(sql, list(values))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def table(self, name: str) -> list[dict[str, Any]]:
        """Return all rows of one table of the snapshot. Raises ``KeyError`` where there is none of that name."""
        known = [row["name"] for row in self.query("select table_name as name from information_schema.tables")]
        if name not in known:
            raise KeyError(f"the snapshot has no table {name!r}; there is {', '.join(sorted(known))}")
        return self.query(f'from "{name}"')

    def text(self, path: str) -> str | None:
        """Return the text of a file; None where it is binary, unreadable or not there."""
        rows = self.query("select text from files where path = ?", path)
        return rows[0]["text"] if rows else None

    def _opened(self) -> Any:
        if self._database is None:
            raise LookupError("the material has no tables")
        if self._connection is None:
            import duckdb

            locked: Any = {"enable_external_access": False, "autoload_known_extensions": False}
            self._connection = duckdb.connect(self._database, read_only=True, config=locked)
            self._connection.execute("set TimeZone = 'UTC'")
        return self._connection


def main() -> None:
    """Take the pipes for ourselves, import the function, and answer until there are no more questions."""
    asked = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    begin = json.loads(asked.readline())
    try:
        sys.path[:0] = begin["path"]
        rule = _function(begin["call"])
        wanted = _wanted(rule)
    except BaseException as error:
        _put(answers, {"cannot": _told(error)})
        return
    _put(answers, {"ready": True})
    _answer(asked, answers, rule, wanted, Material(begin["database"]))


def _answer(
    asked: Iterable[str], answers: IO[str], rule: Callable[..., Any], wanted: set[str], material: Material
) -> None:
    own = os.getpid()
    for line in asked:
        question = json.loads(line)
        offered = {"member": question["member"], "seed": question["seed"]}
        random.seed(question["seed"])
        os.environ["DRYSWEEP_SEED"] = str(question["seed"])
        try:
            said = rule(question["finding"], material, **{name: offered[name] for name in wanted})
            answer = _answered(said)
        except BaseException as error:
            answer = {"failed": _told(error)}
        if os.getpid() != own:  # a fork of us that the function left behind
            os._exit(0)
        _put(answers, {"id": question["id"], **answer})


def _function(call: str) -> Callable[..., Any]:
    module, _, name = call.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{call} is not a function")
    return found  # type: ignore[no-any-return]


def _wanted(rule: Callable[..., Any]) -> set[str]:
    """Return which of ``member`` and ``seed`` a function takes by name."""
    try:
        parameters = inspect.signature(rule).parameters.values()
    except ValueError:  # of a function that is not written in Python
        return set()
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    named = {parameter.name for parameter in parameters if parameter.kind is not parameter.POSITIONAL_ONLY}
    return {name for name in ("member", "seed") if anything or name in named}


def _answered(said: Any) -> dict[str, Any]:
    """Return what a function returned as the parts of an answer."""
    reason, named = None, {}
    if isinstance(said, dict):
        named = {"fp": str(said["fp"])} if "fp" in said else {}
        said, reason = said.get("verdict"), said.get("reason")
    elif isinstance(said, tuple | list) and len(said) == 2:
        said, reason = said
    if said is not None and not isinstance(said, str):
        raise TypeError(f"returned {said!r:.100}; a verdict is confirmed, rejected or undecided")
    told = None if reason is None else str(reason)[:_REASON_CHARACTERS]
    return {"verdict": None if said is None else str(said), "reason": told, **named}


def _told(error: BaseException) -> str:
    """Return an exception in a line, with the last place of it that is not ours."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""  # noqa: PTH119
    try:
        what = f"{type(error).__name__}: {error}"
    except Exception:  # its text is as broken as it is
        what = type(error).__name__
    return what[:_REASON_CHARACTERS] + place


def _put(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
