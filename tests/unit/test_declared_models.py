"""Declaring who asks a model: what is refused with line and help, what is warned of, and what is left to chance."""

import subprocess
import sys
from pathlib import Path

import pytest

from drysweep_pipeline.declaration import errors, freeze_json, read_declaration, thaw_json
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import model_problems, sql_problems
from drysweep_pipeline.declaration.model import LlmJudge, LlmStrategy
from drysweep_pipeline.engine.repeats import by_chance, repeatable

ROOT = Path(__file__).parents[2]
SWEEP = """type: drysweep_pipeline.Sweep
attributes:
  name: endpoints
  material: {{kind: files, path: files}}
  fingerprint: {{fields: [subject, kind]}}
  judge: {judge}
  budget: {{rounds: 20, calls: 100{budget}}}
  strategies:
    - {{name: other, kind: sql, query: {{file: one.sql}}}}
    - {{name: mine, kind: llm, {strategy}}}
"""
ASKS = "model: 'openai:gpt-5-mini', prompt: {file: p.md}, send: {query: {file: rows.sql}}"
NO_JUDGE = "{kind: none}"
LOCAL = "base_url: 'http://127.0.0.1:1/v1'"
FREE = "price: {input_usd_per_million: 0, output_usd_per_million: 0}"


def declared(folder: Path, strategy: str = ASKS, judge: str = NO_JUDGE, budget: str = "", rows: str = "") -> Path:
    (folder / "one.sql").write_text("select path as subject, 'k' as kind from files order by hash(path || $seed)")
    (folder / "rows.sql").write_text(rows or "select path from files")
    (folder / "p.md").write_text("What is wrong with {angle.what}?" if "angles" in strategy else "What is wrong?")
    (folder / "empty.md").touch()
    path = folder / "defs.yaml"
    path.write_text(SWEEP.format(strategy=strategy, judge=judge, budget=budget))
    return path


@pytest.mark.parametrize(
    ("strategy", "key", "says"),
    [
        ("prompt: {file: p.md}, send: {query: {file: rows.sql}}", "model", "'model' is missing"),
        (ASKS.replace("openai:gpt-5-mini", "gpt-5-mini"), "model", "write provider:name"),
        (ASKS.replace("openai:gpt-5-mini", "test:x"), "model", "names no model"),
        (ASKS.replace("openai:gpt-5-mini", "openai:"), "model", "names no model"),
        ("model: 'openai:x', send: {query: {file: rows.sql}}", "prompt", "'prompt' is missing"),
        ("model: 'openai:x', prompt: {file: p.md}", "send", "'send' is missing"),
        (ASKS.replace("p.md", "q.md"), "prompt.file", "did you mean 'p.md'?"),
        (ASKS.replace("p.md", "empty.md"), "prompt.file", "is empty"),
        (ASKS.replace("p.md", "../p.md"), "prompt.file", "leads out of the folder"),
        (ASKS.replace("p.md", "p.md, text: look"), "prompt.text", "are kept in files"),
        (ASKS + ", base_url: 'http://models.example/v1'", "base_url", "plain http to another machine"),
        (ASKS + ", base_url: 'https://me:secret@models.example/v1'", "base_url", "holds a name or a password"),
        (ASKS + ", base_url: 'file:///etc/passwd'", "base_url", "https"),
        (ASKS + ", api_key_env: 'sk-1234'", "api_key_env", "not the name of an environment variable"),
        (ASKS + ", api_key_env: DRYSWEEP_HOME", "api_key_env", "not passed on"),
        (ASKS + ", api_key: 'sk-1234'", "api_key", "did you mean 'api_key_env'?"),
        (ASKS + ", temperature: 3", "temperature", "2"),
        (ASKS + ", max_output_tokens: 5", "max_output_tokens", "16"),
        (ASKS + f", max_output_tokens: {10**20}", "max_output_tokens", "1000000000"),
        (ASKS + ", reasks: 11", "reasks", "10"),
        (ASKS + ", price: {input_usd_per_million: 1}", "price.output_usd_per_million", "is missing"),
        (ASKS + ", price: {input_usd_per_million: -1, output_usd_per_million: 1}", "price.input_usd_per_million", "0"),
        (ASKS + ", tools: [shell]", "tools", "unknown key"),
        (ASKS + ", deterministic: true", "deterministic", "False"),
        (ASKS + ", proves_absence: true", "proves_absence", "False"),
        (ASKS + ", choices: {kinds: [a]}", "choices.kinds", "is no field of the fingerprint"),
        (ASKS + ", choices: {kind: []}", "choices.kind", "at least one is needed"),
        (ASKS + ", angles: [{who: a}]", "prompt.file", "{angle.what} has no value: angles[0] has no key 'what'"),
        (ASKS.replace("rows.sql}", "rows.sql}, max_chars: 0"), "send.max_chars", "1"),
        (ASKS.replace("rows.sql}", f"rows.sql}}, max_chars: {10**20}"), "send.max_chars", "1000000000"),
    ],
)
def test_what_cannot_be_asked_as_written_is_refused(tmp_path: Path, strategy: str, key: str, says: str) -> None:
    found = errors(declared(tmp_path, strategy))
    assert {(error.key, error.line) for error in found} == {(f"strategies[1].{key}", 10)}
    assert says in " ".join(str(error) for error in found)
    assert "me:secret" not in " ".join(str(error) for error in found)


@pytest.mark.parametrize(
    ("judge", "key", "says"),
    [
        ("{kind: llm}", "judge.models", "'models' is missing"),
        ("{kind: llm, models: []}", "judge.models", "at least one is needed"),
        ("{kind: llm, models: ['gpt-5']}", "judge.models[0]", "provider:name"),
        ("{kind: llm, models: ['openai:gpt-5'], panel: 100}", "judge.panel", "between 1 and 99"),
    ],
)
def test_a_judge_that_cannot_be_asked_as_written_is_refused(tmp_path: Path, judge: str, key: str, says: str) -> None:
    found = errors(declared(tmp_path, judge=judge))
    assert any(error.key == key and says in str(error) for error in found), [str(error) for error in found]


@pytest.mark.parametrize(
    ("strategy", "judge", "unknown"),
    [
        (ASKS, NO_JUDGE, None),
        (ASKS.replace("gpt-5-mini", "no-such"), NO_JUDGE, "openai:no-such"),
        (f"{ASKS}, {LOCAL}", NO_JUDGE, "openai:gpt-5-mini"),
        (f"{ASKS}, {LOCAL}, {FREE}", NO_JUDGE, None),
        (ASKS, "{kind: llm, models: ['openai:gpt-5', 'ollama:mine']}", "ollama:mine"),
        (ASKS, f"{{kind: llm, models: ['ollama:mine'], {FREE}}}", None),
        (ASKS, f"{{kind: llm, models: [{{model: 'ollama:mine', {FREE}}}]}}", None),
    ],
)
def test_a_ceiling_on_money_wants_every_price_known(
    tmp_path: Path, strategy: str, judge: str, unknown: str | None
) -> None:
    found = [str(error) for error in errors(declared(tmp_path, strategy, judge, budget=", cost_usd: 5"))]
    assert errors(declared(tmp_path, strategy, judge)) == []
    if unknown is None:
        assert found == []
    else:
        [said] = found
        assert f"the price of {unknown} is not known, so that no ceiling on it can be kept" in said
        assert "budget.cost_usd" in said


def test_prompts_are_frozen_with_the_declaration_and_change_its_digest(tmp_path: Path) -> None:
    path = declared(tmp_path, judge="{kind: llm, models: ['openai:gpt-5'], prompt: {file: p.md}}")
    first = read_declaration(path)
    (tmp_path / "p.md").write_text("Something else.")
    second = read_declaration(path)
    assert first.digest != second.digest
    assert thaw_json(freeze_json(first)) == first
    asks = thaw_json(freeze_json(second)).sweep.strategies[1]
    assert isinstance(asks, LlmStrategy)
    assert asks.prompt.text == "Something else."


def test_what_is_sent_is_checked_like_any_query(tmp_path: Path) -> None:
    [unbound] = sql_problems(read_declaration(declared(tmp_path, rows="select path from files where path > $from")))
    assert "rows.sql uses $from and no angle binds it" in str(unbound)
    [other] = sql_problems(read_declaration(declared(tmp_path, rows="select read_text('/etc/passwd')")))
    assert "not allowed" in str(other)
    [missing] = sql_problems(read_declaration(declared(tmp_path, rows="select nothing from files")))
    assert (missing.key, "nothing" in str(missing)) == ("strategies[1].send.query.file", True)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("nobody:x", "pydantic-ai knows no provider 'nobody'"),
        ("anthropic:x", "anthropic:x cannot be asked: Please install"),
    ],
)
def test_a_model_that_nobody_here_can_ask_is_refused_before_it_is_asked(tmp_path: Path, model: str, says: str) -> None:
    path = declared(tmp_path, ASKS.replace("openai:gpt-5-mini", model))
    [problem] = model_problems(read_declaration(path))
    assert (problem.key, problem.line) == ("strategies[1].model", 10)
    assert says in str(problem)
    assert model_problems(read_declaration(declared(tmp_path, f"{ASKS}, {LOCAL}"))) == []


def test_without_the_extra_validate_says_so_and_a_strategy_did_not_run(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["pydantic_ai"] = None
sys.modules["genai_prices"] = None
from pathlib import Path
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.checks import model_problems
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from tests.sweeps import begin
path = Path({str(declared(tmp_path, judge="{kind: llm, models: ['openai:gpt-5']}"))!r})
for problem in model_problems(read_declaration(path)):
    print(problem)
for run in wave(begin(path, Home(path.parent / "home")), 1):
    if run.strategy == "mine":
        print(run.status, run.attempts[0].usage.tokens, run.reason)
"""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.txt").write_text("a")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    first, second, run = done.stdout.splitlines()
    assert run.startswith("not_run 0 asking a model needs pydantic-ai, which is not installed")
    for line, key in ((first, "strategies[1].model"), (second, "judge.models")):
        assert f"{key}: asking a model needs pydantic-ai, which is not installed" in line
        assert "(install drysweep-pipeline[llm])" in line


def test_reading_and_searching_without_models_loads_no_library_for_them(tmp_path: Path) -> None:
    code = (
        "import sys; from drysweep_pipeline.engine import rounds; from drysweep_pipeline import cli;"
        "print([name for name in ('pydantic_ai', 'openai', 'genai_prices') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"


def test_a_key_and_a_price_that_are_not_there_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    said = warnings(read_declaration(declared(tmp_path, f"{ASKS}, {LOCAL}, api_key_env: MODEL_KEY")))
    assert "The key of openai:gpt-5-mini is in the variable MODEL_KEY, which is not set here." in said
    free = "The price of openai:gpt-5-mini is not known: what the strategy 'mine' costs is counted as nothing."
    assert free in said
    monkeypatch.setenv("MODEL_KEY", "k")
    assert not any("openai" in each for each in warnings(read_declaration(declared(tmp_path))))


def test_what_a_model_finds_is_left_to_chance_and_proves_nothing(tmp_path: Path) -> None:
    mine = read_declaration(declared(tmp_path)).sweep.strategies[1]
    assert (by_chance(mine), repeatable(mine), mine.proves_absence) == (True, False, False)


def test_the_worst_of_a_judge_is_that_of_its_dearest_model(tmp_path: Path) -> None:
    dear = "{model: 'openai-chat:b', price: {input_usd_per_million: 9, output_usd_per_million: 9}}"
    judge = read_declaration(
        declared(tmp_path, judge=f"{{kind: llm, models: ['openai-chat:a', {dear}], {LOCAL}, {FREE}}}")
    ).sweep.judge
    assert isinstance(judge, LlmJudge)
    assert judge.worst.cost_usd == pytest.approx(judge.worst.tokens * 9 / 1_000_000)
    assert [judge.asked(member).model for member in (1, 2, 3)] == ["openai-chat:a", "openai-chat:b", "openai-chat:a"]
