"""YAML with lines: what is read as what, and what is refused where."""

from datetime import date, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from drysweep_pipeline.declaration.yaml_reader import MAX_BYTES, Document, dotted, read_yaml
from drysweep_pipeline.errors import DeclarationError

FILE = Path("sweep.yaml")


def read(text: str) -> Document:
    return read_yaml(FILE, text)


def refused(text: str) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        read(text)
    assert caught.value.file == str(FILE)
    return caught.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"),
        ("12:30:45", "12:30:45"),
        ("010", 10),
        ("0o10", 8),
        ("true", True),
        ("1.5", 1.5),
        ("", None),
        ("2026-01-31", date(2026, 1, 31)),
        ("2026-01-31T06:00:00", datetime(2026, 1, 31, 6)),
        ("!!str 2026", "2026"),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    assert read(f"a: {text}").data == {"a": value}


def test_a_value_knows_its_line_and_a_missing_one_that_of_its_nearest_ancestor() -> None:
    document = read("a:\n  b:\n    - 1\n    - c: 2\nd: {e: 3}\n")
    assert document.line(("a", "b", 1, "c")) == 4
    assert document.line(("d", "e")) == 5
    assert document.line(("a", "b", 7, "never")) == 2
    assert document.line(("never",)) == 1


def test_a_part_of_a_document_counts_its_paths_from_there() -> None:
    part = read("x: 1\na:\n  b:\n    c: 2\n").under("a", "b")
    assert part.data == {"c": 2}
    assert part.line(("c",)) == 4


def test_a_missing_value_is_missed_where_its_parent_ends() -> None:
    document = read("a:\n  b: 1\n  c: 2\nd: 3\n")
    assert document.place(("a", "c")) < document.place(("a", "never")) <= document.place(("d",))


def test_paths_are_written_as_people_write_them() -> None:
    assert dotted(("strategies", 1, "query", "file")) == "strategies[1].query.file"
    assert dotted(()) == ""


def test_a_key_written_twice_is_refused_with_both_lines() -> None:
    error = refused("a:\n  k: 2\n  j: 1\n  k: 3\n")
    assert (error.line, error.key) == (4, "a.k")
    assert "lines 2 and 4" in str(error)


def test_the_key_that_a_file_is_wrapped_in_is_left_out_of_refusals() -> None:
    with pytest.raises(DeclarationError) as caught:
        read_yaml(FILE, "attributes:\n  k: 1\n  k: 2\n", within="attributes")
    assert caught.value.key == "k"


def test_an_alias_repeats_what_it_names() -> None:
    assert read("a: &a [1, 2]\nb: *a\n").data == {"a": [1, 2], "b": [1, 2]}


def test_a_merged_mapping_gives_way_to_what_stands_beside_it() -> None:
    document = read("base: &b {a: 1, c: 2}\nx:\n  <<: *b\n  a: 3\n")
    assert document.data["x"] == {"a": 3, "c": 2}


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("a: 1\nb:\n\t- c\n", 3, "never with tabs"),
        ("a: 1\nb: 'x\n", 2, "not YAML"),
        ("a: 1\nb: [1, 2\n", 2, "not YAML"),
        ("a: 1\nb: *nobody\n", 2, "alias"),
        ("a: 1\nb: \x01\n", 2, "U+0001"),
        ("a: 1\nb: !!python/object:os.system x\n", 2, "!!python"),
        ("a: 1\nb: !own x\n", 2, "!own"),
        ("a: 1\nb: !!set {x}\n", 2, "!!set"),
        ("a: 1\nb: !!map x\n", 2, "!!map"),
        ("a: 1\nb: !!binary eA==\n", 2, "!!binary"),
        ("a: 1\nb: =\n", 2, "'='"),
        ("a: 1\nb: 2026-99-99\n", 2, "month"),
        ("a: 1\nb: !!int x\n", 2, "int"),
        ("a: 1\nb: " + "9" * 5000 + "\n", 2, "digits"),
        ('a: 1\nb: "\\ud800"\n', 2, "invalid Unicode"),
        ("a: 1\n[b]: 2\n", 2, "a key must be text"),
        ("a: 1\n<<: 2\n", 2, "merges"),
        ("a: 1\nb: &b [*b]\n", 2, "stands inside"),
        ("a: &a 1\nb: &a 2\n", 2, "set twice"),
        ("a: 1\n---\nb: 2\n", 2, "several documents"),
        ("%YAML 1.1\n---\na: NO\n", 1, "%YAML"),
        ("%YAML 1.3\n---\na: NO\n", 1, "not YAML"),
    ],
)
def test_what_is_not_one_plain_document_is_refused_with_its_line(text: str, line: int, word: str) -> None:
    error = refused(text)
    assert word in str(error)
    assert error.line == line


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    assert "empty" in str(refused(text))


def test_an_empty_document_is_nothing() -> None:
    assert read("---\n...\n").data is None


def test_aliases_that_expand_without_end_are_refused_before_they_are_built() -> None:
    names = "abcdefghi"
    layers = [f"{name}: &{name} [{', '.join([f'*{below}'] * 10)}]" for below, name in pairwise(names)]
    error = refused("a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "\n".join(layers))
    assert "100000 values" in str(error)


@pytest.mark.parametrize(
    "text",
    ["[" * 51 + "]" * 51, "[" * 500_000, "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 20 + "*a" + "]" * 20],
)
def test_more_than_fifty_levels_are_refused(text: str) -> None:
    assert "50 levels" in str(refused(text))


def test_fifty_levels_are_read() -> None:
    assert read("[" * 50 + "]" * 50).data


def test_a_file_over_one_mebibyte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"a: 1\n" + b"#" * MAX_BYTES)
    with pytest.raises(DeclarationError, match="1 MiB"):
        read_yaml(path)


def test_a_file_that_is_not_utf_8_is_refused_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("a: 1\nb: café\n".encode("latin-1"))
    with pytest.raises(DeclarationError, match="UTF-8") as caught:
        read_yaml(path)
    assert caught.value.line == 2


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "marked.yaml"
    path.write_bytes("a: 1\n".encode("utf-8-sig"))
    assert read_yaml(path).data == {"a": 1}


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeclarationError, match="no such file"):
        read_yaml(tmp_path / "never.yaml")
    with pytest.raises(DeclarationError, match="directory"):
        read_yaml(tmp_path)
