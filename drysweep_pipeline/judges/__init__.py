"""The kinds of judge. A new kind is one file here, one line in ``JUDGES``, its model in the declaration, one test."""

from collections.abc import Mapping

from drysweep_pipeline.judges import command, http, llm, python, scripted, sql
from drysweep_pipeline.judges.question import Judge, Question, Ruling

JUDGES: Mapping[str, Judge] = {
    "sql": sql.rule,
    "command": command.rule,
    "python": python.rule,
    "http": http.rule,
    "llm": llm.rule,
    "scripted": scripted.rule,
}
PAID = ("command", "python", "http", "llm")
"""The kinds of which each answer costs something, and is kept from the moment it is given."""

__all__ = ["JUDGES", "PAID", "Judge", "Question", "Ruling"]
