"""The documents say what is there: commands, links, decisions, and examples that can be copied as they are."""

import re
from pathlib import Path

import pytest

from drysweep_pipeline.cli.app import app
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.declaration.model import (
    Budget,
    Canaries,
    Canary,
    CommandJudge,
    CommandMaterial,
    CommandStrategy,
    Convergence,
    FilesMaterial,
    Fingerprint,
    HttpJudge,
    HttpStrategy,
    LlmJudge,
    LlmStrategy,
    Model,
    Price,
    PrintedTable,
    PythonJudge,
    PythonStrategy,
    Redaction,
    RegistryMap,
    RegistryMaterial,
    Schedule,
    Send,
    Slack,
    SqlJudge,
    SqlStrategy,
    Sweep,
    TablesMaterial,
    TableSource,
    Webhook,
)
from drysweep_pipeline.declaration.refusals import FILLED_IN

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DECLARING = ROOT / "docs" / "declaring.md"
REFERENCE = ROOT / "docs" / "reference" / "command_line.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
CANARIES = ROOT / "docs" / "canaries.md"
PARTS = [
    Sweep,
    FilesMaterial,
    RegistryMaterial,
    RegistryMap,
    TablesMaterial,
    TableSource,
    CommandMaterial,
    PrintedTable,
    Fingerprint,
    SqlStrategy,
    CommandStrategy,
    PythonStrategy,
    SqlJudge,
    CommandJudge,
    PythonJudge,
    HttpStrategy,
    HttpJudge,
    Send,
    LlmStrategy,
    LlmJudge,
    Model,
    Price,
    Convergence,
    Budget,
    Schedule,
    Redaction,
    Canaries,
    Canary,
    Webhook,
    Slack,
]
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_NAMED_BLOCK = re.compile(r"`([^`\s]+\.(?:yaml|sql))`[^`\n]*:\n\n```(?:yaml|sql)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _heading_anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("command", [command.name for command in app.registered_commands])
def test_every_command_is_in_the_readme_and_in_the_reference(command: str) -> None:
    assert re.search(rf"\| `drysweep {command}\b", README.read_text(encoding="utf-8"))
    assert re.search(rf"^### drysweep {command}$", REFERENCE.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS, ids=_name)
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    for link in _LINK.findall(document.read_text(encoding="utf-8")):
        if link.startswith("http"):
            continue
        name, _, anchor = link.partition("#")
        target = (document.parent / name).resolve() if name else document
        assert target.exists(), link
        assert not anchor or anchor in _heading_anchors(target), link


@pytest.mark.parametrize("decision", DECISIONS, ids=_name)
def test_a_decision_has_a_context_a_decision_and_a_cost(decision: Path) -> None:
    text = decision.read_text(encoding="utf-8")
    number = int(decision.name[:4])
    assert text.startswith(f"# {number}. ")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Cost"]


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("document", [README, DECLARING], ids=_name)
def test_the_example_of_a_document_is_a_sweep_with_sound_sql(document: Path, tmp_path: Path) -> None:
    blocks = dict(_NAMED_BLOCK.findall(document.read_text(encoding="utf-8")))
    for name, text in blocks.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    [declared] = [name for name in blocks if name.endswith(".yaml")]
    declaration = read_declaration(tmp_path / declared)
    assert sql_problems(declaration) == []


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_key_that_can_be_declared_is_in_the_reference(part: type) -> None:
    text = (CANARIES if part in (Canaries, Canary) else DECLARING).read_text(encoding="utf-8")
    missing = [name for name in part.model_fields if f"`{name}`" not in text and name not in FILLED_IN]  # type: ignore[attr-defined]
    assert missing == []


def test_the_glossary_has_every_outcome_state_and_verdict() -> None:
    from drysweep_pipeline.values import Outcome, State, Verdict

    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = [*Outcome, *State, *(verdict for verdict in Verdict if verdict is not Verdict.NONE)]
    assert [word for word in words if word not in text] == []


def test_no_example_calls_a_search_complete() -> None:
    shown = re.findall(
        r"^```(?:console|text)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    assert not any(re.search(r"\b(complete|exhaustive|no more findings)\b", part) for part in shown)


def test_every_test_that_a_promise_names_is_there() -> None:
    promised = re.findall(r"`(test_\w+)`", (ROOT / "docs" / "promises.md").read_text(encoding="utf-8"))
    written = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert promised
    assert [name for name in promised if f"def {name}(" not in written] == []
