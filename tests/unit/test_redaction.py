"""Masking: what is taken for a secret, in which forms, and that nothing else changes."""

import base64
import html
import json
import re
import shlex
import stat
import unicodedata
from concurrent.futures import ProcessPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drysweep_pipeline import candidates, fingerprint
from drysweep_pipeline.declaration import errors, read_declaration
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import DeclarationError, IntegrityError, MaterialError
from drysweep_pipeline.home import Home
from drysweep_pipeline.redaction import Redactor, without_secrets
from drysweep_pipeline.redaction.detectors import detectors, loose
from drysweep_pipeline.redaction.key import key_at
from tests.sweeps import NO_OWNER, begin, declare

AWS = "AKIA" + "Q7ZX4M2KD9WB5TJR"
GITHUB = "ghp_" + "x8Kd02mPq7Zt" * 3
KNOWN = 'swordfish & "tuna"/42 é <it\'s>'
BODY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nAgEAAoIBAQC7VJTUt9Us8cKj\nabc="
KEY = f"-----BEGIN EC PRIVATE KEY-----\n{BODY}\n-----END EC PRIVATE KEY-----"
MARK = re.compile(r"\[secret:[0-9a-f]{12}\]")
HASHED = Redactor([KNOWN, "7788991", "line one of a secret\nline two of a secret"], lambda: b"k" * 32)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {AWS}.", "key #."),
        (f"({GITHUB})", "(#)"),
        ("postgres://app:hunter2@db/x", "postgres://app:#@db/x"),
        (f"before\n{KEY}\nafter", "before\n#\nafter"),
        (f"known: {KNOWN}!", "known: #!"),
        ("AccountKey=" + "a" * 86 + "==;", "AccountKey=#;"),
        ('a = "AKCp5a1b2c3d4e5"', 'a = "#"'),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "#"),
        ("xoxb-123456-abcdef", "#"),
    ],
)
def test_a_secret_is_marked_and_what_stands_around_it_stays(text: str, shown: str) -> None:
    assert MARK.sub("#", HASHED.text(text)) == shown


@pytest.mark.parametrize(
    "text",
    ["service api has no owner", "sha256:" + "0f" * 32, "10.0.0.1 and 8.8.8.8", "https://user@host/x", "${DB}:x@y", ""],
)
def test_what_is_no_secret_stays_as_it_is(text: str) -> None:
    assert HASHED.text(text) is text


FORMS = {
    "as it is": KNOWN,
    "json": json.dumps(KNOWN)[1:-1],
    "json without escapes": json.dumps(KNOWN, ensure_ascii=False)[1:-1],
    "json in json": json.dumps(json.dumps(KNOWN))[3:-3],
    "quoted": quote(KNOWN, safe=""),
    "quoted but for slashes": quote(KNOWN),
    "quoted in lower case": re.sub("%..", lambda match: match[0].lower(), quote(KNOWN, safe="")),
    "quoted as a form is": quote_plus(KNOWN),
    "base64": base64.b64encode(KNOWN.encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(KNOWN.encode()).decode(),
    "hex": KNOWN.encode().hex(),
    "as Python shows it": repr(KNOWN)[1:-1],
    "bytes as Python shows them": repr(KNOWN.encode())[2:-1],
    "as Python escapes it": KNOWN.encode("unicode_escape").decode(),
    "json for a page": json.dumps(KNOWN)[1:-1].replace("&", r"\u0026").replace("<", r"\u003c").replace(">", r"\u003e"),
    "json with slashes escaped": json.dumps(KNOWN)[1:-1].replace("/", r"\/"),
    "quoted by a browser": quote(KNOWN, safe="!~*'()"),
    "an address quoted by a browser": quote(KNOWN, safe="!~*'();,/?:@&=+$#"),
    "every byte quoted": "".join(f"%{byte:02x}" for byte in KNOWN.encode()),
    "quoted in Latin-1": quote(KNOWN.encode("latin-1"), safe=""),
    "in single quotes": KNOWN.replace("'", "''"),
    "for a shell": shlex.quote(KNOWN)[1:-1],
    "html": html.escape(KNOWN),
    "html by number": html.escape(KNOWN, quote=False).replace("'", "&#39;").replace('"', "&#34;"),
    "xml": html.escape(KNOWN, quote=False).replace("'", "&apos;").replace('"', "&quot;"),
    "letters and accents apart": unicodedata.normalize("NFD", KNOWN),
    "base64 of base64": base64.b64encode(base64.b64encode(KNOWN.encode())).decode(),
    "hex with colons": KNOWN.encode().hex(":"),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_known_secret_is_marked_alike_in_every_form(form: str) -> None:
    assert HASHED.text(f"<{form}>") == f"<{HASHED.text(KNOWN)}>"


def test_a_known_secret_that_is_base64_is_one_in_either_alphabet() -> None:
    redactor = Redactor(["Zm9v+bar/baz=="], lambda: b"k" * 32)
    assert redactor.text("Zm9v-bar_baz==") == redactor.text("Zm9v+bar/baz==") != "Zm9v+bar/baz=="


def test_a_known_secret_in_lines_of_base64_is_marked() -> None:
    long = "swordfish and tuna " * 12
    assert MARK.fullmatch(
        Redactor([long], lambda: b"k" * 32).text(base64.encodebytes(long.strip().encode()).decode().strip())
    )


def test_a_known_secret_inside_of_base64_is_marked() -> None:
    for user in ("a", "an", "ann"):
        sent = base64.b64encode(f"{user}:{KNOWN}".encode()).decode()
        assert MARK.search(HASHED.text(sent))
        assert KNOWN[3:-3].encode() not in base64.b64decode(MARK.sub("", HASHED.text(sent)) + "==", validate=False)


def test_each_line_of_a_known_secret_of_several_lines_is_one() -> None:
    assert MARK.sub("#", HASHED.text("a line two of a secret b")) == "a # b"


@pytest.mark.parametrize("layout", [KEY, KEY.replace("\n", "\\n"), KEY.replace("\n", "\r\n"), KEY.replace("\n", "; ")])
def test_a_private_key_is_the_same_one_however_its_lines_end(layout: str) -> None:
    assert HASHED.text(layout) == HASHED.text(KEY)


def test_a_private_key_that_was_cut_is_masked_as_far_as_it_is_there() -> None:
    half = len(KEY) // 2
    assert MARK.sub("#", HASHED.text("x: " + KEY[:half])) == "x: #"
    end = "; ".join(KEY.splitlines()[-3:])
    assert MARK.sub("#", HASHED.text(f"it said {end}; and died")) == "it said #; and died"


def test_equal_secrets_have_equal_marks_and_others_have_others() -> None:
    other = Redactor([KNOWN], lambda: b"j" * 32)
    assert HASHED.text(AWS) == HASHED.text(f"{AWS} ").strip()
    assert HASHED.text(AWS) != HASHED.text(AWS[:-1] + "Z")
    assert HASHED.text(AWS) != other.text(AWS), "under another key"


def test_the_other_modes_mark_all_alike_or_nothing() -> None:
    assert Redactor([KNOWN], lambda: b"k", "mask").text(f"{KNOWN} {AWS}") == "[secret] [secret]"
    assert Redactor([KNOWN], lambda: b"k", "off").text(f"{KNOWN} {AWS}") == f"{KNOWN} {AWS}"
    alike = Redactor([KNOWN], lambda: b"k" * 32, "mask")
    assert alike.distinct(KNOWN) != alike.distinct(AWS)


def test_the_key_is_asked_for_only_where_there_is_a_secret() -> None:
    def no_key() -> bytes:
        raise AssertionError("nobody needs it")

    assert Redactor([KNOWN], no_key).text("nothing here") == "nothing here"


def test_short_values_are_left_alone() -> None:
    assert Redactor(["dev", "12345"], lambda: b"k").text("a developer 12345") == "a developer 12345"


@given(st.text(), st.sampled_from([AWS, GITHUB, KEY, KNOWN, "://u:pw@", "[secret:0123456789ab]"]), st.text())
@settings(max_examples=60)
def test_masking_what_is_masked_changes_nothing(before: str, secret: str, after: str) -> None:
    once = HASHED.text(before + secret + after)
    assert HASHED.text(once) == once
    assert AWS not in once
    assert KNOWN not in once


@pytest.mark.parametrize("word", ["secret", "[secret:", "0123456789ab"])
def test_a_known_value_that_looks_like_a_part_of_a_mark_does_not_break_marks(word: str) -> None:
    redactor = Redactor([word], lambda: b"k" * 32)
    once = redactor.text(f"{AWS} {word}")
    assert redactor.text(once) == once


def test_every_detector_has_a_form_that_re2_takes() -> None:
    assert len(detectors()) >= 35
    pc.match_substring_regex(pa.array(["x"]), loose())


@given(st.data())
@settings(max_examples=60)
def test_the_looser_form_is_found_wherever_a_detector_finds_a_secret(data: Any) -> None:
    detector = data.draw(st.sampled_from(detectors()))
    plain = detector.pattern.pattern.replace("{50,1024}", "{50,60}").replace(r"(?:(?<=\W)|(?<=^))", "")
    text = data.draw(st.from_regex(re.compile(plain, detector.pattern.flags)))
    if detector.pattern.search(text):
        assert pc.match_substring_regex(pa.array([text]), loose())[0].as_py(), (detector.kind, text)
        assert re.search(loose(), text, re.ASCII)


def test_values_keep_their_shape_and_lose_their_secrets() -> None:
    given = {"a": [AWS, 1, None, True], "n": 7788991, KNOWN: 1.5}
    masked = HASHED.data(given, keep=())
    assert masked == {"a": [HASHED.text(AWS), 1, None, True], "n": HASHED.text("7788991"), HASHED.text(KNOWN): 1.5}
    assert list(HASHED.data({AWS: 1})) == [AWS], "names of ours are not masked"


def test_names_that_are_alike_once_they_are_masked_are_numbered_whatever_their_order() -> None:
    alike = Redactor([KNOWN], lambda: b"k" * 32, "mask")
    given = {KNOWN: 1, AWS: 2, "[secret]": 3}
    masked = alike.data(given, keep=())
    assert masked == {"[secret]": 3, "[secret]_1": 2, "[secret]_2": 1}
    assert alike.data(dict(reversed(given.items())), keep=()) == masked
    assert alike.data(masked, keep=()) == masked
    table = alike.table(pa.table({name: [value] for name, value in given.items()}), keep=())
    assert table.to_pylist() == [masked]
    assert len(HASHED.data({KNOWN: 1, quote(KNOWN): 2}, keep=())) == 2, "one secret in two forms"


def test_columns_of_every_kind_are_masked_and_those_without_secrets_stay_the_same() -> None:
    held = [GITHUB, "plain", None]
    columns = {
        "text": pa.array(held),
        "large": pa.array(held, pa.large_string()),
        "seen": pa.array(held).cast(pa.string_view()),
        "chosen": pa.array(held).dictionary_encode(),
        "bytes": pa.array([GITHUB.encode(), b"\xff", None]),
        "list": pa.array([["a", GITHUB], [], None]),
        "struct": pa.array([{"k": GITHUB}, {"k": "v"}, None]),
        "map": pa.array([[("k", GITHUB)], [], None], pa.map_(pa.string(), pa.string())),
        "clean": pa.array(["x", "y", None]),
        "number": pa.array([1, 7788991, None]),
        GITHUB: pa.array([1.5, None, 2.5]),
    }
    masked = HASHED.table(pa.table(columns), keep=frozenset(columns) - {GITHUB})
    mark = HASHED.text(GITHUB)
    assert masked.column_names == [*list(columns)[:-1], mark]
    rows = masked.to_pylist()
    for name in ("text", "large", "seen", "chosen"):
        assert [row[name] for row in rows] == [mark, "plain", None]
    assert rows[0]["bytes"] == mark.encode()
    assert rows[1]["bytes"] == b"\xff"
    assert rows[0]["list"] == ["a", mark]
    assert rows[0]["struct"] == {"k": mark}
    assert rows[0]["map"] == [("k", mark)]
    assert [row["number"] for row in rows] == [1, None, None]
    assert masked["clean"].equals(pa.chunked_array([columns["clean"]]))


def test_a_secret_number_is_masked_in_every_way_of_writing_it() -> None:
    mark = HASHED.text("7788991")
    given = {
        "a": [7788991, 1.5],
        "b": 7788991.0,
        "c": -7788991,
        "d": Decimal("7788991.00"),
        "e": float("nan"),
        "f": 778,
    }
    masked = HASHED.data(given)
    assert masked | {"e": 0} == {"a": [mark, 1.5], "b": mark, "c": f"-{mark}", "d": mark, "e": 0, "f": 778}
    padded = Redactor(["0077889910"], lambda: b"k" * 32)
    assert padded.data(77889910) == padded.text("0077889910")
    assert Redactor(["000001"], lambda: b"k" * 32).data(1) == 1


def test_a_secret_number_is_left_out_of_columns_of_numbers_of_every_kind() -> None:
    number = 7788991
    columns = {
        "float": pa.array([float(number), 1.5, None]),
        "short": pa.array([number, 1.5, None], pa.float32()),
        "negative": pa.array([-number, 2, None]),
        "decimal": pa.array([Decimal(number), Decimal("1.50"), None], pa.decimal128(12, 2)),
        "chosen": pa.array([number, 1, None]).dictionary_encode(),
        "list": pa.array([[number, 1], [2], None]),
        "floats": pa.array([[float(number)], [], None]),
        "struct": pa.array([{"k": number}, {"k": 2}, None]),
        "map": pa.array([[("k", number)], [], None], pa.map_(pa.string(), pa.int64())),
    }
    rows = HASHED.table(pa.table(columns), keep=frozenset(columns)).to_pylist()
    assert rows[1:] == pa.table(columns).to_pylist()[1:]
    assert rows[0] == dict.fromkeys(list(columns)[:5]) | {
        "list": [None, 1],
        "floats": [None],
        "struct": {"k": None},
        "map": [("k", None)],
    }


def test_a_secret_that_is_the_name_of_a_part_is_masked_with_the_part_kept() -> None:
    table = HASHED.table(pa.table({"part": [{GITHUB: 1}]}), keep={"part"})
    assert table.to_pylist() == [{"part": {HASHED.text(GITHUB): 1}}]


def test_a_very_long_secret_is_masked_in_texts_and_in_tables() -> None:
    long = base64.b64encode(bytes(range(256)) * 240).decode()
    redactor = Redactor([long], lambda: b"k" * 32)
    assert MARK.sub("#", redactor.text("x " * 1500 + long + " y")) == "x " * 1500 + "# y"
    [row] = redactor.table(pa.table({"a": [f"x {long}"], "b": pa.array([long.encode()])}), keep={"a", "b"}).to_pylist()
    assert (MARK.sub("#", row["a"]), MARK.sub("#", row["b"].decode())) == ("x #", "#")
    many = Redactor([f"{long[n:]}" for n in range(0, 800, 100)], lambda: b"k" * 32)
    assert many.text("x " * 1500) == "x " * 1500


@pytest.mark.parametrize("value", [AWS, f"x {GITHUB}", KEY, KNOWN, "a\\b " + KNOWN, f"tab\t{AWS}", "no secret\n"])
def test_prepared_rows_and_tables_of_one_secret_have_one_fingerprint(value: str, tmp_path: Path) -> None:
    fields = ("service", "failure_mode")
    keep = frozenset((*candidates.STANDARD, *fields))
    row = {"service": "api", "failure_mode": value, "more": {"deep": [value], value: 1}}
    prepared = candidates.prepare([row], fields)
    masked = HASHED.table(prepared, keep=set(prepared.column_names), as_json=candidates.written_as_json(fields))
    candidates.land_prepared(masked, "s", fields, tmp_path / "child.parquet")
    table = HASHED.table(pa.table({"service": ["api"], "failure_mode": [value]}), keep)
    candidates.land_table(table, "s", fields, tmp_path / "sql.parquet")
    candidates.land_rows([HASHED.data(row, keep)], "s", fields, tmp_path / "rows.parquet")
    landed = [pa.parquet.read_table(tmp_path / f"{name}.parquet").to_pylist()[0] for name in ("child", "sql", "rows")]
    expected = fingerprint.fingerprint(["api", HASHED.text(value)])
    assert [each["fp"] for each in landed] == [expected] * 3
    assert landed[0]["attributes"] == landed[2]["attributes"]
    secret = value if HASHED.text(value) != value else "\0"
    assert secret not in json.dumps([list(each.values()) for each in landed], default=str, ensure_ascii=False)


def test_an_exception_keeps_its_class_and_loses_its_secrets_and_those_of_its_causes() -> None:
    try:
        try:
            raise ValueError(f"could not log in with {AWS}")
        except ValueError as cause:
            raise MaterialError(f"{AWS} is gone", file=f"/x/{AWS}", help=f"try {AWS}") from cause
    except MaterialError as error:
        masked = without_secrets(error)
    assert isinstance(masked, MaterialError)
    assert AWS not in f"{masked} {masked.help} {masked.file} {masked.__cause__} {masked.args}"
    broken = without_secrets(UnicodeDecodeError("utf-8", b"x", 0, 1, AWS))
    assert AWS not in str(broken)


def test_a_key_is_made_once_and_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "home" / "redaction.key"
    with ProcessPoolExecutor(4) as pool:
        keys = set(pool.map(key_at, [path] * 8))
    assert len(keys) == 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["redaction.key"]
    path.write_bytes(b"short")
    with pytest.raises(IntegrityError, match="not a key"):
        key_at(path)


def declared_with(folder: Path, **attributes: Any) -> Path:
    (folder / "registry").mkdir(exist_ok=True)
    return declare(folder, {"a": NO_OWNER}, **attributes)


@pytest.mark.parametrize("place", ["description", "angle", "sql"])
def test_a_secret_that_is_written_down_is_refused_where_it_stands_and_not_quoted(place: str, tmp_path: Path) -> None:
    if place == "description":
        path, key = declared_with(tmp_path, description=f"uses {AWS}"), "description"
    elif place == "angle":
        path = declare(tmp_path, {"a": "select $x as service, 'm' as failure_mode"}, a={"angles": [{"x": AWS}]})
        key = "strategies[0].angles[0].x"
    else:
        path, key = (
            declare(tmp_path, {"a": f"select '{AWS}' as service, 'm' as failure_mode"}),
            "strategies[0].query.file",
        )
    [problem] = errors(path)
    assert (problem.key, problem.line) == (key, 1)
    assert "AWS Access Key" in problem.what
    assert "env: [NAME]" in (problem.help or "")
    assert AWS not in str(problem)


def test_a_secret_that_is_written_into_a_prompt_is_refused_by_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "prompt.md").write_text(f"look for {AWS}")
    (tmp_path / "rows.sql").write_text("select service from services")
    path = declare(tmp_path, {"a": NO_OWNER})
    whole = json.loads(path.read_text())
    send, price = {"query": {"file": "rows.sql"}}, {"input_usd_per_million": 0, "output_usd_per_million": 0}
    model = {"name": "m", "kind": "llm", "model": "openai:x", "prompt": {"file": "prompt.md"}, "send": send}
    whole["attributes"]["strategies"] = [{**model, "price": price}]
    path.write_text(json.dumps(whole))
    [problem] = errors(path)
    assert problem.key == "strategies[0].prompt.file"
    assert "prompt.md: what looks like a secret" in problem.what
    assert AWS not in str(problem)


def test_the_value_of_a_secret_variable_is_refused_unless_it_is_declared_plain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STAGE", "production")
    path = declared_with(tmp_path, description="what production runs", redaction={"env": ["STAGE"]})
    with pytest.raises(DeclarationError, match="the value of STAGE stands here"):
        read_declaration(path)
    path = declared_with(tmp_path, description="what production runs", redaction={"env": ["STAGE"], "plain": ["STAGE"]})
    read_declaration(path)


def test_no_campaign_starts_or_goes_on_where_a_secret_is_not_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = declared_with(tmp_path, redaction={"env": ["DB_PASSWORD"]})
    (tmp_path / "registry" / "services").mkdir()
    (tmp_path / "registry" / "services" / "a.yaml").write_text("name: a")
    home = Home(tmp_path / "home")
    with pytest.raises(DeclarationError, match="DB_PASSWORD holds a secret and is not set here") as refused:
        begin(path, home)
    assert (refused.value.key, refused.value.file) == ("redaction.env", str(path))
    assert not list(home.root.rglob("campaign.json"))
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    campaign = begin(path, home)
    monkeypatch.delenv("DB_PASSWORD")
    with pytest.raises(DeclarationError, match="DB_PASSWORD"):
        list(wave(campaign, 1))
    monkeypatch.setenv("DB_PASSWORD", "swordfish")
    assert len(list(wave(campaign, 1))) == 1


def test_validate_says_what_is_not_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIN", "1234")
    path = declared_with(tmp_path, redaction={"env": ["PIN"], "mode": "mask"})
    said = " ".join(warnings(read_declaration(path)))
    assert "The value of PIN is shorter than 6 characters" in said
    assert "masked alike" in said
    monkeypatch.delenv("PIN")
    assert "PIN under redaction.env is not set here" in " ".join(warnings(read_declaration(path)))
    path = declared_with(tmp_path, description=AWS, redaction={"mode": "off", "env": ["PIN"]})
    assert "Redaction is off" in " ".join(warnings(read_declaration(path)))
