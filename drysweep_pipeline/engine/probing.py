"""Probing: every strategy looks twice at one snapshot, at one angle and with one seed, and is compared with itself.

No campaign is recorded, nothing is taken in and nobody judges; of all of it only the snapshot stays on disk.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drysweep_pipeline import candidates, sandbox
from drysweep_pipeline.budget import free_meter
from drysweep_pipeline.children.program import scratch_folder
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.model import ScriptedMaterial, SqlStrategy, Strategy
from drysweep_pipeline.engine.asking import Asking, land
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.repeats import repeatable
from drysweep_pipeline.engine.stability import Compared, Identity, Steady, compare
from drysweep_pipeline.errors import DeclarationError, FinderError, Refused, RowsRefused
from drysweep_pipeline.finders import Found
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import ONE_CALL, Usage
from drysweep_pipeline.variation import look

if TYPE_CHECKING:
    import pyarrow as pa

LOOKS = 2
# What a strategy is told that asks; no campaign of this name is recorded.
_CAMPAIGN = "probe"
_IDENTITIES = "select distinct identity from read_parquet(?, hive_partitioning = false)"
_NAMED = 1000
# By the time that rows are prepared, these have been taken from the fingerprint's first and last field where they were
# not given.
_FILLED_IN = ("subject", "kind")


class Probed(StrEnum):
    """What became of a strategy that was probed."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    CHANCE = "chance"
    DIFFERENT = "different"
    EMPTY = "empty"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Looked:
    """One look: the identities of what it found, what it named, rows refused, and why it is not whole, if it is not."""

    found: frozenset[Identity] = frozenset()
    named: frozenset[str] = frozenset()
    refused: int = 0
    reason: str | None = None
    usage: Usage = ONE_CALL


@dataclass(frozen=True, slots=True)
class Probe:
    """A strategy's two looks beside each other.

    ``may_differ``: nobody declared that it finds the same again. ``unnamed`` are the fields of a finding that it never
    gave: severities, titles and the like then have their defaults.
    """

    strategy: str
    kind: str
    became: Probed
    may_differ: bool
    usage: Usage
    compared: Compared | None = None
    refused: int = 0
    reason: str | None = None
    named: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    @property
    def wrong(self) -> bool:
        """Whether a campaign would suffer from it: it does not run, or it is not what it is declared to be."""
        differs = self.became in (Probed.UNSTABLE, Probed.DIFFERENT) and not self.may_differ
        return differs or self.became in (Probed.FAILED, Probed.REFUSED)

    @property
    def sentence(self) -> str:
        """What came of it, and what helps."""
        return f"{self.strategy}: {self.became}, {_said(self)}"


def frozen(home: Home, declaration: Declaration, as_of: datetime) -> Snapshot:
    """Freeze the material of a sweep, as a campaign would. Raises ``DeclarationError`` for a script, which has none."""
    material = declaration.sweep.material
    if isinstance(material, ScriptedMaterial):
        raise DeclarationError(
            "a script says what it finds, so that there is nothing to probe", file=declaration.path, key="material.kind"
        )
    return freeze(material, declaration.base, as_of, home.sweep(declaration.sweep.name).snapshots, home.root)


def probe(home: Home, declaration: Declaration, snapshot: Snapshot, as_of: datetime) -> Iterator[Probe]:
    """Have every strategy of a sweep look twice at a snapshot, one after the other, and yield what came of each."""
    asker = Campaign(home.sweep(declaration.sweep.name), _CAMPAIGN, 0, as_of, as_of, declaration)
    for strategy in declaration.sweep.asked(1):
        redactor = redactor_of(asker)
        looks = [_look(asker, strategy, snapshot) for _ in range(LOOKS)]
        looks = [replace(each, reason=redactor.maybe(each.reason)) for each in looks]
        yield _probed(declaration.sweep.fingerprint.fields, strategy, *looks)


def _look(asker: Campaign, strategy: Strategy, snapshot: Snapshot) -> Looked:
    """Look once, over copies of its own: a path into them is one of the things that are not the same twice."""
    sweep = asker.declaration.sweep
    asked = look(strategy, sweep.name, asker.id, 1, 0)
    meter = free_meter(strategy.worst)
    usage = meter.reserved
    try:
        with Asking(asker, 1, snapshot) as asking, asking.children:
            found = asking.search(strategy, asked, meter)
        usage = meter.reserved if found.usage is None else found.usage
        with scratch_folder() as folder:
            taken, identities = _landed(found, strategy, sweep.fingerprint.fields, folder / "probe.parquet")
    except FinderError as error:
        return Looked(refused=int(isinstance(error, RowsRefused)), reason=str(error), usage=usage)
    except Exception as error:  # a finder's own bug is that finder's failure, as in a wave
        return Looked(reason=repr(error), usage=usage)
    first = taken.first_refused[0] if taken.first_refused else None
    refusal = f"row {first.row}: {first.reason}" if first else None
    failure = str(found.failure) if found.failure is not None else None
    return Looked(
        identities, frozenset(_named(found, sweep.fingerprint.fields)), taken.refused, failure or refusal, usage
    )


def _landed(
    found: Found, strategy: Strategy, fields: tuple[str, ...], path: Path
) -> tuple[candidates.Taken, frozenset[Identity]]:
    """Land what a look reported for as long as it takes to read how intake would tell it apart."""
    taken = land(found, strategy, fields, path)
    with scratch() as connection:
        rows = connection.execute(_IDENTITIES, [str(path)]).fetchall()
    return taken, frozenset(
        tuple(json.dumps(part, ensure_ascii=False) for part in json.loads(row)[1:]) for (row,) in rows
    )


def _named(found: Found, fields: tuple[str, ...]) -> Iterator[str]:
    """Yield the fields that a look gave, as the strategy names them."""
    if found.table is not None:
        yield from found.table.column_names
    elif found.prepared is not None:
        table = found.prepared.slice(0, _NAMED)
        standard = (name for name in candidates.STANDARD if name not in _FILLED_IN)
        yield from (name for name in standard if table[name].null_count < table.num_rows)
        attributes = [json.loads(text) if text else {} for text in table["attributes"].to_pylist()]
        yield from (name for each in attributes for name in each)
        first_and_last = zip(_FILLED_IN, (fields[0], fields[-1]), strict=True)
        yield from (name for name, filled_from in first_and_last if _gave(name, filled_from, table, attributes))
    else:
        yield from (name for row in found.rows or () for name in row)


def _gave(name: str, filled_from: str, table: "pa.Table", attributes: list[dict[str, Any]]) -> bool:
    """Tell whether a strategy gave a field that would else be filled in from a field of the fingerprint."""
    if name == filled_from:
        return bool(table.num_rows)
    if filled_from in table.column_names:
        source = table[filled_from].to_pylist()
    else:
        source = [each.get(filled_from) for each in attributes]
    return any(
        value is not None and value != str(of) for value, of in zip(table[name].to_pylist(), source, strict=True)
    )


def _probed(fields: tuple[str, ...], strategy: Strategy, first: Looked, second: Looked) -> Probe:
    may_differ = _may_differ(strategy)
    compared = compare(fields, first.found, second.found, chance=may_differ)
    reasons = [each.reason for each in (first, second) if each.reason is not None]
    refused = first.refused + second.refused
    named = first.named | second.named
    return Probe(
        strategy.name,
        strategy.kind,
        _became(compared, may_differ=may_differ, refused=refused, failed=bool(reasons)),
        may_differ,
        first.usage + second.usage,
        compared,
        refused,
        reasons[0] if reasons else None,
        tuple(sorted(named)),
        tuple(name for name in candidates.STANDARD if named and name not in (*named, *_FILLED_IN)),
    )


def _became(compared: Compared, *, may_differ: bool, refused: int, failed: bool) -> Probed:
    if failed:
        return Probed.REFUSED if refused else Probed.FAILED
    if compared.steady is Steady.DIFFERENT:
        return Probed.CHANCE if may_differ else Probed.DIFFERENT
    return Probed(compared.steady.value)


def _may_differ(strategy: Strategy) -> bool:
    """Tell whether a strategy may find others at the same angle, with the same seed."""
    if not isinstance(strategy, SqlStrategy):
        return not repeatable(strategy)
    try:
        return bool(sandbox.unsteady(strategy.query.text))
    except Refused:
        return False  # it fails, which is told


def _said(told: Probe) -> str:
    compared = told.compared
    assert compared is not None, "two looks were compared, whatever became of them"
    many = f"{compared.first} and {compared.second} findings"
    match told.became:
        case Probed.FAILED:
            return f"it did not run to its end: {told.reason}"
        case Probed.REFUSED:
            return f"what it gives cannot be taken in, so that it would be not_run: {told.reason}"
        case Probed.EMPTY:
            return "both looks found nothing, so that nothing is known of its fingerprints"
        case Probed.STABLE:
            return f"both looks found the same {compared.first}"
        case Probed.UNSTABLE:
            return _unstable(compared, told.may_differ)
        case Probed.CHANCE:
            both = compared.first - compared.only_first
            return f"{many}, {both} of them the same; it is not declared deterministic, and no field explains it"
        case _:
            return f"{many}, and {compared.of} of them differ, though at one angle and seed it is to find the same"


def _unstable(compared: Compared, may_differ: bool) -> str:
    assert compared.example is not None, "fields that differ have an example"
    names = ", ".join(compared.fields)
    was, became = (", ".join(values) for values in compared.example)
    paired = f"`{names}` differs: {was} and {became}; {compared.pairs} of {compared.of} findings pair up but for this"
    lever = "take it out of the fingerprint, or have it written in one way"
    return f"{paired}; {lever}" + (", unless chance picks others each time" if may_differ else "")


def as_json(probes: Iterable[Probe]) -> list[dict[str, object]]:
    """Return probes as commands print them."""
    return [
        {
            "strategy": each.strategy,
            "kind": each.kind,
            "became": each.became.value,
            "wrong": each.wrong,
            "deterministic": not each.may_differ,
            "found": [each.compared.first, each.compared.second] if each.compared else None,
            "only_one_found": [each.compared.only_first, each.compared.only_second] if each.compared else None,
            "fields": list(each.compared.fields) if each.compared else [],
            "pairs": each.compared.pairs if each.compared else 0,
            "of": each.compared.of if each.compared else 0,
            "example": [list(values) for values in each.compared.example or ()] if each.compared else [],
            "refused": each.refused,
            "reason": each.reason,
            "columns": list(each.named),
            "missing": list(each.unnamed),
            "calls": each.usage.calls,
            "tokens": each.usage.tokens,
            "cost_usd": each.usage.cost_usd,
            "sentence": each.sentence,
        }
        for each in probes
    ]
