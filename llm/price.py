"""Prices of calls, and a rough number of tokens where an endpoint reports none."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

Price = Callable[[str, int, int], float]
"""US dollars for (model, prompt tokens, completion tokens)."""

_CHARS_PER_TOKEN: Final = 4
"""A usual rule of thumb for English; only used where the endpoint reports no usage."""
_LEAST_BYTES_PER_TOKEN: Final = 2
"""Ordinary text of any script, code and digits need fewer tokens than one for two bytes."""
MESSAGE_TOKENS: Final = 16
"""What a chat template may put around a message."""
_MILLION: Final = 1e6


def free(model: str, prompt_tokens: int, completion_tokens: int) -> float:  # noqa: ARG001 - a Price
    """The default price: nothing."""
    return 0.0


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """What a model costs, in US dollars per million tokens."""

    input_usd: float
    output_usd: float


def price_usd(model: str, prompt_tokens: int, completion_tokens: int) -> float:
    """List price of a call in US dollars; 0 for a model without a public price (self-hosted).

    Source: the price table shipped with genai-prices; nothing is fetched.
    """
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - takes memory, and not everybody has prices

    try:
        price = calc_price(Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens), model)
    except LookupError:
        return 0.0
    return float(price.total_price)


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of calls: those configured, else the public list."""

    configured: Mapping[str, ModelPrice] = field(default_factory=dict)

    def usd(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of a call in US dollars: as configured, else as listed."""
        own = self.configured.get(model)
        if own is not None:
            return (prompt_tokens * own.input_usd + completion_tokens * own.output_usd) / _MILLION
        return price_usd(model, prompt_tokens, completion_tokens)


def estimate_tokens(text: str) -> int:
    """Rough number of tokens of a text, for endpoints that report no usage."""
    return len(text) // _CHARS_PER_TOKEN + 1


def tokens_at_most(texts: Iterable[str], *, around: int = MESSAGE_TOKENS) -> int:
    """Upper estimate of the tokens of some texts, by their bytes.

    Args:
        texts: Contents of messages.
        around: Tokens that the server may put around each.
    """
    return sum(len(text.encode("utf-8", "replace")) // _LEAST_BYTES_PER_TOKEN + around for text in texts)
