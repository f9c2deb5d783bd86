"""Private keys in texts: what is one, what is not, and that masking makes no two things one."""

import re
import time

import pytest

from drysweep_pipeline.redaction import Redactor

LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj", "AgEAAoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4ha7", "abc="]
BEGIN, END = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
KEY = "\n".join([BEGIN, *LINES, END])
LOCKED = KEY.replace(BEGIN, f"{BEGIN}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n")
PUTTY = "\n".join(
    [
        "PuTTY-User-Key-File-3: ssh-ed25519",
        "Encryption: none",
        "Comment: me",
        "Public-Lines: 1",
        LINES[0],
        "Private-Lines: 1",
        LINES[1],
        "Private-MAC: 00ff00",
    ]
)
MARK = re.compile(r"\[secret:[0-9a-f]{12}\]")
REDACTOR = Redactor([], lambda: b"k" * 32)


def shown(text: str) -> str:
    return MARK.sub("#", REDACTOR.text(text))


@pytest.mark.parametrize(
    "text",
    [
        f"see {BEGIN} in api.yaml; also the port 22 is open to the world",
        f"a text with BEGIN RSA PRIVATE KEY, {BEGIN} and {END}",
        f"volume 12 {END}",
        "PuTTY-User-Key-File-2: in api.yaml",
    ],
)
def test_the_line_that_begins_a_key_is_none_without_one(text: str) -> None:
    assert REDACTOR.text(text) == text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("in secret 'tls', key '1'", "in secret 'tls, key 1'"),
        ("volume 1 file 12", "volume 1 file 1 2"),
        (f"\n{LINES[0]}\nin volume 1 2", f"\n{LINES[0]}\nin volume 12"),
        (f"\n* {LINES[0]}\nof volume 1 2 {END}", f"\n* {LINES[0]}\nof volume 12 {END}"),
    ],
)
def test_what_differs_behind_the_beginning_of_a_key_stays_different(one: str, other: str) -> None:
    assert REDACTOR.text(BEGIN + one) != REDACTOR.text(BEGIN + other)


def test_the_text_goes_on_behind_a_key_that_has_no_end() -> None:
    assert shown("\n".join([BEGIN, *LINES[:2], "is what api.yaml holds"])) == "#\nis what api.yaml holds"


@pytest.mark.parametrize("key", [KEY, LOCKED, PUTTY], ids=["plain", "with headers", "putty"])
@pytest.mark.parametrize("between", ["\\n", "\r\n", "; "])
def test_a_key_is_the_same_one_in_every_layout(key: str, between: str) -> None:
    assert shown(f"a {key} b") == "a # b"
    assert REDACTOR.text(key.replace("\n", between)) == REDACTOR.text(key)


def test_of_a_key_in_a_layout_that_is_not_known_no_line_is_left() -> None:
    numbered = [f"k.pem:{number}:{line}" for number, line in enumerate(KEY.splitlines(), 1)]
    assert shown("x " + "\n".join(numbered) + " y") == "x k.pem:1:# y"
    cut = shown("\n".join(numbered[:3]))
    assert cut == f"k.pem:1:{BEGIN}\nk.pem:2:#\nk.pem:3:#"


@pytest.mark.parametrize("between", ["\n", "\\n", "; "])
def test_the_last_lines_of_a_key_are_masked_however_they_end(between: str) -> None:
    assert shown("it said: " + between.join([*LINES, END]) + "; and died") == "it said: #; and died"


@pytest.mark.parametrize(
    "text",
    [BEGIN + "Comment: " * 20_000, BEGIN + " " * 50_000 + "!" + END, BEGIN * 2_000, (LINES[0] + " ") * 2_000 + END],
)
def test_no_text_takes_long(text: str) -> None:
    began = time.process_time()
    REDACTOR.text(text)
    assert time.process_time() - began < 2


def test_masking_what_is_masked_changes_nothing_where_one_key_begins_in_another() -> None:
    redactor = Redactor(["7788991"], lambda: b"k" * 32)
    once = redactor.text(f"PuTTY-User-Key-File-3: x7788991PuTTY-User-Key-File-3: x{LINES[0]}")
    assert redactor.text(once) == once
