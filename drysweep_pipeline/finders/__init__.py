"""The kinds of finder. A new kind is one file here, one line in ``FINDERS``, its model in the declaration, one test."""

from collections.abc import Mapping

from drysweep_pipeline.finders import scripted, sql
from drysweep_pipeline.finders.request import Finder, Found, Request

FINDERS: Mapping[str, Finder] = {
    "sql": sql.search,
    "scripted": scripted.search,
}

__all__ = ["FINDERS", "Finder", "Found", "Request"]
