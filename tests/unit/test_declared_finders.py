"""Declaring strategies in child processes: what is refused with line and help, what is warned of, what is by chance."""

from pathlib import Path

import pytest

from drysweep_pipeline.declaration import errors, freeze_json, read_declaration, thaw_json
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.engine.repeats import by_chance, repeatable

SWEEP = """type: drysweep_pipeline.Sweep
attributes:
  name: endpoints
  material: {{kind: files, path: files}}
  fingerprint: {{fields: [subject, kind]}}
  judge: {{kind: sql, query: {{file: judge.sql}}}}
  budget: {{rounds: 20, calls: 100}}
  strategies:
    - {{name: other, kind: sql, query: {{file: one.sql}}}}
    - {{name: mine, {strategy}}}
"""


def declared(folder: Path, strategy: str) -> Path:
    (folder / "one.sql").write_text("select path as subject, 'k' as kind from files order by hash(path || $seed)")
    (folder / "judge.sql").write_text("select fp, 'confirmed' as verdict from findings")
    path = folder / "defs.yaml"
    path.write_text(SWEEP.format(strategy=strategy))
    return path


def warned(folder: Path, strategy: str) -> list[str]:
    return warnings(read_declaration(declared(folder, strategy)))


@pytest.mark.parametrize(
    ("strategy", "key", "says"),
    [
        ("kind: command", "argv", "'argv' is missing"),
        ("kind: command, argv: []", "argv", "at least one is needed"),
        ("kind: command, argv: ruff check", "argv", "expected a list"),
        ("kind: command, argv: [x], shell: true", "shell", "unknown key"),
        ("kind: command, argv: [x, '{matrial}']", "argv[1]", "{matrial} is no placeholder"),
        (
            "kind: command, argv: ['{home}/x']",
            "argv[0]",
            "there is {material}, {round}, {campaign}, {seed}, {angle.KEY}",
        ),
        ("kind: command, argv: [x, '{angle.k}']", "argv[1]", "no angles are declared"),
        ("kind: command, argv: [x, '{angle.k}'], angles: [{k: 1}, {kk: 1}]", "argv[1]", "angles[1] has no key 'k'"),
        ("kind: command, argv: [x, '{angle}'], angles: [{k: 1}]", "argv[1]", "no placeholder"),
        ("kind: command, argv: [x], at_most: {calls: 0}", "at_most.calls", "1 or more"),
        ("kind: command, argv: [x], at_most: {tokens: -1}", "at_most.tokens", "0 or more"),
        ("kind: command, argv: [x], env: [A=B]", "env[0]", "not the name of an environment variable"),
        ("kind: command, argv: [x], env: [DRYSWEEP_HOME]", "env[0]", "not passed on"),
        ("kind: command, argv: [x], format: xml", "format", "xml"),
        ("kind: command, argv: [x], ok_exit_codes: []", "ok_exit_codes", "at least one is needed"),
        ("kind: command, argv: [x], ok_exit_codes: [256]", "ok_exit_codes[0]", "255"),
        ("kind: command, argv: [x], ok_exit_codes: [true]", "ok_exit_codes[0]", "whole number"),
        ("kind: command, argv: [x], allow_bare: true", "allow_bare", "format: sarif"),
        ("kind: command, argv: [x], timeout_s: 0", "timeout_s", "more than 0"),
        ("kind: command, argv: [x], deterministic: 1", "deterministic", "true or false"),
        ("kind: command, argv: [x], reads: rules", "reads", "a list"),
        ("kind: command, argv: [x], memory_mb: 8", "memory_mb", "64 or more"),
        ("kind: python", "call", "'call' is missing"),
        ("kind: python, call: finding", "call", "write module:name"),
        ("kind: python, call: './finding.py:find'", "call", "write module:name"),
        ("kind: python, call: 'a:b', argv: [x]", "argv", "unknown key"),
        ("kind: comand, argv: [x]", "kind", "did you mean 'command'?"),
    ],
)
def test_a_strategy_that_cannot_be_taken_as_written_is_refused(
    tmp_path: Path, strategy: str, key: str, says: str
) -> None:
    [error] = errors(declared(tmp_path, strategy))
    assert (error.key, error.line) == (f"strategies[1].{key}", 10)
    assert says in str(error)


def test_braces_that_hold_no_name_are_left_alone(tmp_path: Path) -> None:
    argv = """['jq', '{}', '{"a": 1}', '{{material}}', '{material}', '{angle.the key}']"""
    path = declared(tmp_path, f"kind: command, argv: {argv}, angles: [{{the key: 1}}]")
    assert errors(path) == []
    declaration = read_declaration(path)
    assert thaw_json(freeze_json(declaration)) == declaration


def test_a_program_a_module_and_a_variable_that_are_not_here_are_warned_of(tmp_path: Path) -> None:
    assert warned(tmp_path, "kind: command, argv: [sh, -c, 'true']") == []
    [found] = warned(tmp_path, "kind: command, argv: [no-such-linter]")
    assert (
        found
        == "The program 'no-such-linter' of the strategy 'mine' is found neither beside the sweep nor on the PATH."
    )
    (tmp_path / "find.sh").touch(0o600)
    assert "may not be executed: chmod +x" in " ".join(warned(tmp_path, "kind: command, argv: [./find.sh]"))
    assert "no such module" in " ".join(warned(tmp_path, "kind: python, call: 'finding_here:find'"))
    (tmp_path / "finding_here.py").write_text("raise RuntimeError('imported')")
    assert warned(tmp_path, "kind: python, call: 'finding_here:find'") == []
    assert "NOBODY_SET_THIS" in " ".join(warned(tmp_path, "kind: command, argv: [sh], env: [NOBODY_SET_THIS]"))
    reads = "kind: command, argv: [sh], reads: [find.sh, /usr, not_there]"
    assert warned(tmp_path, reads) == ["The strategy 'mine' is to read not_there, which is not there."]


@pytest.mark.parametrize(
    ("strategy", "chance", "again"),
    [
        ("kind: command, argv: [sh]", True, False),
        ("kind: command, argv: [sh], deterministic: true", False, True),
        ("kind: command, argv: [sh, '{material}'], deterministic: true", False, True),
        ("kind: command, argv: [sh, '{seed}'], deterministic: true", True, True),
        ("kind: command, argv: [sh, '{round}'], deterministic: true", True, True),
        ("kind: python, call: 'json:loads'", True, False),
        ("kind: python, call: 'json:loads', deterministic: true", False, True),
    ],
)
def test_nothing_in_a_child_is_free_of_chance_unless_its_author_says_so(
    tmp_path: Path, strategy: str, chance: bool, again: bool
) -> None:
    mine = read_declaration(declared(tmp_path, strategy)).sweep.strategies[1]
    assert (by_chance(mine), repeatable(mine), mine.proves_absence) == (chance, again, False)
    varies = "Nothing varies in the strategy 'mine'" not in " ".join(warned(tmp_path, strategy))
    assert varies is chance


def test_a_program_that_does_not_say_what_it_may_cost_is_warned_of_where_cost_has_a_ceiling(tmp_path: Path) -> None:
    path = declared(tmp_path, "kind: command, argv: [python3], deterministic: true, at_most: {tokens: 900}")
    path.write_text(path.read_text().replace("calls: 100", "calls: 100, tokens: 500, cost_usd: 1.5"))
    found = [warning for warning in warnings(read_declaration(path)) if "at_most" in warning or "may take" in warning]
    assert found == [
        "'mine' may take more of tokens than the ceiling of 500: it is not run.",
        "'mine' does not say how much of cost_usd it takes at_most: what it reports counts afterwards, and side by "
        "side with others it may pass the ceiling.",
    ]


def test_a_ceiling_below_one_round_at_its_worst_is_refused(tmp_path: Path) -> None:
    [error] = errors(declared(tmp_path, "kind: command, argv: [x], at_most: {calls: 100}"))
    assert (error.key, error.line) == ("budget.calls", 7)
    assert "takes 101: what each strategy takes at_most" in str(error)
