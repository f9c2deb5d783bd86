"""Whatever a child prints is taken, refused or not complete: no line of it is lost, and none of it is an exception."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drysweep_pipeline import candidates
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders import sarif
from drysweep_pipeline.finders.jsonl import Lines

# Other processes may keep the machine busy.
FEW = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FIELDS = ("service", "failure_mode")
KEYS = (*FIELDS, "line", "severity", "path", "drysweep", "count", "usage", "title", "Fp", "state")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner, max_size=5),
    max_leaves=12,
)
LINES = st.lists(
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"")) | VALUES.map(lambda v: json.dumps(v).encode())
)
NAMES = """
ruleId rule ruleIndex level kind message text id arguments locations physicalLocation artifactLocation uri
uriBaseId index region startLine snippet logicalLocations fullyQualifiedName partialFingerprints suppressions
tool driver rules extensions toolComponent results invocations executionSuccessful toolExecutionNotifications
originalUriBaseIds artifacts location defaultConfiguration messageStrings
"""
WORDS = st.sampled_from(NAMES.split())
PARTS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["error", "file:///a", "http://[", "{0}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=40,
)
RESULTS = st.lists(st.dictionaries(WORDS, PARTS, max_size=6), max_size=3)
RUNS = st.dictionaries(WORDS, PARTS, max_size=8) | st.fixed_dictionaries({"results": RESULTS, "invocations": PARTS})


@FEW
@given(LINES)
def test_every_line_before_a_failure_lands_or_is_refused(tmp_path_factory: Any, printed: list[bytes]) -> None:
    said: list[Any] = []
    with suppress(FinderError):
        for row in Lines(printed, 5, "/tmp/material"):
            said.append(row)
    table = candidates.prepare(said, FIELDS)
    path: Path = tmp_path_factory.getbasetemp() / "printed.parquet"
    taken = candidates.land_prepared(table, "one", FIELDS, path)
    assert taken.rows + taken.refused == len(said)
    again = candidates.land_prepared(candidates.merged([table, table]), "one", FIELDS, path)
    assert again.rows <= taken.rows


@FEW
@given(st.lists(RUNS, max_size=2))
def test_every_result_of_a_log_is_read_or_refused(runs: list[Any]) -> None:
    read = sarif.runs_of(json.dumps({"version": sarif.VERSION, "runs": runs}).encode())
    found = list(sarif.rows(read, 100, "/tmp/material"))
    assert candidates.prepare(found, ("path", "kind")).num_rows == len(found)
    for allow_bare in (False, True):
        sarif.incomplete(read, allow_bare)
