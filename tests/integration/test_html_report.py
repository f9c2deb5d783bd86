"""The report for a browser, as a file: what it says is what its twins say, and nothing that others wrote is markup."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS, html, listing, write_report
from drysweep_pipeline.reports.asked import Asked
from drysweep_pipeline.reports.contents import Contents, contents
from drysweep_pipeline.reports.figures import figures
from drysweep_pipeline.values import Outcome
from tests.reports import HUGE, Page, hostile_story
from tests.story import tell

PLACE = Path(html.__file__).parent / "page"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Three campaigns: one cut short by its budget, two that converged after it."""
    return tell(tmp_path_factory.mktemp("story"))


@pytest.fixture(scope="module")
def capped(story: Home) -> Contents:
    return contents(story, "story", "c1")


@pytest.fixture(scope="module")
def later(story: Home) -> Contents:
    return contents(story, "story", "c2")


@pytest.fixture(scope="module")
def attack(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    return contents(hostile_story(tmp_path_factory.mktemp("hostile")), "hostile", "c1")


@pytest.fixture(scope="module")
def hostile(attack: Contents) -> Page:
    return Page(html.render(attack))


def tiles(page: str) -> dict[str, str]:
    """Return the numbers at the top of a page by their names."""
    found = re.search(r'<dl class="tiles".*?</dl>', page, re.DOTALL)
    assert found
    pairs = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", found[0])
    return {name: re.sub(r" <small>.*", "", value) for name, value in pairs}


@pytest.mark.parametrize("campaign", ["c1", "c2", "c3"])
def test_the_three_reports_of_a_campaign_tell_the_same_numbers(story: Home, campaign: str) -> None:
    paths = write_report(story, "story", campaign)
    page, text = (paths[name].read_text(encoding="utf-8") for name in ("html", "md"))
    told = json.loads(paths["json"].read_text(encoding="utf-8"))
    shown = tiles(page)
    for name in ("seen", "confirmed", "rejected", "rounds", "quiet", "calls"):
        assert shown[name] == f"{told[name]:,}", name
    for name in ("seen", "confirmed", "rejected", "rounds", "calls"):
        assert f"| {name} | {told[name]} |" in text
    assert told["verdict"] in Page(page).text
    for row in told["figures"]["curve"]:
        assert re.search(rf'<th scope="row">{row["round"]}</th><td class="n">{row["fresh"]}</td>', page)
    assert page.count("<summary>its life</summary>") == len(told["findings"])


def test_a_capped_campaign_leads_with_its_outcome_in_words_and_as_a_lower_bound(capped: Contents) -> None:
    page = Page(html.render(capped))
    [word] = [text for within, text in page.texts if within[-1:] == ("h1",)][:1]
    assert word.strip() == "Not converged: budget exceeded"
    assert page.text.index("budget_exceeded (rounds)") < page.text.index("What to do next")
    assert "counts are a lower bound" in page.text
    assert "at least" in page.text
    assert "more is likely to be missed than these numbers say" in page.text
    assert "What helps:" in page.text
    assert page.text.count("budget_exceeded (rounds) after 4 rounds, K = 2; a lower bound") > 4


def test_a_campaign_that_converged_says_what_changed_and_what_no_round_reached(later: Contents) -> None:
    text = Page(html.render(later)).text
    assert "Since c1 (" in text
    assert "What no round of this campaign reached is in none of these numbers." in text
    assert "stays unseen" in text
    assert "2 of them only repeated earlier angles" in text
    assert "✕ not run" in text
    assert not re.search(r"\b(exhaustive|all findings of|no more findings)\b", text)


def test_every_outcome_has_a_word_a_shape_and_a_border_of_its_own(capped: Contents) -> None:
    looks = set()
    for outcome in Outcome:
        page = html.render(replace(capped, told={**capped.told, "outcome": outcome.value}))
        section = page[page.index('<section id="verdict"') : page.index("</section>")]
        word = re.search(r"<h1[^>]*>([^<]+)", section)
        shape = re.search(r'<svg class="shape".*?</svg>', section, re.DOTALL)
        assert word is not None
        assert shape is not None
        assert word[1].startswith("Not converged") == (outcome is not Outcome.CONVERGED)
        looks.add((word[1].strip(), shape[0]))
    assert len({word for word, _ in looks}) == len({shape for _, shape in looks}) == len(Outcome)


def test_what_is_told_of_a_life_is_what_the_ledger_knows(capped: Contents) -> None:
    lines = Page(html.render(capped)).said_in("li")
    assert any(line.startswith("s1/k, fp ") for line in lines)
    assert any(re.search(r": fixed by .+, after round 4", line) for line in lines)
    assert any(re.search(r": risk accepted by eve until 202\d-03-01", line) for line in lines)
    assert any("confirmed by the" in line for line in lines)


def test_rejected_findings_are_counted_and_listed_only_where_asked_for(story: Home, capped: Contents) -> None:
    shown = html.render(replace(capped, provenance=replace(capped.provenance, declared=None)))
    assert "junk" not in shown
    assert "2 more were rejected and are not listed here" in shown
    asked = html.render(contents(story, "story", "c1", Asked(rejected=True)))
    assert "junk/k" in asked
    assert "<td>rejected</td>" in asked


def test_the_policy_allows_the_style_and_the_script_that_are_there_and_no_other(capped: Contents) -> None:
    text = html.render(capped)
    [policy] = [meta["content"] for meta in Page(text).all("meta") if meta.get("http-equiv")]
    assert str(policy).startswith("default-src 'none'; ")
    for kind in ("style", "script"):
        [inside] = re.findall(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        assert inside == (PLACE / f"report.{'css' if kind == 'style' else 'js'}").read_text(encoding="utf-8")
        assert f"{kind}-src 'sha256-{base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()}';" in str(
            policy
        )
    assert "unsafe" not in str(policy)


def test_nothing_in_the_page_is_fetched_from_anywhere(capped: Contents) -> None:
    page = Page(html.render(capped))
    for tag, attributes in page.elements:
        assert not {"src", "srcset", "action", "formaction", "style", "poster"} & attributes.keys(), tag
        assert not [name for name in attributes if name.startswith("on")], tag
    assert {link["href"] for link in page.all("link")} == {"data:,"}
    assert {link["href"] for link in page.all("a") if not str(link["href"]).startswith("#")} == {"c1.json", "c1.md"}
    assert "@import" not in (css := (PLACE / "report.css").read_text(encoding="utf-8"))
    assert "url(" not in css


def test_no_template_lets_text_pass_as_markup() -> None:
    for template in PLACE.glob("*.jinja"):
        assert not re.search(r"\|\s*safe\b|autoescape", template.read_text(encoding="utf-8")), template.name


def test_a_person_without_eyes_or_mouse_finds_the_way(capped: Contents) -> None:
    page = Page(html.render(capped))
    assert page.all("html") == [{"lang": "en"}]
    assert [len(page.all(tag)) for tag in ("main", "nav", "h1", "footer")] == [1, 1, 1, 1]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {str(link["href"])[1:] for link in page.all("a") if str(link["href"]).startswith("#")}
    assert targets <= set(ids)
    assert all(cell.get("scope") in ("col", "row") for cell in page.all("th"))
    drawn = [each for each in page.all("div") if each.get("role") == "img"]
    assert len(drawn) == 2
    assert all(len(str(each["aria-label"])) > 20 for each in drawn)
    assert len(page.all("table")) == len(page.all("caption"))


def test_a_hostile_finding_is_text_and_nothing_else(hostile: Page) -> None:
    assert len(hostile.all("script")) == 1
    assert [each for each in hostile.all("svg") if each.get("onload")] == []
    assert hostile.all("img") == []
    assert "<script>window.ran = 1</script>" in hostile.text
    assert "{{ 7 * 7 }} {% raw %}" in hostile.text
    assert all(not name.startswith("on") for _, attributes in hostile.elements for name in attributes)


def test_what_hides_or_reorders_its_neighbours_is_shown(hostile: Page) -> None:
    assert "<U+202E>gnp.exe<U+2028>next<U+200B>line␛[2J" in hostile.text
    assert not re.search("[\u202e\u2028\u200b\x1b\x00]", hostile.text)


def test_only_addresses_of_the_web_become_links_and_say_where_they_lead(hostile: Page) -> None:
    links = [link for link in hostile.all("a") if not re.match(r"#|c1\.", str(link["href"]))]
    assert {link["href"] for link in links} == {"https://example.net/a?b=", "http://example.net/rule/3"}
    assert all(link["rel"] == "noopener noreferrer nofollow" for link in links)
    assert "javascript:window.ran=6" in hostile.text
    assert "data:text/html," in hostile.text


def test_a_text_without_end_is_cut_with_the_cut_said(hostile: Page) -> None:
    assert f"({len(HUGE) - 240:,} more characters)" in hostile.text
    assert len(hostile.text) < 300_000


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "ROWS_BYTES", 500)
    monkeypatch.setattr(listing, "LISTED", 4)


def test_what_is_no_row_is_data_and_what_is_neither_is_counted(few_rows: None, capped: Contents) -> None:
    page = Page(html.render(capped))
    [data] = [json.loads(text) for text in page.said_in("script") if text.startswith("[[")]
    rows = [text for within, text in page.texts if within[-1:] == ("summary",) and text == "its life"]
    assert len(rows) + len(data) == 4
    assert len(data) > 0
    assert [each[0] for each in data] == [row["title"] for row in capped.findings[len(rows) : 4]]
    assert "Not listed: 1 more findings" in page.text
    assert f"The first {len(rows)} findings are listed here" in page.text


def test_data_cannot_end_its_block(few_rows: None, attack: Contents) -> None:
    text = html.render(attack)
    block = text[text.index('id="later">') : text.index("</script>", text.index('id="later">'))]
    assert "<" not in block
    assert "window.ran" in block
    assert json.loads(block.partition(">")[2])


def test_a_campaign_without_a_round_says_so(capped: Contents) -> None:
    none = {"rounds": 0, "quiet": 0, "seen": 0, "confirmed": 0, "rejected": 0, "outcome": "running", "reason": None}
    empty = replace(
        capped,
        told={**capped.told, **none, "why": None, "not_run": []},
        rounds=(),
        strategies=(),
        findings=(),
        runs=(),
        figures=figures((), (), ()),
    )
    text = Page(html.render(empty)).text
    assert "No round is decided yet." in text
    assert "nothing was spent on silence, and nothing is known of it" in text
    assert "What fewer passes would have missed" not in text


def test_of_very_many_rounds_the_latest_are_in_the_tables_and_the_others_counted(capped: Contents) -> None:
    last = capped.rounds[-1]
    many = [{**last, "round": number} for number in range(1, 301)]
    looks = [{**row, "round": number} for number in range(1, 301) for row in capped.runs[-1:]]
    told = {**capped.told, "rounds": 300}
    page = html.render(replace(capped, rounds=many, runs=looks, told=told, figures=figures(many, (), ())))
    assert page.count("180 rounds left out here") == 3
    assert '<th scope="row">300</th>' in page
    assert '<th scope="row">180</th>' not in page


def test_html_is_the_report_that_a_person_is_sent_to(story: Home) -> None:
    paths = write_report(story, "story", "c3")
    assert next(iter(paths)) == "html"
    assert json.loads(paths["json"].read_text(encoding="utf-8"))["report"] == str(paths["html"])
    assert FORMATS["html"].suffix == ".html"
