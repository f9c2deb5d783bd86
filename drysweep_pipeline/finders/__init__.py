"""The kinds of finder. A new kind is one file here, one line in ``FINDERS``, its model in the declaration, one test."""

from collections.abc import Mapping

from drysweep_pipeline.finders import command, http, llm, python, scripted, sql
from drysweep_pipeline.finders.request import Finder, Found, Request

FINDERS: Mapping[str, Finder] = {
    "sql": sql.search,
    "command": command.search,
    "python": python.search,
    "http": http.search,
    "llm": llm.search,
    "scripted": scripted.search,
}
READ_FILES = ("command", "python")
"""The kinds that look at the files of a snapshot, of which they are given those that it has the text of."""

__all__ = ["FINDERS", "READ_FILES", "Finder", "Found", "Request"]
