"""What lies beside the history and a report may use while it is still there: snapshots, records, state files."""

import shlex
from collections.abc import Collection, Iterator, Sequence

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.declaration.model import RegistryMaterial, Sweep
from drysweep_pipeline.durable import read_json
from drysweep_pipeline.engine import journal, judging
from drysweep_pipeline.engine.campaign import Campaign, find
from drysweep_pipeline.engine.quality import merged_by
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.remarks import denied_reads, noted
from drysweep_pipeline.engine.repeats import turns_left
from drysweep_pipeline.engine.state import queued_behind, read_states
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.material.registry import KEYED_TABLES
from drysweep_pipeline.material.snapshot import MANIFEST
from drysweep_pipeline.notifications import record
from drysweep_pipeline.outlook import Course, Round
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.reports.waiting import Stand
from drysweep_pipeline.values import Outcome


def unread(home: Home, sweep: str, campaign: str, rounds: Sequence[Row]) -> list[tuple[str, str]]:
    """Return file and reason of what the last round could not search, sorted; an empty list where nobody can tell."""
    digest = rounds[-1]["snapshot"] if rounds else None
    if not digest or not rounds[-1]["not_searched"]:
        return []
    try:
        files = Snapshot.open(home.sweep(sweep).snapshots / digest).unreadable()
    except IntegrityError:
        return []
    recorded = find(home, sweep, campaign)
    masked = redactor_of(recorded).text if recorded else hidden
    return [(masked(file), masked(reason)) for file, reason in files]


def merging(home: Home, sweep: str, campaign: str, rounds: int, unnamed: Collection[str]) -> str | None:
    """Return a sentence on fingerprints that merge distinct findings, as far as the landed rows can still tell.

    ``unnamed``: fingerprints, as text, of findings that are no example.
    """
    if (recorded := find(home, sweep, campaign)) is None:
        return None
    said = merged_by(recorded, rounds, unnamed).sentence
    return redactor_of(recorded).text(said) if said else None


def denied(home: Home, sweep: str, campaign: str, rounds: int) -> str | None:
    """Return a sentence on strategies that were let down by their confinement, as far as manifests can still tell."""
    recorded = find(home, sweep, campaign)
    return denied_reads(recorded, rounds) if recorded else None


def looked_at_nothing(home: Home, sweep: str, campaign: str, rounds: int) -> str | None:
    """Return a sentence on looks at nothing that were declared to be looks, as far as manifests can still tell."""
    recorded = find(home, sweep, campaign)
    return noted(recorded, rounds) if recorded else None


def empty_sources(home: Home, sweep: str, campaign: str, head: Row) -> list[str]:
    """Return the tables that the material was to have and the last snapshot has nothing in; none if nobody can tell.

    Nothing there is no fault by itself; but whoever looked there had nothing to look at. A table that could not be
    read is no empty one, and is told as not searched.
    """
    frozen = declared(home, sweep, campaign)
    path = home.sweep(sweep).snapshots / (head["snapshot"] or "") / MANIFEST
    if frozen is None or not path.is_file():
        return []
    manifest, material = read_json(path), frozen.material
    if isinstance(material, RegistryMaterial):
        named = [name for name in KEYED_TABLES if getattr(material.map, name)]
    else:
        named = [] if head["not_searched"] else manifest.get("tables", [])
    rows = {name: each["rows"] for name, each in manifest.get("files", {}).items()}
    return [name for name in named if rows.get(f"{name}.parquet") == 0]


def stand(home: Home, sweep: str, campaign: str, head: Row) -> Stand:
    """Return a campaign as far as waiting goes: from its landed journal, else from its row in the history."""
    if (recorded := find(home, sweep, campaign)) is not None:
        return stand_of(recorded)
    outcome = Outcome(head["outcome"])
    standing = Standing(Ceilings(head["rounds"]), outcome, head["reason"], head["rounds"], head["quiet"])
    return Stand(sweep, campaign, head["k"], standing, gone=True)


def calls(home: Home, sweep: str, campaign: str, head: Row) -> int:
    """Return the calls of a campaign, those of a round that was never decided included, as far as anybody can tell."""
    recorded = find(home, sweep, campaign)
    return journal.spent(recorded).calls if recorded else int(head["calls"])


def stand_of(campaign: Campaign) -> Stand:
    """Return a recorded campaign as far as waiting goes."""
    home = campaign.home
    before = behind(home.home, home.name, campaign.id)
    standing = journal.standing(campaign)
    return Stand(home.name, campaign.id, campaign.policy.k, standing, before, course_of(campaign, standing.rounds))


def course_of(campaign: Campaign, rounds: int) -> Course:
    """Return how the first so many rounds of a campaign went, from its landed journal."""
    policy = campaign.policy
    return Course(
        policy.rule,
        tuple(_rounds(campaign, rounds)),
        turns_left(campaign, rounds),
        judging.unheard(campaign, rounds),
    )


def _rounds(campaign: Campaign, rounds: int) -> Iterator[Round]:
    spent = 0
    for number in range(1, rounds + 1):
        if (result := journal.read_result(campaign, number)) is not None:
            calls, spent = result.spent.calls - spent, result.spent.calls
            yield Round(number, result.fresh, result.reopened, result.blocking, result.complete, calls)


def behind(home: Home, sweep: str, campaign: str) -> tuple[str, ...]:
    """Return the campaigns that a campaign is queued behind, the first one first."""
    states = read_states(home.sweep(sweep).root / "state")
    found = next((queued_behind(state, states) for state in states if state.campaign == campaign), [])
    return tuple(each.campaign for each in found)


def notices(home: Home, sweep: str, campaign: str) -> list[Row]:
    """Return who was told of a campaign, of what, and whether that was taken; an empty list where nobody was."""
    try:
        told = record.read(home.sweep(sweep).landing(campaign)).notices
    except IntegrityError as error:
        told = (record.unreadable(str(error)),)
    names = ("id", "to", "status", "why", "at", "times")
    return [{**{name: getattr(each, name) for name in names}, "events": list(each.events)} for each in told]


def silent(home: Home, sweep: str, campaign: str, round: int) -> int:
    """Return how many findings the judge gave no answer on in a round; 0 where nobody can tell any more."""
    recorded = find(home, sweep, campaign)
    return judging.silent(recorded, round) if recorded else 0


def declared(home: Home, sweep: str, campaign: str) -> Sweep | None:
    """Return the sweep as the campaign froze it, or None where its record is gone."""
    recorded = find(home, sweep, campaign)
    return recorded.declaration.sweep if recorded else None


def redaction(home: Home, sweep: str, campaign: str) -> str | None:
    """Return how secrets were masked in a campaign: hash, mask or off; None where its record is gone."""
    frozen = declared(home, sweep, campaign)
    return frozen.redaction.mode if frozen else None


def sweep_argument(home: Home, sweep: str, campaign: str) -> str:
    """Return what ``drysweep run`` takes for the sweep of a campaign: the file it was declared in, else its name."""
    if (recorded := find(home, sweep, campaign)) is None:
        return sweep
    path = recorded.declaration.path
    return _quoted(str(path.absolute() if path.exists() else path))


def home_option(home: Home) -> str:
    """Return the option that leads a command to a home, with a blank before it; empty where a project has it."""
    if home.root.name == ".drysweep" and (home.root.parent / "pyproject.toml").exists():
        return ""
    return f" --home {_quoted(str(home.root))}"


def _quoted(text: str) -> str:
    return shlex.quote(safe_text(text))
