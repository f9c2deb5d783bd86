"""A history in which as much happened as fits: two sweeps, many outcomes, and whatever people and rules do to findings.

One sweep is scripted, so that its campaigns end in every way; the other looks with real strategies at material that
changes, one of which uses tokens and money, and at a stored snapshot again.
"""

import json
from datetime import UTC, date, datetime
from pathlib import Path

from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Campaign, Overrides
from drysweep_pipeline.engine.deeds import Asked, act
from drysweep_pipeline.engine.looking_again import again
from drysweep_pipeline.engine.looking_again import begin as look_again
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import opened
from drysweep_pipeline.lifecycle import Act, Deed
from tests.story import tell
from tests.sweeps import begin, declare, registry, run_to_its_end

SCRIPTED = """\
why: Many outcomes of one sweep, recorded in another order than that of what they look at.
budget: {rounds: 3, on_exceeded: ask}
campaigns:
  - as_of: 2025-03-01
    rounds:
      - finders:
          a:
            - {subject: back, kind: k, severity: blocker, owner: ada, title: first}
            - {subject: risk, kind: k, scope: all}
            - {subject: junk, kind: k, severity: blocker}
            - {subject: junk, kind: k, severity: nit}
          b: [{subject: back, kind: k, severity: minor, owner: bob}, {subject: small, kind: k, severity: nit}]
        verdicts: {junk/k: rejected, small/k: undecided}
        after: [{fix: back/k}]
      - finders: {a: not_run, b: [{subject: legal, kind: k, severity: major}]}
        verdicts: {small/k: undecided}
      - finders: {a: [{subject: wrong, kind: k}, {subject: handed, kind: k}], b: [{subject: junk, kind: k}]}
        verdicts: {handed/k: rejected, wrong/k: undecided}
        after:
          - decide: accept
          - accept_risk: {finding: risk/k, by: eve, expires: 2025-03-20}
          - contest: {finding: wrong/k, evidence: "https://example.net/why", by: ann}
          - decline: small/k
          - escalate: legal/k
          - escalate: handed/k
    expect: {outcome: accepted, reason: rounds, new: [4, 1, 2]}
  - as_of: 2025-04-01
    rounds:
      - finders:
          a: [{subject: back, kind: k, severity: minor, owner: bob, title: later}, {subject: risk, kind: k, scope: all}]
          b: [{subject: legal, kind: k}, {subject: again, kind: k, severity: minor}]
        verdicts: {again/k: rejected}
      - finders: {a: [], b: []}
      - finders: {a: [{subject: back, kind: k, severity: nit}], b: []}
        after: [{fix: back/k}, {confirm: {finding: again/k, by: zoe}}, {accept_risk: {finding: legal/k, by: zoe}}]
    expect: {outcome: converged, new: [1, 0, 0]}
  - as_of: 2025-01-15
    rounds:
      - finders: {a: not_run, b: [{subject: old, kind: k, owner: ada}, {subject: risk, kind: k, title: earlier}]}
      - finders: {a: not_run, b: [{subject: back, kind: k, title: earliest}]}
      - finders: {a: not_run, b: [{subject: junk, kind: k}]}
    expect: {outcome: failed, reason: not_run, new: [2, 1, 1]}
  - as_of: 2025-05-01
    rounds:
      - finders:
          a: [{subject: back, kind: k, severity: major}, {subject: last, kind: k}]
          b: [{subject: old, kind: k}]
        after: [{stop: max}]
    expect: {outcome: stopped, new: [1]}
  - as_of: 2025-02-01
    rounds:
      - finders: {a: [{subject: last, kind: k}, {subject: early, kind: k}], b: []}
      - finders: {a: [{subject: late, kind: k}], b: []}
      - finders: {a: [{subject: later, kind: k}], b: []}
        verdicts: {later/k: undecided}
    expect: {outcome: needs_decision, reason: rounds, new: [2, 1, 1]}
"""
_OWNERS = """
    select
        s.service, 'no_owner' as failure_mode, s.path, 1 as line, l.value as owner, 'of tier ' || l.value as title,
        case l.value when 'one' then 'blocker' when 'two' then 'minor' else 'nit' end as severity, $part as part
    from services s
    join labels l on l.service = s.service and l.key = 'tier'
    where ($part = 'all' or s.service like $part || '%')
"""
_NAMES = "select service, 'short_name' as failure_mode, path from services where length(service) < 3"
_JUDGE = """
    select fp, if(service = 'cron', 'rejected', 'confirmed') as verdict, 'as the charter says' as reason
    from findings
"""
_PROGRAM = """
import json, pathlib, sys
found = sorted(pathlib.Path(sys.argv[1]).rglob("*.yaml"))
for path in found[1:]:
    print(json.dumps({"service": path.stem, "failure_mode": "no_owner", "severity": "major", "team": 1.5}))
print(json.dumps({"drysweep": "end", "count": len(found[1:]), "usage": {"calls": 2, "tokens": 7, "cost_usd": 0.125}}))
"""
_TIERS: list[dict[str, str]] = [
    {"api": "one", "cron": "two", "db": "three", "web": "one"},
    {"api": "two", "cron": "two", "db": "one", "web": "one", "new": "one"},
]


def rich(folder: Path) -> Home:
    """Play all of it under ``folder``, and return the home."""
    home = tell(folder, "mixed", SCRIPTED)
    _real(folder, home)
    return home


def _real(folder: Path, home: Home) -> None:
    path = _declared(folder, {"labels": _OWNERS})
    _material(folder, _TIERS[0])
    first = begin(path, home, as_of=_day(2, 1), campaign="first", overrides=Overrides(rounds=2))
    run_to_its_end(first)
    _act(
        first,
        ("api/no_owner", Deed(Act.FIX, "ann", reason="has one now", revision="abc1234", scope="api")),
        ("db/no_owner", Deed(Act.ACCEPT_RISK, "ann", reason="for now", expires=date(2026, 2, 20))),
        ("web/no_owner", Deed(Act.CONTEST, "ann", "services/web.yaml:1", "it is fine")),
    )
    _act(first, ("web/no_owner", Deed(Act.WITHDRAW, "bob", reason="it is not")))
    _material(folder, _TIERS[1])
    second = run_to_its_end(begin(path, home, as_of=_day(3, 1), campaign="second"))
    _act(second, ("cron/no_owner", Deed(Act.CONFIRM, "bob", reason="it is one")))
    with opened(home.sweep("small").ledger):
        people.answer(first, Answer("resume", "ann", rounds=6, calls=200))
    run_to_its_end(first)
    third = begin(path, home, as_of=_day(4, 1), campaign="third", overrides=Overrides(rounds=1))
    run_to_its_end(third)
    _declared(folder, {"labels": _OWNERS, "names": _NAMES})
    what = again(home, read_declaration(path), ("names",))
    run_to_its_end(look_again(home, what, what.stored[0]))


def _material(folder: Path, tiers: dict[str, str]) -> None:
    registry(folder / "registry", {})
    for name, tier in tiers.items():
        (folder / "registry" / "services" / f"{name}.yaml").write_text(json.dumps({"labels": {"tier": tier}}))


def _declared(folder: Path, texts: dict[str, str]) -> Path:
    (folder / "judge.sql").write_text(_JUDGE, encoding="utf-8")
    (folder / "program.py").write_text(_PROGRAM, encoding="utf-8")
    path = declare(
        folder,
        texts,
        labels={"angles": [{"part": "all"}, {"part": "a"}, {"part": "n"}]},
        judge={"kind": "sql", "query": {"file": "judge.sql"}},
    )
    told = json.loads(path.read_text(encoding="utf-8"))
    program = {"name": "program", "kind": "command", "argv": ["python3", "program.py", "{material}"]}
    most = {"calls": 2, "tokens": 10, "cost_usd": 1}
    told["attributes"]["strategies"].append({**program, "reads": ["program.py"], "at_most": most})
    told["attributes"]["budget"] = {"rounds": 6, "calls": 100, "tokens": 10_000, "cost_usd": 100}
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def _act(campaign: Campaign, *deeds: tuple[str, Deed]) -> None:
    act(campaign, [Asked(label, deed) for label, deed in deeds])


def _day(month: int, day: int) -> datetime:
    return datetime(2026, month, day, tzinfo=UTC)
