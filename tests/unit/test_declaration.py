"""Reading sweeps: what is refused with which key and help, what is frozen, what is unwise."""

import json
from pathlib import Path

import pytest

from drysweep_pipeline.declaration import (
    Declaration,
    declaration_from,
    errors,
    find_sweeps,
    freeze_json,
    read_declaration,
    resolve_sweep,
    thaw_json,
)
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.declaration.model import SqlStrategy
from drysweep_pipeline.errors import DeclarationError, IntegrityError, NotFound

# Lines are counted from the first; the tests below name them.
SWEEP = """type: drysweep_pipeline.Sweep
attributes:
  name: endpoints
  material: {kind: files, path: "{env.NOBODY_SET_THIS}/registry"}
  fingerprint: {fields: [subject, kind]}
  strategies:
    - name: labels
      kind: sql
      query: {file: labels.sql}
      angles: [{prefix: app.}, {prefix: web.}]
    - name: windows
      kind: sql
      query: {file: sql/windows.sql}
  judge: {kind: sql, query: {file: judge.sql}}
  budget: {rounds: 20, calls: 500}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sql").mkdir()
    (tmp_path / "labels.sql").write_text(
        "select path as subject, 'k' as kind from files where path like $prefix || '%'"
    )
    (tmp_path / "sql/windows.sql").write_text(
        "select path as subject, 'k' as kind from files order by hash(path || $seed)"
    )
    (tmp_path / "judge.sql").write_text("select fp, 'confirmed' as verdict from findings")
    (tmp_path / "empty.sql").write_text(" \n")
    return tmp_path


def declared(folder: Path, text: str = SWEEP) -> Path:
    path = folder / "defs.yaml"
    path.write_text(text)
    return path


def changed(old: str, new: str) -> str:
    assert old in SWEEP
    return SWEEP.replace(old, new)


def refused(folder: Path, text: str) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        read_declaration(declared(folder, text))
    assert caught.value.file == str(folder / "defs.yaml")
    return caught.value


def test_a_sweep_is_read_with_the_text_of_its_queries(folder: Path) -> None:
    declaration = read_declaration(declared(folder))
    first = declaration.sweep.strategies[0]
    assert isinstance(first, SqlStrategy)
    assert "$prefix" in first.query.text
    assert declaration.base == folder
    assert (declaration.sweep.convergence.k, declaration.sweep.on_exceeded) == (2, "stop")


def test_a_frozen_declaration_leads_to_its_files_from_any_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(folder)
    frozen = freeze_json(read_declaration(Path(declared(folder).name)))
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    thawed = thaw_json(frozen)
    assert read_declaration(thawed.path).digest == thawed.digest


def test_what_dagster_lets_stand_beside_a_sweep_is_passed_over(folder: Path) -> None:
    text = SWEEP + "requirements: {env: [HOME]}\npost_processing: {}\ntemplate_vars_module: .here\n"
    assert read_declaration(declared(folder, text)).sweep.name == "endpoints"


REFUSALS = [
    ("strategies:", "strategy:", 6, "strategy", "did you mean 'strategies'?"),
    ("rounds: 20", "round: 20", 15, "budget.round", "did you mean 'rounds'?"),
    ("fields:", "feilds:", 5, "fingerprint.feilds", "did you mean 'fields'?"),
    ("path:", "map: {}, path:", 4, "material.map", "unknown key 'map'"),
    ("file: judge.sql", "fil: judge.sql", 14, "judge.query.fil", "did you mean 'file'?"),
    ("file: judge.sql", "file: judge.sql, text: select 1", 14, "judge.query.text", "unknown key"),
    ("kind: files", "kind: filez", 4, "material.kind", "did you mean 'files'?"),
    ("kind: files, ", "", 4, "material.kind", "'kind' is missing"),
    ("[subject, kind]", "[]", 5, "fingerprint.fields", "at least one"),
    ("[subject, kind]", "[subject, subject]", 5, "fingerprint.fields[1]", "named twice"),
    ("[subject, kind]", "[subject, round]", 5, "fingerprint.fields[1]", "no finder reports 'round'"),
    ("name: windows", "name: labels", 11, "strategies[1].name", "strategies[0]"),
    ("name: endpoints", "name: End Points", 3, "name", "lower-case"),
    ("name: endpoints", "name: 7", 3, "name", "expected text, got 7"),
    (", calls: 500", "", 15, "budget.calls", "'calls' is missing"),
    ("rounds: 20, ", "", 15, "budget.rounds", "'rounds' is missing"),
    ("calls: 500", "calls: 1", 15, "budget.calls", "less than one round"),
    ("calls: 500", "calls: 0", 15, "budget.calls", "expected 1 or more"),
    ("rounds: 20", "rounds: two", 15, "budget.rounds", "expected a whole number, got 'two'"),
    ("rounds: 20", "rounds: true", 15, "budget.rounds", "expected a whole number, got true"),
    ("calls: 500", "calls: 500, minutes: .inf", 15, "budget.minutes", "finite"),
    ("calls: 500", "calls: 500, on_exceeded: aks", 15, "budget.on_exceeded", "did you mean 'ask'?"),
    ("labels.sql", "lables.sql", 9, "strategies[0].query.file", "did you mean 'labels.sql'?"),
    ("labels.sql", "../labels.sql", 9, "strategies[0].query.file", "leads out"),
    ("labels.sql", "sql/../labels.sql", 9, "strategies[0].query.file", "leads out"),
    ("labels.sql", "/labels.sql", 9, "strategies[0].query.file", "relative"),
    ("labels.sql", "empty.sql", 9, "strategies[0].query.file", "empty"),
    ("labels.sql", "x" * 400, 9, "strategies[0].query.file", "cannot be read"),
    ("labels.sql", "sql", 9, "strategies[0].query.file", "no file"),
    ("prefix: web.", "prefix: [web.]", 10, "strategies[0].angles[1].prefix", "got a list"),
    ("prefix: web.", "prefix: 2026-01-01", 10, "strategies[0].angles[1].prefix", "in quotes it is text"),
    ("prefix: web.", "prefix: .nan", 10, "strategies[0].angles[1].prefix", "finite"),
    ("query: {file: sql/windows.sql}", "sql: select 1", 13, "strategies[1].sql", "unknown key 'sql'"),
    ("  name: endpoints\n", "", 2, "name", "needed here"),
    ("attributes:", "attribute:", 2, "attribute", "did you mean 'attributes'?"),
    ("type: drysweep_pipeline.Sweep", "type: drysweep.Sweep", 1, "type", "drysweep_pipeline.Sweep"),
    ("type: drysweep_pipeline.Sweep\n", "", 1, "type", "missing"),
    ("  budget:", "  turns: atuo\n  budget:", 15, "turns", "did you mean 'auto'?"),
    ("  budget:", "  owners: team\n  budget:", 15, "owners", "expected a list"),
    ("  budget:", "  schedule: {cron: '0 25 * * *'}\n  budget:", 15, "schedule.cron", "between 0 and 23"),
    ("  budget:", "  schedule: {cron: daily}\n  budget:", 15, "schedule.cron", "five fields"),
    (
        "  budget:",
        "  schedule: {cron: '0 6 * * *', timezone: Europe/Nowhere}\n  budget:",
        15,
        "schedule.timezone",
        "IANA",
    ),
    ("  budget:", "  schedule: {cron: '0 6 * * *', if_waiting: skipp}\n  budget:", 15, "schedule.if_waiting", "'skip'"),
]


@pytest.mark.parametrize(("old", "new", "line", "key", "word"), REFUSALS)
def test_a_sweep_that_cannot_be_taken_as_written_is_refused_with_line_key_and_help(
    folder: Path, old: str, new: str, line: int, key: str, word: str
) -> None:
    error = refused(folder, changed(old, new))
    assert (error.line, error.key) == (line, key)
    assert word in str(error)


def test_a_sweep_without_strategies_is_refused(folder: Path) -> None:
    head, tail = SWEEP.index("    - name: labels"), SWEEP.index("  judge:")
    error = refused(folder, SWEEP[:head].rstrip() + " []\n" + SWEEP[tail:])
    assert error.key == "strategies"
    assert "at least one" in str(error)


def test_k_below_two_is_refused_by_name(folder: Path) -> None:
    error = refused(folder, SWEEP + "  convergence: {k: 1}\n")
    assert (error.line, error.key) == (16, "convergence.k")
    assert "convergence.k" in error.what


def test_a_clean_search_that_nothing_could_block_is_refused(folder: Path) -> None:
    error = refused(folder, SWEEP + "  convergence: {rule: clean, blocking: []}\n")
    assert (error.line, error.key) == (16, "convergence.blocking")
    assert "at least one is needed" in error.what


def test_a_key_written_twice_is_refused_with_both_lines(folder: Path) -> None:
    error = refused(folder, SWEEP + "  convergence:\n    k: 2\n    k: 3\n")
    assert error.key == "convergence.k"
    assert "lines 17 and 18" in str(error)


def test_several_sweeps_in_one_file_are_refused(folder: Path) -> None:
    assert "several documents" in str(refused(folder, SWEEP + "---\n" + SWEEP))


def test_a_query_that_a_link_leads_out_of_the_folder_is_refused(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "secret.sql"
    outside.write_text("select 1")
    (folder / "link.sql").symlink_to(outside)
    assert "leads out" in str(refused(folder, changed("labels.sql", "link.sql")))


def test_the_first_wrong_thing_of_the_file_is_named_and_the_others_counted(folder: Path) -> None:
    text = changed("kind: files", "kind: filez").replace("calls: 500", "calls: many").replace("labels.sql", "none.sql")
    error = refused(folder, text)
    assert error.key == "material.kind"
    assert error.help == f"did you mean 'files'? 2 more: drysweep validate {folder / 'defs.yaml'} shows all"
    assert [each.key for each in errors(folder / "defs.yaml")] == [
        "material.kind",
        "strategies[0].query.file",
        "budget.calls",
    ]


def test_a_sweep_that_is_right_has_no_errors(folder: Path) -> None:
    assert errors(declared(folder)) == []


def test_a_file_that_is_no_yaml_is_one_error(folder: Path) -> None:
    assert [error.line for error in errors(declared(folder, "a: 'x"))] == [1]


def test_a_sweep_given_as_data_is_refused_without_lines_and_not_changed(folder: Path) -> None:
    data = {"name": "x", "budget": {"rounds": 3}}
    with pytest.raises(DeclarationError) as caught:
        declaration_from(data, folder / "defs.yaml")
    assert caught.value.line is None
    assert data == {"name": "x", "budget": {"rounds": 3}}


def test_the_digest_follows_the_text_of_a_query_and_not_the_layout_of_the_file(folder: Path) -> None:
    first = read_declaration(declared(folder)).digest
    assert read_declaration(declared(folder, "# a comment\n" + SWEEP)).digest == first
    (folder / "judge.sql").write_text("select fp, 'rejected' as verdict from findings")
    assert read_declaration(declared(folder)).digest != first


def test_a_frozen_declaration_thaws_as_it_was(folder: Path) -> None:
    declaration = read_declaration(declared(folder))
    text = freeze_json(declaration)
    (folder / "labels.sql").unlink()
    assert thaw_json(text) == declaration


def test_a_frozen_declaration_that_was_changed_is_refused(folder: Path) -> None:
    frozen = json.loads(freeze_json(read_declaration(declared(folder))))
    frozen["sweep"]["convergence"]["k"] = 3
    with pytest.raises(IntegrityError, match="digest"):
        thaw_json(json.dumps(frozen))
    with pytest.raises(IntegrityError):
        thaw_json("{}")


def project(root: Path, **sweeps: str) -> Path:
    for name, text in sweeps.items():
        folder = root / "assets/sweeps" / name
        folder.mkdir(parents=True)
        (folder / "defs.yaml").write_text(text)
    return root


def test_sweeps_are_found_by_the_name_they_declare(tmp_path: Path) -> None:
    root = project(tmp_path, here=SWEEP, other="type: dagster.Other\n", broken="a: 'x")
    folders = root / "assets/sweeps"
    assert find_sweeps(root) == {"endpoints": folders / "here/defs.yaml", "broken": folders / "broken/defs.yaml"}


def test_two_files_that_declare_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="twice"):
        find_sweeps(project(tmp_path, one=SWEEP, two=SWEEP))


def test_a_sweep_is_resolved_from_its_name_its_file_or_its_folder(tmp_path: Path) -> None:
    root = project(tmp_path, here=SWEEP)
    path = root / "assets/sweeps/here/defs.yaml"
    assert resolve_sweep("endpoints", root) == path
    assert resolve_sweep(str(path), root / "elsewhere") == path
    assert resolve_sweep(str(path.parent), root) == path


def test_an_unknown_sweep_is_refused_with_the_nearest_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match="there is endpoints"):
        resolve_sweep("endpionts", project(tmp_path, here=SWEEP))
    with pytest.raises(NotFound, match="none is declared under assets/sweeps here; give the YAML file"):
        resolve_sweep("endpoints", tmp_path / "nothing")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "endpoints.yaml").touch()
    with pytest.raises(NotFound, match=r"there is endpoints\.yaml"):
        resolve_sweep("endpoints", tmp_path / "nothing")
    with pytest.raises(NotFound, match="none is declared"):
        resolve_sweep("x" * 5000, tmp_path / "nothing")


def test_a_yaml_file_that_is_not_there_is_not_taken_for_a_name(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").touch()
    with pytest.raises(DeclarationError, match=r"there is no such file \(did you mean .*/sweep\.yaml\?\)"):
        resolve_sweep(str(tmp_path / "sweeep.yaml"), tmp_path)
    with pytest.raises(DeclarationError, match=f"goes as far as {tmp_path}"):
        resolve_sweep(str(tmp_path / "none" / "at" / "all.yaml"), tmp_path)


def test_an_error_says_its_key_once() -> None:
    assert str(DeclarationError("k must be 2 or more", key="k")) == "k must be 2 or more"
    assert str(DeclarationError("kinds are many", key="k")) == "k: kinds are many"


def read(folder: Path, text: str = SWEEP) -> Declaration:
    return read_declaration(declared(folder, text))


def test_a_sweep_that_varies_and_is_judged_has_no_warnings(folder: Path) -> None:
    assert warnings(read(folder)) == []


def test_a_strategy_that_never_varies_is_warned_of(folder: Path) -> None:
    (folder / "sql/windows.sql").write_text("select path as subject from files")
    [found] = [text for text in warnings(read(folder)) if "Nothing varies" in text]
    remedy = "give it two or more angles, or have it use its seed."
    assert found == f"Nothing varies in the strategy 'windows': {remedy}"


def test_a_sweep_in_which_nothing_varies_is_warned_of_once(folder: Path) -> None:
    (folder / "sql/windows.sql").write_text("select path as subject from files")
    found = warnings(read(folder, changed("[{prefix: app.}, {prefix: web.}]", "[{prefix: app.}, {prefix: app.}]")))
    assert len([text for text in found if "varies" in text]) == 1
    assert "Nothing varies in this sweep" in found[0]


def test_ceilings_under_which_a_sweep_cannot_converge_are_warned_of(folder: Path) -> None:
    assert "cannot converge" in " ".join(warnings(read(folder, changed("rounds: 20", "rounds: 1"))))
    assert "cannot converge" in " ".join(warnings(read(folder, changed("calls: 500", "calls: 3"))))


def test_more_angles_than_rounds_can_cover_are_warned_of(folder: Path) -> None:
    text = changed("rounds: 20", "rounds: 1") + "  convergence: {cover: all_angles}\n"
    assert [each for each in warnings(read(folder, text)) if "'labels' has 2 angles" in each]


def test_shared_blind_spots_and_a_missing_judge_are_warned_of(folder: Path) -> None:
    text = changed("  judge: {kind: sql, query: {file: judge.sql}}\n", "").replace("[subject, kind]", "[subject]")
    start, end = text.index("    - name: windows"), text.index("  budget:")
    found = " ".join(warnings(read(folder, text[:start] + text[end:])))
    for word in ("one strategy only", "'subject' alone", "Nobody judges"):
        assert word in found


def test_an_angle_that_the_query_does_not_use_is_warned_of(folder: Path) -> None:
    found = warnings(read(folder, changed("{prefix: web.}", "{prefix: web., sufix: x}")))
    assert found == ["The angles of 'labels' bind $sufix, which labels.sql does not use."]


def test_queries_that_select_and_are_bound_have_no_problems(folder: Path) -> None:
    assert sql_problems(read(folder)) == []


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("select 1; select 2", "2 statements"),
        ("-- nothing", "0 statements"),
        ("drop table files", "DROP is refused (only a SELECT is allowed)"),
        ("selec 1", "not SQL"),
        ("select $nobody", "$nobody"),
    ],
)
def test_sql_that_is_not_one_bound_select_is_a_problem_with_its_key(folder: Path, sql: str, word: str) -> None:
    (folder / "sql/windows.sql").write_text(sql)
    [problem] = sql_problems(read(folder))
    assert (problem.key or "").startswith("strategies[1].")
    assert word in str(problem)
    assert problem.line is not None


def test_an_angle_that_leaves_a_name_unbound_is_a_problem_on_its_line(folder: Path) -> None:
    [problem] = sql_problems(read(folder, changed("{prefix: web.}", "{prefx: web.}")))
    assert (problem.line, problem.key) == (10, "strategies[0].angles[1]")
    assert "$prefix" in str(problem)


def test_a_judge_that_asks_for_a_value_is_a_problem(folder: Path) -> None:
    (folder / "judge.sql").write_text("select fp, $word as verdict from findings")
    [problem] = sql_problems(read(folder))
    assert problem.key == "judge.query.file"


def test_problems_of_a_frozen_declaration_do_without_lines_once_the_file_is_gone(folder: Path) -> None:
    (folder / "judge.sql").write_text("select fp, $word as verdict from findings")
    declaration = read(folder)
    declaration.path.unlink()
    assert [problem.line for problem in sql_problems(declaration)] == [None]


def test_the_names_of_columns_keep_their_order_in_what_is_frozen_and_in_the_digest(tmp_path: Path) -> None:
    frozen = []
    for columns in ("{path: VARCHAR, line: BIGINT}", "{line: BIGINT, path: VARCHAR}"):
        tables = f"{{lines: {{file: lines.jsonl, columns: {columns}}}}}"
        material = f"{{kind: tables, path: data, tables: {tables}}}"
        (tmp_path / "q.sql").write_text("select path from lines")
        (tmp_path / "sweep.yaml").write_text(f"""
            type: drysweep_pipeline.Sweep
            attributes:
              name: small
              material: {material}
              fingerprint: {{fields: [path]}}
              strategies: [{{name: all, kind: sql, query: {{file: q.sql}}}}]
              budget: {{rounds: 5, calls: 5}}
        """)
        declaration = read_declaration(tmp_path / "sweep.yaml")
        thawed = thaw_json(freeze_json(declaration))
        assert thawed == declaration
        frozen.append((list(thawed.sweep.material.tables["lines"].columns), thawed.digest))  # type: ignore[union-attr]
    assert [columns for columns, _ in frozen] == [["path", "line"], ["line", "path"]]
    assert frozen[0][1] != frozen[1][1]
