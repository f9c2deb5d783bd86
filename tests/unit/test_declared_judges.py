"""Declaring who judges: what is refused, with line and help, and what is warned of before a campaign finds out."""

from pathlib import Path

import pytest

from drysweep_pipeline.declaration import errors, freeze_json, read_declaration, thaw_json
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.errors import DeclarationError

SWEEP = """type: drysweep_pipeline.Sweep
attributes:
  name: endpoints
  material: {{kind: files, path: files}}
  fingerprint: {{fields: [subject, kind]}}
  strategies:
    - {{name: one, kind: sql, query: {{file: one.sql}}}}
    - {{name: two, kind: sql, query: {{file: one.sql}}}}
  budget: {{rounds: 20, calls: {calls}}}
  judge: {judge}
"""


def declared(folder: Path, judge: str, calls: int = 100) -> Path:
    (folder / "one.sql").write_text("select path as subject, 'k' as kind from files order by hash(path || $seed)")
    path = folder / "defs.yaml"
    path.write_text(SWEEP.format(judge=judge, calls=calls))
    return path


def warned(folder: Path, judge: str, calls: int = 100) -> list[str]:
    return warnings(read_declaration(declared(folder, judge, calls)))


@pytest.mark.parametrize(
    ("judge", "key", "says"),
    [
        ("{kind: command}", "judge.argv", "'argv' is missing"),
        ("{kind: command, argv: []}", "judge.argv", "at least one is needed"),
        ('{kind: command, argv: [""]}', "judge.argv[0]", "expected text"),
        ("{kind: command, argv: linter --json}", "judge.argv", "expected a list"),
        ("{kind: command, argv: [x], timeout_s: 0}", "judge.timeout_s", "more than 0"),
        ("{kind: command, argv: [x], env: [A=B]}", "judge.env[0]", "not the name of an environment variable"),
        ("{kind: command, argv: [x], env: [DRYSWEEP_HOME]}", "judge.env[0]", "not passed on"),
        ("{kind: command, argv: [x], env: [DAGSTER_HOME]}", "judge.env[0]", "not passed on"),
        ("{kind: command, argv: [x], shell: true}", "judge.shell", "unknown key"),
        ("{kind: python}", "judge.call", "'call' is missing"),
        ("{kind: python, call: judging}", "judge.call", "write module:name"),
        ("{kind: python, call: 'judging:'}", "judge.call", "write module:name"),
        ("{kind: python, call: './judging.py:rule'}", "judge.call", "write module:name"),
        ("{kind: python, call: 'os:system(1)'}", "judge.call", "write module:name"),
        ("{kind: comand, argv: [x]}", "judge.kind", "did you mean 'command'?"),
        ("{kind: python, call: 'a:b', panel: 0}", "judge.panel", "between 1 and 99"),
        ("{kind: python, call: 'a:b', panel: 100}", "judge.panel", "between 1 and 99"),
        ("{kind: python, call: 'a:b', panel: '3'}", "judge.panel", "whole number"),
        ("{kind: python, call: 'a:b', panel: 4, majority: 2}", "judge.majority", "no majority of a panel of 4"),
        ("{kind: python, call: 'a:b', panel: 3, majority: 4}", "judge.majority", "2 to 3"),
        ("{kind: python, call: 'a:b', majority: 2}", "judge.majority", "no majority of a panel of 1"),
        ("{kind: none, panel: 3}", "judge.panel", "unknown key 'panel'"),
    ],
)
def test_a_judge_that_cannot_be_taken_as_written_is_refused(tmp_path: Path, judge: str, key: str, says: str) -> None:
    [error] = errors(declared(tmp_path, judge))
    assert (error.key, error.line) == (key, 10)
    assert says in str(error)


@pytest.mark.parametrize(
    ("panel", "needed"),
    [("1", 1), ("2", 2), ("3", 2), ("4", 3), ("99", 50), ("3, majority: 3", 3), ("5, majority: 3", 3)],
)
def test_more_than_half_of_a_panel_decides_unless_more_is_asked_for(tmp_path: Path, panel: str, needed: int) -> None:
    declaration = read_declaration(declared(tmp_path, f"{{kind: command, argv: [x], panel: {panel}}}"))
    thawed = thaw_json(freeze_json(declaration))
    assert thawed == declaration
    assert thawed.sweep.judge.needed == needed  # type: ignore[union-attr]


def test_a_program_is_looked_for_beside_the_sweep_and_then_on_the_path(tmp_path: Path) -> None:
    assert warned(tmp_path, "{kind: command, argv: [sh, judge.sh]}") == []
    assert "neither beside the sweep nor on the PATH" in " ".join(warned(tmp_path, "{kind: command, argv: [judge.sh]}"))
    assert "neither" in " ".join(warned(tmp_path, "{kind: command, argv: [./sh]}"))
    (tmp_path / "judge.sh").touch(0o600)
    assert "may not be executed: chmod +x" in " ".join(warned(tmp_path, "{kind: command, argv: [judge.sh]}"))
    (tmp_path / "judge.sh").chmod(0o700)
    assert warned(tmp_path, "{kind: command, argv: [judge.sh]}") == []
    assert warned(tmp_path, '{kind: command, argv: ["{material}/judge.sh"]}') == []


def test_a_module_is_looked_for_where_the_judge_will_look_and_is_not_imported(tmp_path: Path) -> None:
    call = "{kind: python, call: 'judging_here:rule'}"
    assert "no such module" in " ".join(warned(tmp_path, call))
    (tmp_path / "judging_here.py").write_text("raise RuntimeError('imported')")
    assert warned(tmp_path, call) == []
    assert warned(tmp_path, "{kind: python, call: 'json.decoder:JSONDecoder'}") == []


def test_a_variable_that_is_not_set_is_warned_of(tmp_path: Path) -> None:
    [found] = warned(tmp_path, "{kind: command, argv: [sh], env: [NOBODY_SET_THIS, PATH]}")
    assert "NOBODY_SET_THIS" in found


def test_a_panel_of_queries_that_must_agree_is_warned_of(tmp_path: Path) -> None:
    query = tmp_path / "judge.sql"
    query.write_text("select fp, 'confirmed' as verdict from findings")
    judge = "{kind: sql, query: {file: judge.sql}, panel: 3}"
    assert "all 3 members of the panel say the same" in " ".join(warned(tmp_path, judge))
    query.write_text("select fp, 'confirmed' as verdict from findings where hash(fp, $seed) % 2 = $member % 2")
    assert warned(tmp_path, judge) == []
    assert sql_problems(read_declaration(declared(tmp_path, judge))) == []
    query.write_text("select fp, $round as verdict from findings")
    [error] = sql_problems(read_declaration(declared(tmp_path, judge)))
    assert isinstance(error, DeclarationError)
    assert "uses $round, which is not bound for a judge" in str(error)


def test_a_ceiling_under_which_nothing_can_be_judged_is_warned_of(tmp_path: Path) -> None:
    panel = "{kind: command, argv: [sh], panel: 9}"
    assert "nothing is judged" in " ".join(warned(tmp_path, panel, calls=10))
    assert warned(tmp_path, panel, calls=11) == []
