import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from drysweep_pipeline.material.settings import Unreadable, read_settings
from drysweep_pipeline.material.settings.leaf import leaves_of


def rows(text: str) -> list[tuple[str, str, str, int | None]]:
    return [(leaf.pointer, leaf.value, leaf.type, leaf.line) for leaf in read_settings("a.yaml", text)]


def refused(text: str) -> str:
    with pytest.raises(Unreadable) as caught:
        read_settings("a.yaml", text)
    return str(caught.value)


def test_every_leaf_has_its_pointer_value_type_and_line():
    text = 'a:\n  b: [1, "1", 1.10]\n  c/d~e: yes\n  "": ~\nf: {}\ng: []\nh: True\n'
    assert rows(text) == [
        ("/a/b/0", "1", "integer", 2),
        ("/a/b/1", "1", "string", 2),
        ("/a/b/2", "1.10", "number", 2),
        ("/a/c~1d~0e", "yes", "string", 3),
        ("/a/", "null", "null", 4),
        ("/f", "{}", "empty_map", 5),
        ("/g", "[]", "empty_list", 6),
        ("/h", "true", "boolean", 7),
    ]


@pytest.mark.parametrize(
    ("written", "value", "kind"),
    [
        ("012", "12", "integer"),
        ("0x1F", "31", "integer"),
        ("0o17", "15", "integer"),
        ("-0", "0", "integer"),
        ("9" * 5000, "9" * 5000, "integer"),
        (".5", "0.5", "number"),
        ("-.inf", "-inf", "number"),
        ("NO", "NO", "string"),
        ("12:30:45", "12:30:45", "string"),
        ("2026-01-31", "2026-01-31", "string"),
        ("!!str 1", "1", "string"),
        ("!!int nonsense", "nonsense", "string"),
        ("!secret x", "x", "string"),
        ("!!python/object/apply:os.system [x]", "x", "string"),
    ],
)
def test_scalars_are_typed_as_yaml_1_2_types_them(written: str, value: str, kind: str):
    assert [(found, type_) for _, found, type_, _ in rows(f"a: {written}\n")] == [(value, kind)]


def test_documents_are_counted_and_a_lone_scalar_has_the_empty_pointer():
    found = read_settings("a.yml", "a: 1\n---\n- b\n--- text\n")
    assert [(leaf.document, leaf.pointer, leaf.key) for leaf in found] == [(0, "/a", "a"), (1, "/0", "0"), (2, "", "")]


def test_an_empty_file_has_no_leaves():
    assert rows("") == rows("# nothing\n") == []


def test_merge_keys_are_expanded_and_own_keys_win():
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  c: 3\n"
    assert {pointer: value for pointer, value, _, _ in rows(text) if pointer.startswith("/z")} == {
        "/z/c": "3",
        "/z/a": "1",
        "/z/b": "1",
    }


def test_merging_what_is_no_mapping_makes_the_file_unreadable():
    assert refused("x: &x [1]\ny:\n  <<: *x\n") == "line 3: '<<' merges something that is not a mapping"


def test_a_duplicate_key_is_named_with_both_lines():
    assert refused("a:\n  k: 1\n  j: 1\n  k: 2\n") == "duplicate key 'k' on lines 2 and 4"


def test_keys_of_different_types_are_no_duplicates():
    assert len(rows('1: a\n"1": b\n')) == 2


def test_an_alias_bomb_is_refused_before_it_grows():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    assert "more than 100000 nodes" in refused("\n".join(lines))


def test_many_documents_share_one_cap():
    document = "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [" + "*a, " * 50 + "]\nc: [" + "*b, " * 50 + "]\n---\n"
    assert "more than 100000 nodes" in refused(document * 10)


def test_many_written_nodes_are_refused_as_well():
    assert "more than 100000 nodes" in refused("- a\n" * 150_000)


def test_an_alias_to_itself_is_refused():
    assert refused("a: &a [*a]\n") == "line 1: the alias *a stands for nothing that ends before it"


def test_deep_nesting_is_refused_and_crashes_nothing():
    assert "nested deeper than 50 levels" in refused("[" * 200_000)
    assert "nested deeper than 50 levels" in refused("a: " + "{a: " * 60 + "1" + "}" * 60)
    assert "nested deeper" in refused("a: &a " + "[" * 30 + "]" * 30 + "\nb: " + "[" * 30 + "*a" + "]" * 30)


@pytest.mark.parametrize(
    "text",
    [
        "a: [1\n",
        "\tb: 1\n",
        "a: b: c\n",
        "? [a]\n: 1\n",
        "a: \x00\n",
        'a: "\\ud800"\n',
        "{{ template }}\n",
        "%YAML 9\n",
    ],
)
def test_what_is_not_yaml_is_refused_with_a_reason(text: str):
    assert refused(text)


def test_yaml_1_2_that_libyaml_does_not_know_is_read_all_the_same():
    assert rows("security_opt: [no-new-privileges:true]\n") == [
        ("/security_opt/0", "no-new-privileges:true", "string", 1)
    ]


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co")))
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc/~ é0", max_size=4), inner, max_size=4),
)


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_leaves_of_a_written_tree_are_the_leaves_of_the_tree(tree):
    stream = io.StringIO()
    YAML(typ="safe", pure=True).dump({"root": tree}, stream)
    expected = sorted((leaf.pointer, leaf.value, leaf.type) for leaf in leaves_of({"root": tree}))
    assert sorted(row[:3] for row in rows(stream.getvalue())) == expected


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_json_is_read_alike_as_json_and_as_yaml(tree):
    text = json.dumps({"root": tree})
    as_json = [(leaf.pointer, leaf.value, leaf.type, leaf.line) for leaf in read_settings("a.json", text)]
    assert as_json == rows(text)
