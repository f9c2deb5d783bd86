"""The page of the history's tables says what the file itself says, on the line of DuckDB that is locked."""

from pathlib import Path

from drysweep_pipeline.history.page import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"


def test_the_page_of_tables_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "views or comments changed: run `make reference`"
