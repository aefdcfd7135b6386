"""Prices of calls, and a rough number of tokens where an endpoint reports none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
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


_SIMULATED: Final = "simulated-*"
"""Models of `evenkeel simulate`, which cost nothing."""
_DATED: Final = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
_FINE_TUNED: Final = (("gpt-3.5", 6), ("", 2))
"""By how much a fine-tuned model is dearer than its base at most, by the beginning of the base's name."""


def price_usd(model: str, prompt_tokens: int, completion_tokens: int) -> float:
    """List price of a call in US dollars; 0 for a model without a public price (self-hosted).

    `openai/gpt-4o` costs what `gpt-4o` does, an unlisted date or `-latest` what the model without it does,
    and `ft:gpt-4o:…` a multiple of its base.

    Source: the price table shipped with genai-prices; nothing is fetched.
    """
    return _listed_usd(model, prompt_tokens, completion_tokens) or 0.0


def _listed_usd(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """As `price_usd`, None for a model without a public price."""
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - takes memory, and not everybody has prices

    name = model.rsplit("/", 1)[-1]
    factor = 1
    if name.startswith("ft:"):
        name = name.split(":")[1]
        factor = next(factor for base, factor in _FINE_TUNED if name.startswith(base))
    for known_as in dict.fromkeys((model, name, _DATED.sub("", name))):
        try:
            price = calc_price(Usage(input_tokens=prompt_tokens, output_tokens=completion_tokens), known_as)
        except LookupError:
            continue
        return factor * float(price.total_price)
    return None


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of calls: those configured, else the public list."""

    configured: Mapping[str, ModelPrice] = field(default_factory=dict)
    """By name or by pattern: "llama*", or "*" for every model that has no other price."""
    required: bool = False
    """Whether models without a price may not be replayed, because they would pass a limit in dollars."""

    def usd(self, model: str, prompt_tokens: int, completion_tokens: int) -> float:
        """Price of a call in US dollars: as configured, else as listed, else 0."""
        return self._usd(model, prompt_tokens, completion_tokens) or 0.0

    def knows(self, model: str) -> bool:
        """Whether a model has a price, if only 0."""
        return self._usd(model, 1, 1) is not None

    def refuses(self, *names: str | None) -> bool:
        """Whether a model must not be replayed: a price is required, and it has none by any of its names."""
        return self.required and not any(name is not None and self.knows(name) for name in names)

    def name_of(self, *names: str | None) -> str:
        """The first of a model's names that has a price, else the first."""
        given = [name for name in names if name] or ["unknown"]
        return next((name for name in given if self.knows(name)), given[0])

    def _usd(self, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        own = self._configured(model, "*")
        if own is None:
            if fnmatchcase(model, _SIMULATED):
                return 0.0
            listed = _listed_usd(model, prompt_tokens, completion_tokens)
            if listed is not None:
                return listed
            own = self.configured.get("*")
        if own is None:
            return None
        return (prompt_tokens * own.input_usd + completion_tokens * own.output_usd) / _MILLION

    def _configured(self, model: str, last: str) -> ModelPrice | None:
        """The price of this name, else of the longest pattern that covers it, except the last resort."""
        if model in self.configured:
            return self.configured[model]
        patterns = [one for one in self.configured if one != last and fnmatchcase(model, one)]
        return self.configured[max(patterns, key=len)] if patterns else None


def estimate_tokens(text: str) -> int:
    """Rough number of tokens of a text, for endpoints that report no usage."""
    return len(text) // _CHARS_PER_TOKEN + 1


_TWICE: Final = 2
_PROMPT_MARGIN: Final = 256
_ANSWER_MARGIN: Final = 512
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")


def replay_at_most(body: bytes, prompt_tokens: int | None, completion_tokens: int) -> tuple[int, int]:
    """The most tokens that a request much like an earlier one is taken to need, prompt and answer.

    The prompt may be twice as long as the earlier one and 256 tokens more; of one whose length was not
    reported a token for two bytes is taken instead. The answer is as long as the request allows, which is a
    true bound; a request that states no limit is taken to get twice the earlier answer and 512 tokens more.

    Args:
        body: The request, a JSON object.
        prompt_tokens: Of the earlier request as its endpoint reported them, None if it did not.
        completion_tokens: Of its answer.
    """
    prompt = _TWICE * prompt_tokens if prompt_tokens else len(body) // _LEAST_BYTES_PER_TOKEN
    members = json.loads(body)
    stated = [members.get(name) for name in _LIMITS]
    limits = [one for one in stated if type(one) is int and one > 0]
    answer = max(limits) if limits else _TWICE * completion_tokens + _ANSWER_MARGIN
    return prompt + _PROMPT_MARGIN, answer


def bound_of(texts: Iterable[str], *, around: int = MESSAGE_TOKENS) -> int:
    """The most tokens that texts can have: no tokenizer makes two of one byte of UTF-8.

    Args:
        texts: Contents of messages.
        around: Tokens that the server may put around each.
    """
    return sum(len(text.encode("utf-8", "replace")) + around for text in texts)


def tokens_at_most(texts: Iterable[str], *, around: int = MESSAGE_TOKENS) -> int:
    """Upper estimate of the tokens of some texts, by their bytes.

    Args:
        texts: Contents of messages.
        around: Tokens that the server may put around each.
    """
    return sum(len(text.encode("utf-8", "replace")) // _LEAST_BYTES_PER_TOKEN + around for text in texts)
