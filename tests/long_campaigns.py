"""Campaigns with many findings: real rounds over a small registry, with strategies that report rows of their own."""

from pathlib import Path

from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.home import Home
from tests.sweeps import begin, declare, registry, run_to_its_end

# Each strategy has a part of the numbers to itself, and shares others; each round brings a further part.
_REPORTS = """
    select
        'service-' || lpad(cast(number as varchar), 5, '0') as service,
        ['absent_tls', 'plaintext_endpoint', 'stale_owner', 'wrong_port'][1 + number % 4] as failure_mode,
        ['blocker', 'major', 'minor', 'nit'][1 + number % 4] as severity,
        'service-' || lpad(cast(number as varchar), 5, '0') || ': the endpoint is not as the charter has it' as title,
        'services/area-' || number % 40 || '/service-' || number || '.yaml' as path,
        1 + number % 90 as line,
        'team-' || number % 12 as owner,
        '/endpoint/url = http://service-' || number || '.svc.example.net:' || 8000 + number % 1000
            || ', the charter says https; see https://charter.example.net/rules/' || number % 30 as evidence
    from range({findings}) numbers(number)
    where number % 5 < {most} and number % 5 >= {least} and number % {parts} <= $part
"""
_JUDGE = """
    select fp, if(hash(fp) % 20 = 0, 'rejected', 'confirmed') as verdict, 'nothing in the material excuses it' as reason
    from findings
"""


def long_campaign(folder: Path, findings: int, parts: int = 3) -> Campaign:
    """Run a campaign that sees so many findings, a part of them in each of its first rounds, until it is quiet."""
    registry(folder / "registry", {"api": "ann", "db": None})
    asked = {"left": (0, 3), "right": (2, 5), "middle": (1, 4)}
    texts = {
        name: _REPORTS.format(findings=findings, parts=parts, least=least, most=most)
        for name, (least, most) in asked.items()
    }
    angles = {"angles": [{"part": part} for part in range(parts)]}
    (folder / "judge.sql").write_text(_JUDGE, encoding="utf-8")
    path = declare(
        folder,
        texts,
        **dict.fromkeys(texts, angles),
        judge={"kind": "sql", "query": {"file": "judge.sql"}},
        budget={"rounds": 12, "calls": findings + 100},
    )
    return run_to_its_end(begin(path, Home(folder / "home")))
