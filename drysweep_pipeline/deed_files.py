"""Deeds as people write them down: files of mixed actions, files of the entries of one act, and the same as mappings.

The shapes are those of a scenario's actions. Only the form is known here; whether a finding can make the move is for
the rules to say when the deeds are done.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from drysweep_pipeline.declaration.model import Part
from drysweep_pipeline.declaration.notation import Day, Text
from drysweep_pipeline.declaration.refusals import Problem, Written, did_you_mean, in_file_order, problems, shown
from drysweep_pipeline.declaration.yaml_reader import Document, Keys, read_yaml
from drysweep_pipeline.engine.deeds import Asked
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.lifecycle import Act, Deed


class _Deed(Part):
    """What every act may say; the finding is one, or several."""

    finding: Text | None = None
    findings: tuple[Text, ...] | None = Field(default=None, min_length=1)
    by: Text | None = None
    reason: Text | None = None
    evidence: Text | None = None


class _Named(_Deed):
    """An act that somebody answers for by name."""

    by: Text


class _Fix(_Deed):
    revision: Text | None = None
    scope: Text | None = None


class _Contest(_Named):
    evidence: Text


class _AcceptRisk(_Named):
    expires: Day = None


ACTS: Mapping[str, type[_Deed]] = {
    Act.FIX: _Fix,
    Act.CONTEST: _Contest,
    Act.ACCEPT_RISK: _AcceptRisk,
    Act.DECLINE: _Deed,
    Act.ESCALATE: _Deed,
    Act.CONFIRM: _Named,
    Act.WITHDRAW: _Named,
}
"""The acts that people do, and the keys that each of them has."""
_NO_GIVEN: Mapping[str, Any] = {}
_HELP = "each action is an entry of the list by itself, such as `- fix: api/no_owner`"


def read_actions(path: Path, text: str | None = None, given: Mapping[str, Any] = _NO_GIVEN) -> list[Asked]:
    """Read a file of mixed actions, each a mapping of its act to a finding or to the act's keys.

    ``text`` stands in for what the file holds; ``given`` are values for the keys that an action leaves out.
    Raises ``DeclarationError``, with file, line and key, for the first wrong thing, saying how many more there are.
    """
    written = _list(path, text, "of actions", _HELP)
    read = [_action(written, (index,), each, given) for index, each in enumerate(written.data)]
    return _whole(written, read)


def read_entries(path: Path, act: Act, text: str | None = None, given: Mapping[str, Any] = _NO_GIVEN) -> list[Asked]:
    """Read a file of one act's entries, each a finding or a mapping of the act's keys; like ``read_actions``."""
    written = _list(path, text, "of findings", f"each entry is a finding, or a mapping of the keys of {act}")
    read = [_entry(written, (index,), act, each, given) for index, each in enumerate(written.data)]
    return _whole(written, read)


def asked(act: str, given: Mapping[str, Any], above: Keys = ()) -> list[Asked]:
    """Return what one action asks for that is no file's; ``given`` are the keys of its act, ``above`` is what it is in.

    Raises ``DeclarationError``, with the key, where the act does not have such a key or lacks one.
    """
    written = Written(Path(), [given], _Deed, None, above)
    found, wrong = _action(written, (), {act: dict(given)}, _NO_GIVEN)
    if wrong:
        first = in_file_order(written, wrong)[0]
        raise DeclarationError(first.what, key=first.key, help=first.help)
    return [Asked(each.finding, each.deed) for each in found]


_Read = tuple[list[Asked], list[Problem]]


def _list(path: Path, text: str | None, of: str, help: str) -> Written:
    document = _read(path, text)
    if not isinstance(document.data, list):
        raise DeclarationError(f"expected a list {of}, got {shown(document.data)}", file=path, line=1, help=help)
    if not document.data:
        raise DeclarationError(f"the list {of} is empty", file=path, line=1, help=help)
    return Written(path, document.data, _Deed, document)


def _read(path: Path, text: str | None) -> Document:
    try:
        return read_yaml(path, text)
    except DeclarationError as error:
        # Evidence is written file:LINE, which the reader of YAML takes outside of braces only.
        if error.help is None and error.what.endswith("unexpected ':'"):
            help = "inside of braces, a text with a colon stands in quotes"
            raise DeclarationError(error.what, file=error.file, line=error.line, key=error.key, help=help) from None
        raise


def _whole(written: Written, read: list[_Read]) -> list[Asked]:
    """Return all that is asked. Raises the first refusal, in the order of the file, where anything is wrong."""
    refusals = in_file_order(written, [problem for _, wrong in read for problem in wrong])
    if not refusals:
        return [each for asked, _ in read for each in asked]
    first, more = refusals[0], len(refusals) - 1
    others = f"{more} more wrong in this file" if more else None
    help = "; ".join(part for part in (first.help, others) if part) or None
    raise DeclarationError(first.what, file=first.file, line=first.line, key=first.key, help=help)


def _action(written: Written, keys: Keys, data: Any, given: Mapping[str, Any]) -> _Read:
    """Return the deeds of one action, or what is wrong with it."""
    if not isinstance(data, dict) or len(data) != 1:
        got = f"{len(data)} keys" if isinstance(data, dict) else shown(data)
        return [], [Problem(keys, written.refusal(keys, f"expected one action, got {got}", _HELP))]
    [(name, body)] = data.items()
    if name not in ACTS:
        place = (*keys, name)
        return [], [
            Problem(place, written.refusal(place, f"unknown action {shown(name)}", did_you_mean(name, map(str, ACTS))))
        ]
    known = {key: value for key, value in given.items() if key in ACTS[name].model_fields}
    return _entry(written, (*keys, name), Act(name), body, known)


def _entry(written: Written, keys: Keys, act: Act, body: Any, given: Mapping[str, Any]) -> _Read:
    """Return the deeds that the body of an act stands for, or what is wrong with it."""
    said = body if isinstance(body, dict) else {"finding": body}
    data = {**given, **{key: value for key, value in said.items() if value is not None or key not in given}}
    here = Written(written.file, data, ACTS[act], written.document, (*written.above, *keys))
    try:
        deed = ACTS[act].model_validate(data)
    except ValidationError as error:
        found = [_as_written(written, keys, problem, body) for problem in problems(error, here)]
        return [], found
    if (deed.finding is None) == (deed.findings is None):
        what = "names no finding" if deed.finding is None else "'finding' and 'findings' stand side by side"
        return [], [Problem(keys, written.refusal(keys, what, "write finding: LABEL, or findings: [LABEL, LABEL]"))]
    return _asked(written, keys, act, deed), []


def _as_written(written: Written, keys: Keys, problem: Problem, body: Any) -> Problem:
    """Return a problem at the key that people wrote; a finding that stands for its act has no key of its own."""
    short = not isinstance(body, dict) and problem.keys == ("finding",)
    place = keys if short else (*keys, *problem.keys)
    # The beginning of a fingerprint may read as a number, such as 12e456.
    help = problem.refusal.help or ("in quotes it is text" if isinstance(body, float) else None)
    return Problem(place, written.refusal(place, problem.refusal.what, help))


def _asked(written: Written, keys: Keys, act: Act, said: _Deed) -> list[Asked]:
    deed = Deed(
        act,
        said.by,
        said.evidence,
        said.reason,
        getattr(said, "expires", None),
        getattr(said, "revision", None),
        getattr(said, "scope", None),
    )
    if said.finding is not None:
        return [Asked(said.finding, deed, written.file, _line(written, (*keys, "finding")))]
    several = enumerate(said.findings or ())
    return [Asked(name, deed, written.file, _line(written, (*keys, "findings", index))) for index, name in several]


def _line(written: Written, keys: Keys) -> int | None:
    return written.document.line(keys) if written.document else None
