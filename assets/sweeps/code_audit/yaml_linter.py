"""A linter that was not made for drysweep, as a strategy: yamllint, one of its rules a round."""

from collections.abc import Iterator
from typing import Any

from yamllint import linter
from yamllint.config import YamlLintConfig

_SEVERITIES = {"error": "major", "warning": "minor"}


def find(material: Any, angle: dict[str, Any], rng: Any) -> Iterator[dict[str, Any]]:
    """Yield what one rule of yamllint says about every YAML file of the material."""
    config = YamlLintConfig(f"rules: {{{angle['rule']}: enable}}")
    files = material.query(r"select path, text from files where regexp_matches(path, '\.ya?ml$') and text is not null")
    for file in files:
        lines = file["text"].splitlines()
        for problem in linter.run(file["text"], config):
            text = " ".join(lines[problem.line - 1].split()) if problem.line <= len(lines) else ""
            yield {
                "path": file["path"],
                "kind": problem.rule or "syntax",
                "severity": _SEVERITIES[problem.level],
                "title": f"{problem.desc}: {text}",
                "line": problem.line,
                "evidence": text,
            }
