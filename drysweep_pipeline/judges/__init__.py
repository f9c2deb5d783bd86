"""The kinds of judge. A new kind is one file here, one line in ``JUDGES``, its model in the declaration, one test."""

from collections.abc import Mapping

from drysweep_pipeline.judges import scripted, sql
from drysweep_pipeline.judges.question import Judge, Question, Ruling

JUDGES: Mapping[str, Judge] = {
    "sql": sql.rule,
    "scripted": scripted.rule,
}

__all__ = ["JUDGES", "Judge", "Question", "Ruling"]
