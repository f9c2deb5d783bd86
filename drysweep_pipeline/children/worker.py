"""Run as a script in a child process: calls a declared function, to search or to judge, and writes what it says.

The first line of stdin is a JSON object with ``does``, ``call``, ``path`` and ``database``. Where it says ``judge``,
each further line is a question with ``id``, ``finding``, ``member`` and ``seed``, answered by a line. Where it says
``search``, the function is called once with ``angle`` and ``seed``: its findings are lines, or where it gives a table
an Arrow file at ``table``, and the mark of a complete output is last. What the function prints goes to stderr, so that
it cannot be taken for an answer. Imports nothing of drysweep, so that it starts fast and finds what people wrote.
"""

import importlib
import inspect
import json
import os
import random
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import ModuleSpec, all_suffixes
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import IO, Any

PATH = Path(__file__)
# So that two of them fit into a line, however they are escaped. Nothing is made shorter than that here: whoever reads
# it knows what is secret, and would not know half of it.
_SENT_CHARACTERS = 150_000
_FLUSHED_ONE_BY_ONE = 1000
_FLUSHED_TOGETHER = 100


class Material:
    """The snapshot that is searched, to be looked at: its tables, and the text of its files."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._connection: Any = None
        self._copy: Path | None = None

    @property
    def path(self) -> Path:
        """A folder with the text files of the snapshot, laid out for this process alone when it is first asked for."""
        if self._copy is None:
            copy = Path(os.environ["TMPDIR"]).resolve() / "material"
            copy.mkdir()
            for row in self.query("select path, text from files where text is not null"):
                _lay_out(copy, row["path"], row["text"])
            for folder in (*(path for path in copy.rglob("*") if path.is_dir()), copy):
                folder.chmod(0o500)
            self._copy = copy
        return self._copy

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


class _Unlisted:
    """Finds modules in a folder that may be read from and not listed, which is what is left of one with the home in it.

    Python's own finder lists a folder, and takes one that it may not list for empty.
    """

    def __init__(self, folder: str) -> None:
        """Raise ``ImportError``, which leaves the folder to other finders, where it can be listed."""
        try:
            os.listdir(folder)  # noqa: PTH208 - nothing is to be made of it
        except PermissionError:
            self._folder = folder
        except OSError:
            raise ImportError from None
        else:
            raise ImportError

    def find_spec(self, name: str, target: Any = None) -> Any:
        """Return where a module is, None where it is not here."""
        place = Path(self._folder, name.rpartition(".")[2])
        if (place / "__init__.py").is_file():
            return spec_from_file_location(name, place / "__init__.py", submodule_search_locations=[str(place)])
        files = (place.with_name(place.name + suffix) for suffix in all_suffixes())
        file = next((file for file in files if file.is_file()), None)
        if file is not None:
            return spec_from_file_location(name, file)
        if not place.is_dir():
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec


def main() -> None:
    """Take the pipes for ourselves, import the function, and have it search or answer questions."""
    asked = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    begin = json.loads(asked.readline())
    try:
        sys.path[:0] = begin["path"]
        sys.path_hooks.insert(0, _Unlisted)
        sys.path_importer_cache.clear()
        function = _function(begin["call"])
        wanted = _wanted(function)
    except BaseException as error:
        before, value, after = _told(error)
        failed = _failed([f"{begin['call']} cannot be called: {before}", value, after])
        _put(answers, failed if begin["does"] == "search" else {"cannot": [before, value, after]})
        return
    material = Material(begin["database"])
    if begin["does"] == "search":
        _search(answers, begin, function, material)
        return
    _put(answers, {"ready": True})
    _answer(asked, answers, function, wanted, material)


def _search(answers: IO[str], begin: Mapping[str, Any], find: Callable[..., Any], material: Material) -> None:
    """Write a line for each thing that a function finds, and the mark of the end once there is no more."""
    out = _Findings(answers)
    random.seed(begin["seed"])
    try:
        rng = random.Random(begin["seed"])  # noqa: S311 - variation, not secrecy
        found = find(material, begin["angle"], rng)
        table = _as_table(found)
        if table is not None:
            _write_table(table, begin["table"])
            out.end({"drysweep": "table", "count": table.num_rows})
        for item in _items(found) if table is None else ():
            out.add(item)
    except BaseException as error:
        out.end(_failed(_told(error)))
    out.end({"drysweep": "end", "count": out.count})


def _failed(why: list[str]) -> dict[str, Any]:
    return {"drysweep": "failed", "reason": why}


class _Unlike(TypeError):
    """A value is not what it has to be; it is told in parts, because who shows it makes it shorter."""

    def __init__(self, before: str, value: Any, after: str) -> None:
        self.parts = [before, repr(value)[:_SENT_CHARACTERS], after]
        super().__init__("".join(self.parts))


class _Findings:
    """The lines of a search, as they come; nothing but the mark of the end follows them."""

    def __init__(self, answers: IO[str]) -> None:
        self.count = 0
        self._answers = answers
        self._own = os.getpid()

    def add(self, item: Any) -> None:
        self._check_own()
        self.count += 1
        self._answers.write(_row(item, self.count) + "\n")
        # What was found before a function hangs or dies is to be known, and flushing each of very many is slow.
        if self.count < _FLUSHED_ONE_BY_ONE or self.count % _FLUSHED_TOGETHER == 0:
            self._answers.flush()

    def end(self, mark: dict[str, Any]) -> None:
        """Write the last line and end the process, whatever threads the function left behind."""
        self._check_own()
        sys.stdout.flush()
        sys.stderr.flush()
        _put(self._answers, mark)
        os._exit(0)

    def _check_own(self) -> None:
        if os.getpid() != self._own:  # a fork of us that the function left behind
            os._exit(0)


def _items(found: Any) -> Iterable[Any]:
    if found is None or isinstance(found, str | bytes | Mapping) or not isinstance(found, Iterable):
        raise _Unlike("returned ", found, "; a function that searches returns an iterable of dictionaries")
    return found


def _row(item: Any, number: int) -> str:
    """Return a finding as a line; where it cannot be written as one, a line that says so."""
    try:
        if not isinstance(item, Mapping):
            raise _Unlike("", item, " is no dictionary")
        row = dict(item)
        other = [key for key in row if not isinstance(key, str)]
        if other:
            raise _Unlike("the key ", other[0], " is no text")
        if "drysweep" in row:
            raise TypeError("the key 'drysweep' is not accepted from a finder")
        return json.dumps(row, allow_nan=False, default=_plain)
    except Exception as error:
        before, value, after = error.parts if isinstance(error, _Unlike) else (str(error)[:_SENT_CHARACTERS], "", "")
        return json.dumps({"drysweep": "refused", "reason": [f"finding {number}: {before}", value, after]})


def _plain(value: Any) -> Any:
    """Return what JSON has no way to write as what is nearest to it."""
    import datetime
    import decimal
    import uuid

    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal | uuid.UUID | os.PathLike):
        return str(value)
    raise TypeError(f"a value of the type {type(value).__name__} cannot be reported")


def _as_table(found: Any) -> Any:
    """Return what a function gave as an Arrow table, None where it is none."""
    if isinstance(found, Mapping | list | tuple):
        return None
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(found, pandas.DataFrame):
        import pyarrow

        return pyarrow.Table.from_pandas(found, preserve_index=False).replace_schema_metadata()
    if hasattr(found, "__arrow_c_stream__"):
        import pyarrow

        return pyarrow.table(found)
    return None


def _write_table(table: Any, path: str) -> None:
    import pyarrow

    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def _lay_out(copy: Path, name: str, text: str) -> None:
    path = copy / name
    if not path.resolve().is_relative_to(copy):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    path.chmod(0o400)


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
        raise _Unlike("returned ", said, "; a verdict is confirmed, rejected or undecided")
    told = None if reason is None else str(reason)[:_SENT_CHARACTERS]
    return {"verdict": None if said is None else str(said), "reason": told, **named}


def _told(error: BaseException) -> list[str]:
    """Return an exception in three parts, with a value in the middle, and the last place of it that is not ours."""
    if isinstance(error, _Unlike):
        before, value, after = error.parts
        return [f"TypeError: {before}", value, after]
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""  # noqa: PTH119
    try:
        what = f"{type(error).__name__}: {error}"
    except Exception:  # its text is as broken as it is
        what = type(error).__name__
    return [what[:_SENT_CHARACTERS], "", place]


def _put(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
