"""What models cost, from the price list that comes with pydantic-ai; nothing is fetched."""

from functools import lru_cache
from typing import Any

# One provider by several names, for its several protocols.
_SOLD_BY = {"openai-chat": "openai", "openai-responses": "openai", "google-cloud": "google"}


@lru_cache(maxsize=256)
def cost(model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Return what so many tokens of one request cost, in US dollars; None where the list does not know the model."""
    priced = _list()
    if priced is None:
        return None
    provider, _, name = model.partition(":")
    usage = priced.Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        found = priced.calc_price(usage, name, provider_id=_SOLD_BY.get(provider, provider))
    except (LookupError, ValueError):
        return None
    return float(found.total_price)


def _list() -> Any:
    try:
        import genai_prices
    except ImportError:
        return None
    return genai_prices
