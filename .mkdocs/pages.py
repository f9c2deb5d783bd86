"""What the site shows beyond docs/: the decisions in their order, and files of the tree that pages link to."""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[1]
# A link from a page to what lies beside docs/, as it works where the page is read in the tree.
_OUTSIDE = re.compile(r"\]\((?:\.\./)+((?:README|CONTRIBUTING|CHANGELOG|examples/[\w/]+)\.md)(#[^)]*)?\)")
# Files that are no pages are there to be read in the tree.
_NO_PAGE = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?!\.\./)(?:examples|assets)/[^)#]*(?<!\.md)\)")
_DECISIONS = "decisions/"
_STYLE = "site.css"
# A name of one line, which may be too long for a cell of a table. Blocks of code end with a line of their own.
_NAME = re.compile(r"<code>([^<\n]{10,})</code>")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every decision into the navigation where it says ``decisions/``."""
    names = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))
    config.nav = _with(config.nav, [_DECISIONS + name for name in names])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what lies beside docs/ and pages link to, under the folder ``tree``."""
    for path in (*ROOT.glob("*.md"), *ROOT.glob("examples/*/README.md")):
        name = path.relative_to(ROOT).as_posix()
        content = _leading_into_docs(path.read_text(encoding="utf-8"), name.count("/"))
        hidden = InclusionLevel.NOT_IN_NAV
        files.append(File.generated(config, f"tree/{name}", content=content, inclusion=hidden))
    style = (ROOT / ".mkdocs" / _STYLE).read_text(encoding="utf-8")
    files.append(File.generated(config, _STYLE, content=style))
    return files


def on_page_content(html: str, **_: Any) -> str:
    """Let long names be broken after an underscore or a slash, so that a narrow screen shows all of a table."""
    return _NAME.sub(_breakable, html)


def _breakable(name: re.Match[str]) -> str:
    return "<code>" + re.sub("([_/])", r"\1<wbr>", name[1]) + "</code>"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to what lies beside docs/ to its copy on the site, or leave the words alone where it is no page."""
    up = "../" * page.file.src_uri.count("/")
    markdown = _NO_PAGE.sub(r"\1", markdown)
    return _OUTSIDE.sub(lambda found: f"]({up}tree/{found[1]}{found[2] or ''})", markdown)


def _leading_into_docs(text: str, depth: int) -> str:
    """Return a page from beside docs/ with its links as they have to be on the site."""
    up = "../" * (depth + 1)
    text = re.sub(r"\]\((?:\.\./)*docs/([^)]*)\)", rf"]({up}\1)", text)
    return re.sub(r"\[([^\]]+)\]\((?!http|#)(?![^)]*\.md)[^)]*\)", r"\1", text)


def _with(nav: Any, decisions: list[str]) -> Any:
    if isinstance(nav, list):
        return [_with(each, decisions) for each in nav]
    if isinstance(nav, dict):
        return {name: _with(each, decisions) for name, each in nav.items()}
    return decisions if nav == _DECISIONS else nav
