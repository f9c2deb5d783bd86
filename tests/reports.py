"""Reports for tests: a story with hostile texts in it, and a page taken apart as a browser would."""

import json
from html.parser import HTMLParser
from pathlib import Path

from drysweep_pipeline.home import Home
from tests.story import tell

HUGE = "much of it " * 40_000
# What a finder may report of material that somebody wrote to be looked at in a browser.
HOSTILE = (
    "<script>window.ran = 1</script>",
    "</script><script>window.ran = 2</script>",
    "<img src=x onerror='window.ran = 3'>",
    '" onmouseover="window.ran = 4" x="',
    "</title><svg onload='window.ran = 5'>",
    "<!--<script>",
    "]]></style><style>* { display: none }</style>",
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe\u2028next\u200bline\x1b[2J",
    HUGE,
)
EVIDENCE = (
    "javascript:window.ran=6",
    'https://example.net/a?b=<script>window.ran=7</script>&c="x"',
    "data:text/html,<script>window.ran=8</script>",
    "see http://example.net/rule/3 and HTTP://EXAMPLE.NET and //example.net/x and vbscript:x",
)


def hostile_story(folder: Path) -> Home:
    """Play a campaign whose findings are hostile in every text that they have, and return its home."""
    rows = [
        {
            "subject": f"s{number} {text[:200]}",
            "kind": "k",
            "severity": ("blocker", "major", "minor", "nit")[number % 4],
            "title": text,
            "path": f"src/{text[:200]}.yaml".replace("\x1b", ""),
            "line": number,
            "owner": text[:300],
            "evidence": EVIDENCE[number % len(EVIDENCE)],
        }
        for number, text in enumerate(HOSTILE)
    ]
    script = {
        "why": "What is shown of hostile findings.",
        "budget": {"rounds": 6},
        "campaigns": [
            {
                "as_of": "2026-01-01",
                "rounds": [{"finders": {"a": rows, "b": rows[:1]}}, {"finders": {"a": []}}, {"finders": {"a": []}}],
                "expect": {"outcome": "converged"},
            }
        ],
    }
    return tell(folder, "hostile", json.dumps(script))


class Page(HTMLParser):
    """A page as it is parsed: its elements, the text of each, and what stands in its head."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "br", "input", "circle", "path", "rect", "line"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.texts.append((tuple(self._open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of every element of a name."""
        return [attributes for name, attributes in self.elements if name == tag]

    def said_in(self, tag: str) -> list[str]:
        """Return the texts inside of elements of a name, in order."""
        return [text for within, text in self.texts if tag in within]

    @property
    def text(self) -> str:
        """All that a person may read."""
        return " ".join(" ".join(text for within, text in self.texts if not {"script", "style"} & set(within)).split())
