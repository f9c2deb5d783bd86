"""Strategies and judges that ask the scripted model, for tests: files written in place, prices easy to add up."""

from pathlib import Path
from typing import Any

from drysweep_pipeline.values import Usage
from tests.model_server import Answer, Asked, ModelServer, found

ROWS = "select service, path from services order by service"
PRICE = {"input_usd_per_million": 1000.0, "output_usd_per_million": 10_000.0}
"""A thousandth of a dollar a token that is sent, a hundredth one that is answered."""


def model(folder: Path, server: ModelServer, name: str = "asks", **more: Any) -> dict[str, Any]:
    """A strategy that asks the scripted model about the services of the registry."""
    (folder / f"{name}.md").write_text(more.pop("prompt", "Services without an owner."))
    (folder / f"{name}.rows.sql").write_text(more.pop("rows", ROWS))
    caps = more.pop("caps", {"max_rows_sent": 100, "max_chars": 5000})
    return {
        "name": name,
        "kind": "llm",
        "model": "openai-chat:scripted",
        "base_url": server.url,
        "price": PRICE,
        "prompt": {"file": f"{name}.md"},
        "send": {"query": {"file": f"{name}.rows.sql"}, **caps},
        "max_output_tokens": 1000,
        "retries": 0,
        **more,
    }


def judge(server: ModelServer, **more: Any) -> dict[str, Any]:
    """A judge that asks the scripted model."""
    return {
        "kind": "llm",
        "models": ["openai-chat:scripted"],
        "base_url": server.url,
        "price": PRICE,
        "max_output_tokens": 500,
        "retries": 0,
        **more,
    }


def cites(row: int, service: str, **more: Any) -> dict[str, Any]:
    """A finding as the model gives it."""
    return {"cited_row": row, "service": service, "failure_mode": "no_owner", **more}


def honest(asked: Asked) -> Answer:
    """What a model says that finds every service whose name ends in x."""
    rows = enumerate(asked.rows, 1)
    return found(*(cites(number, row["service"]) for number, row in rows if row["service"].endswith("x")))


def verdict(said: str = "confirmed", reason: str = "as quoted") -> Answer:
    """What a model says that judges."""
    return Answer({"verdict": said, "reason": reason})


def used(tokens: tuple[int, int] = (1000, 50), calls: int = 1) -> Usage:
    """What so many calls use that each take so many tokens."""
    sent, answered = tokens
    return Usage(calls, calls * (sent + answered), calls * (sent * 1000 + answered * 10_000) / 1_000_000)
