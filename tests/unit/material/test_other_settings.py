import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drysweep_pipeline.material.settings import Unreadable, is_settings, read_settings
from drysweep_pipeline.material.settings.leaf import leaves_of, pointer, segments

Row = tuple[str, str, str, int | None]


def rows(name: str, text: str) -> list[Row]:
    return [(leaf.pointer, leaf.value, leaf.type, leaf.line) for leaf in read_settings(name, text)]


def refused(name: str, text: str) -> str:
    with pytest.raises(Unreadable) as caught:
        read_settings(name, text)
    return str(caught.value)


def test_json_leaves_carry_their_lines():
    text = '{\n "a": [1, -0.50,\n  {"b": null}],\n "c": {}, "d": [\n ], "\\u00e9": "x\\ny"\n}'
    assert rows("a.json", text) == [
        ("/a/0", "1", "integer", 2),
        ("/a/1", "-0.50", "number", 2),
        ("/a/2/b", "null", "null", 3),
        ("/c", "{}", "empty_map", 4),
        ("/d", "[]", "empty_list", 4),
        ("/é", "x\ny", "string", 5),
    ]


def test_numbers_keep_every_digit():
    assert rows("a.json", "99999999999999999999999")[0][1] == "9" * 23
    assert rows("a.json", "9" * 5000)[0][1:3] == ("9" * 5000, "integer")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1,\n "b": {"a": 2},\n "a": 3}', "duplicate key 'a' on lines 1 and 3"),
        ("[1,\n NaN]", "line 2: NaN is not JSON"),
        ("[-Infinity]", "line 1: -Infinity is not JSON"),
        ('[\n"\\ud800"]', "line 2: half of a surrogate pair, which is not text"),
        ('{\n"a" 1}', "line 2: not JSON: Expecting ':' delimiter"),
        ("", "line 1: not JSON: Expecting value"),
        ("[" * 100_000, "nested deeper than 50 levels"),
        ("[" * 60 + "]" * 60, "line 1: nested deeper than 50 levels"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_the_line(text: str, reason: str):
    assert refused("a.json", text) == reason


def test_json_lines_are_documents_with_their_own_lines():
    found = read_settings("a.jsonl", '{"a": 1}\n\n[2]\r\n')
    assert [(leaf.document, leaf.pointer, leaf.line) for leaf in found] == [(0, "/a", 1), (1, "/0", 3)]
    assert refused("a.ndjson", '{"a": 1}\n{"a"\n').startswith("line 2: not JSON")


def test_toml_leaves_have_the_line_of_their_setting():
    text = (
        'top = 1\n[a.b]\nx = [\n  "p",\n  "q",\n]\n"k.l" = 1_000.5\nlong = """\nx = 3\n"""\n'
        "[[a.c]]\nn = 0x10\n[[a.c]]\nn = inf\nwhen = 2026-01-31\nt = {u = true}\n"
    )
    assert rows("a.toml", text) == [
        ("/top", "1", "integer", 1),
        ("/a/b/x/0", "p", "string", 3),
        ("/a/b/x/1", "q", "string", 3),
        ("/a/b/k.l", "1000.5", "number", 7),
        ("/a/b/long", "x = 3\n", "string", 8),
        ("/a/c/0/n", "16", "integer", 12),
        ("/a/c/1/n", "inf", "number", 14),
        ("/a/c/1/when", "2026-01-31", "string", 15),
        ("/a/c/1/t/u", "true", "boolean", 16),
    ]


@pytest.mark.parametrize("text", ["a = 1\na = 2\n", "a = \n", "a = '\x00'\n", "a = " + "[" * 5000, "a = " + "9" * 5000])
def test_what_tomllib_refuses_is_unreadable(text: str):
    assert refused("a.toml", text)


def test_ini_keys_keep_their_case_and_default_is_a_section():
    text = "[DEFAULT]\nA = 1\n[web]\n; comment\nPort: 80\nflag\n"
    assert rows("a.ini", text) == [
        ("/DEFAULT/A", "1", "string", 2),
        ("/web/Port", "80", "string", 5),
        ("/web/flag", "null", "null", 6),
    ]
    assert refused("a.ini", "x = 1\n")
    assert "already exists" in refused("a.ini", "[s]\nx=1\nx=2\n")


@pytest.mark.parametrize("name", [".env", ".env.example", "deploy/prod.env"])
def test_env_files_are_read_without_interpolation(name: str):
    text = '# c\n\nexport A="x y"\nB=$A\nC=\nD\n'
    assert rows(name, text) == [
        ("/A", "x y", "string", 3),
        ("/B", "$A", "string", 4),
        ("/C", "", "string", 5),
        ("/D", "null", "null", 6),
    ]
    assert refused(name, "A=1\nnot an assignment\n") == "line 2: not NAME=value"


def test_files_that_would_keep_a_parser_busy_for_hours_are_refused():
    assert refused("a.toml", "a = 1\n" + "b." * 20_000 + "c = 1") == "line 2: a dotted key of more than 200 names"
    assert refused(".env", "A=1\nB=x" + " " * 100_000 + "y") == "line 2: 200 blanks in a row"


def test_a_parser_that_fails_costs_its_file_only():
    assert "its parser failed" in refused("a.ini", "[a]\nflag\n  more\n")


def test_other_files_have_no_settings():
    assert read_settings("README.md", "a: [") == []
    assert not is_settings("Dockerfile")
    assert is_settings("A.YAML")


@given(st.lists(st.text(), min_size=1))
def test_a_pointer_gives_back_its_segments(parts: list[str]):
    assert segments(pointer(tuple(parts))) == tuple(parts)


TEXT = st.text(st.characters(exclude_categories=("Cs",)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner)
)


@settings(max_examples=100, deadline=None)
@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_json_leaves_are_those_of_the_value(value, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    expected = [(leaf.path, leaf.value, leaf.type) for leaf in leaves_of(value)]
    found = read_settings("a.json", text)
    assert [(leaf.path, leaf.value, leaf.type) for leaf in found] == expected
    assert all(1 <= (leaf.line or 0) <= text.count("\n") + 1 for leaf in found)
