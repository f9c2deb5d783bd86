"""The page of errors has every code that a command may say, with the exit code that it comes with."""

import re
from collections.abc import Iterator
from pathlib import Path

from drysweep_pipeline.cli import refusing
from drysweep_pipeline.errors import DrysweepError

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
# What is no error that is raised, but how a command was called or ended.
_OTHERS = {"usage": refusing.USAGE, "unexpected": refusing.UNEXPECTED, "interrupted": refusing.INTERRUPTED}


def _classes(of: type[DrysweepError]) -> Iterator[type[DrysweepError]]:
    """Yield the conditions that there are: what a module derives from one of them for itself has that one's code."""
    yield of
    for each in of.__subclasses__():
        if each.__module__ == DrysweepError.__module__:
            yield from _classes(each)


def test_the_page_of_errors_has_every_code_and_no_other_with_its_exit_code() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (\d+) \| .* \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    raised = {each.code: each.exit_code for each in _classes(DrysweepError)}
    assert {code: int(exit_code) for code, exit_code in rows} == raised | _OTHERS


def test_no_two_conditions_have_one_code() -> None:
    codes = [each.code for each in _classes(DrysweepError)] + list(_OTHERS)
    assert len(codes) == len(set(codes))
