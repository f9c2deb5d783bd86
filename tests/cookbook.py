"""The cookbook's page, made from the named queries and from what they answer on the demo's registry.

``python -m tests.cookbook`` writes the page anew. Its history is three campaigns over the registry of ``drysweep
demo``: one to its outcome, one that a ceiling cuts short, and one after faults were added, with what people did between
them.
"""

import io
import json
import shutil
import tempfile
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path

from drysweep_pipeline.cli import main
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.demo.faults import Plantings
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.engine.campaign import Overrides
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.home import Home
from drysweep_pipeline.queries import NamedQuery, catalogue
from tests.sweeps import run_to_its_end

PAGE = Path(__file__).parents[1] / "docs" / "cookbook.md"
HEAD = Path(__file__).with_name("cookbook_head.md")
# So much of a long answer shows what it looks like.
_LINES = 14
_ORDER = (
    *("fresh_per_round", "fixed_passes", "late_tail", "cut_short", "angles_not_tried"),
    *("found_by_one", "strategy_overlap", "not_earning", "cost_per_fresh"),
    *("open_by_owner", "time_to_fix", "flapping", "rejected_again", "accepted_risks"),
    *("campaign_difference", "state_on"),
)
FIXED = ("fin-account-sync/endpoint/deprecated_hostname", "web-transfer-api/endpoint/plaintext_endpoint")
ACCEPTED = "pay-stream-sync/debug/debug_on"


def swept(folder: Path) -> Home:
    """Sweep the demo's registry three times under a folder, and return the home with what people did in between."""
    home = Home(folder / "home")
    registry = folder / "examples" / "registry"
    generate(registry)
    declared = folder / "assets" / "sweeps" / "config_registry"
    shutil.copytree(Path(__file__).parents[1] / "assets" / "sweeps" / "config_registry", declared)
    declaration = read_declaration(declared / "defs.yaml")
    run_to_its_end(start(home, declaration, as_of=_day(1), driver="cli"))
    act(home, "fix", *FIXED, "--by", "ada")
    act(home, "accept-risk", ACCEPTED, "--expires", "2025-12-31", "--by", "eve", "--reason", "off by then")
    run_to_its_end(start(home, declaration, as_of=_day(8), driver="cli", overrides=Overrides(rounds=1)))
    act(home, "fix", FIXED[1], "--by", "ada")
    shutil.rmtree(registry)
    generate(registry, plan=Plantings(extra=("label_traefik", "config_run", "prefix_second")))
    run_to_its_end(start(home, declaration, as_of=_day(15), driver="cli"))
    return home


def act(home: Home, *words: str) -> None:
    """Do what a person does to findings, by the command line."""
    assert main(["findings", *words, "--home", str(home.root), "--json"]) == 0


def answer(home: Home, query: NamedQuery) -> str:
    """Return what a query prints on the demo's history, cut where it is long."""
    lines = _asked(home, query).splitlines()
    if len(lines) <= _LINES:
        return "\n".join(lines)
    rows = len(json.loads(_asked(home, query, "--json"))["rows"])
    return "\n".join([*lines[:_LINES], f"... ({rows} rows in all)"])


def _asked(home: Home, query: NamedQuery, *more: str) -> str:
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert main(["sql", query.name, *query.example.split(), *more, "--home", str(home.root)]) == 0
    return out.getvalue()


def page(home: Home) -> str:
    """Return the page: what is said before all queries, a list of them, and each with its answer."""
    known = catalogue()
    queries = [*(known[name] for name in _ORDER), *(each for name, each in known.items() if name not in _ORDER)]
    listed = [f"- [{each.question}](#{_anchor(each.title)}): `{each.name}`" for each in queries]
    head = HEAD.read_text(encoding="utf-8").rstrip()
    return "\n\n".join([head, "\n".join(listed), *(_section(home, each) for each in queries)]) + "\n"


def _section(home: Home, query: NamedQuery) -> str:
    command = " ".join(["$ drysweep sql", query.name, query.example]).rstrip()
    taken = [f"- `{each.name}`: {each.meaning}{_default(each.default)}" for each in query.parameters]
    return "\n\n".join(
        [
            f"## {query.title}",
            f"*{query.question}*",
            "\n".join(taken),
            f"```sql\n{query.sql}\n```",
            f"```console\n{command}\n{answer(home, query)}\n```",
            _wrapped(f"**How to read it.** {query.reading}"),
            _wrapped(f"**What it does not say.** {query.caution}"),
        ]
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def _default(default: str | None) -> str:
    said = {"only": "the only one there is, by default", "latest": "the newest, by default", None: "to be given"}
    said["previous"] = "the one before that, by default"
    return f" ({said.get(default, f'{default}, by default')})" if default != "null" else ""


def _anchor(title: str) -> str:
    return "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_").replace(" ", "-")


def _day(day: int) -> datetime:
    return datetime(2025, 6, day, tzinfo=UTC)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary, redirect_stdout(io.StringIO()):
        PAGE.write_text(page(swept(Path(temporary))), encoding="utf-8")
