"""Prices of calls, and a rough number of tokens where an endpoint reports none."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from evenkeel.core.budget import Spend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier


class Price(Protocol):
    """US dollars for a call."""

    def __call__(
        self,
        model: str,
        prompt_tokens: int,
        completion_tokens: int,
        tier: Tier = "standard",
        cached_tokens: int = 0,
        /,
    ) -> float:
        """Return the price of a call, answered in a tier, of whose prompt some tokens came from a cache."""


# Name of a tier in the public list; a model without a price for it is listed at its standard one.
_CONTEXT: Final[dict[Tier, dict[str, str] | None]] = {
    "standard": None,
    "flex": {"service_tier": "flex"},
}

# A usual rule of thumb for English; only used where the endpoint reports no usage.
_CHARS_PER_TOKEN: Final = 4
MOST_TOKENS: Final = 10_000_000
"""Most tokens of a call, more than any model reads. A server that reports more reports nothing: an absurd
number must not use up a budget."""
MESSAGE_TOKENS: Final = 16
"""Tokens that a chat template may put around a message."""
_MILLION: Final = 1_000_000


def free(*_call: object) -> float:
    """Return the price of a call where nothing costs anything."""
    return 0.0


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """Price of a model, in US dollars per million tokens."""

    input_usd: float
    output_usd: float

    @property
    def said(self) -> str:
        """The price in words, after the name of a model."""
        return f"counts ${self.input_usd:g} per million tokens in and ${self.output_usd:g} per million out"


# Ends of names that pin a snapshot, which lists of prices leave out.
_DATED: Final = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$")
# Largest multiple of its base's price that a fine-tuned model costs, by the beginning of its name.
_FINE_TUNED: Final = (("gpt-3.5", 6.0), ("o4-mini", 4.0), ("", 2.0))
# Names come from requests; a longer one is no model's.
_LONGEST_NAME: Final = 200


class _Listing(NamedTuple):
    """Place of a model in the public list."""

    name: str
    provider: str | None
    """None where the name says it."""
    factor: float


@lru_cache(maxsize=4096)
def _listing(model: str) -> _Listing | None:
    """The public list's entry of a model, None without one: `openai/gpt-4o` is `gpt-4o` there.

    Of one that the list knows by its provider only, the dearest. What costs nothing there is not known,
    unless its name says that it is free.
    """
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - takes memory, and not everybody has prices
    from genai_prices.data import providers  # noqa: PLC0415

    name = model[:_LONGEST_NAME].rsplit("/", 1)[-1]
    factor = 1.0
    if name.startswith("ft:"):
        name = name.split(":")[1]
        factor = next(factor for base, factor in _FINE_TUNED if name.startswith(base))
    some = Usage(input_tokens=_MILLION, output_tokens=_MILLION)
    for known_as in dict.fromkeys((model[:_LONGEST_NAME], name, _DATED.sub("", name))):
        prices: list[tuple[float, _Listing]] = []
        for provider in (None, *(listed.id for listed in providers)):
            try:
                usd = float(calc_price(some, known_as, provider_id=provider).total_price)
            except LookupError:
                continue
            if usd or known_as.endswith(":free"):
                prices.append((usd, _Listing(known_as, provider, factor)))
            if provider is None:
                break
        if prices:
            return max(prices, key=itemgetter(0))[1]
    return None


def _listed_usd(
    model: str, prompt_tokens: int, completion_tokens: int, tier: Tier, cached_tokens: int
) -> float | None:
    """List price of a call in US dollars; None for a model without a public price.

    Source: the price table shipped with genai-prices; nothing is fetched.
    """
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - takes memory, and not everybody has prices

    listing = _listing(model)
    if listing is None:
        return None
    usage = Usage(
        input_tokens=prompt_tokens, cache_read_tokens=cached_tokens, output_tokens=completion_tokens
    )
    price = calc_price(usage, listing.name, provider_id=listing.provider, price_context=_CONTEXT[tier])
    return listing.factor * float(price.total_price)


ASSUMED: Final = ModelPrice(5.0, 25.0)
"""Price assumed for a model that nobody has a price for, where dollars are limited."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of calls: those configured, else the public list."""

    configured: Mapping[str, ModelPrice] = field(default_factory=dict)
    """Prices by name or by pattern: "llama*", or "*" for every model that has no other price."""
    required: bool = False
    """True if models without a price may not be replayed, because they could pass a limit in dollars."""
    assumed: ModelPrice | None = None
    """Price of models without any; None = they count zero dollars."""

    def usd(
        self,
        model: str,
        prompt_tokens: int,
        completion_tokens: int,
        tier: Tier = "standard",
        cached_tokens: int = 0,
    ) -> float:
        """Price of a call in US dollars: as configured, else as listed, else as assumed."""
        return self.dearest((model,), prompt_tokens, completion_tokens, tier, cached_tokens=cached_tokens)

    def dearest(
        self,
        names: Iterable[str | None],
        prompt_tokens: int,
        completion_tokens: int,
        tier: Tier = "standard",
        *,
        cached_tokens: int = 0,
    ) -> float:
        """Return the price by that one of a model's names, as requested and as reported, that costs most.

        Names with a price of their own in the settings go before all others.
        """
        cached_tokens = min(cached_tokens, prompt_tokens)
        known_names = [name for name in names if name]
        own = [price for price in map(self._configured, known_names) if price]
        if not own:
            listed: list[float] = []
            for name in known_names:
                usd = _listed_usd(name, prompt_tokens, completion_tokens, tier, cached_tokens)
                if _is_simulated(name):
                    listed.append(0.0)
                elif usd is not None:
                    listed.append(usd)
            if listed:
                return max(listed)
            last_resort = self.configured.get("*", self.assumed)
            own = [last_resort] if last_resort else []
        highest = 0.0
        for price in own:
            cost = prompt_tokens * price.input_usd + completion_tokens * price.output_usd
            highest = max(highest, cost)
        return highest / _MILLION

    def knows(self, *names: str | None) -> bool:
        """Return whether a model has a price, if only 0, by any of its names."""
        if "*" in self.configured:
            return True
        for name in names:
            if name and (self._configured(name) or _is_simulated(name) or _listing(name)):
                return True
        return False

    def unknown(self, *models: str) -> list[str]:
        """Return the models that have no price, each once."""
        return [model for model in dict.fromkeys(models) if not self.knows(model)]

    def refuses(self, *names: str | None) -> bool:
        """Return whether a model must not be replayed: a price is required, and no name of it has one."""
        return self.required and not self.knows(*names)

    def _configured(self, model: str) -> ModelPrice | None:
        """The price of this name, else of the longest pattern that covers it, except the last resort."""
        if model in self.configured:
            return self.configured[model]
        longest = ""
        for pattern in self.configured:
            if pattern != "*" and len(pattern) > len(longest) and fnmatchcase(model, pattern):
                longest = pattern
        return self.configured.get(longest)


def _is_simulated(model: str) -> bool:
    """Return whether it is a model of `evenkeel simulate`, which costs nothing."""
    return model.partition("-")[0] == "simulated"


def estimate_tokens(text: str) -> int:
    """Rough number of tokens of a text, for endpoints that report no usage."""
    return len(text) // _CHARS_PER_TOKEN + 1


# Text that servers put around a prompt: roles, a system prompt of their own.
_PROMPT_MARGIN: Final = 256
# Servers put instructions of their own around definitions of tools.
_TOOLS_MARGIN: Final = 1024
# A variant's answer is rarely three times as long as the original's, plus a margin for short ones.
_ANSWER_FACTOR: Final = 3
_ANSWER_MARGIN: Final = 1024
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens")
# Limit that some servers go by, whatever else a request says.
_OTHER_LIMITS: Final = ("max_new_tokens", "num_predict", "n_predict", "min_tokens")
# Tokens that some servers write beside the answer.
_THOUGHTS: Final = ("thinking_budget", "thinking_token_budget")


# Price of a prompt that the server keeps for minutes, as a multiple. Source: Anthropic, and OpenAI from
# gpt-5.6 on.
_CACHE_WRITE: Final = 1.25
# Price of a prompt that the server keeps for an hour (for minutes), as a multiple. Source: Anthropic.
_LONG_CACHE_WRITE: Final = 2.0


# Multiple of the price in a region of the client's choice. Source: Anthropic.
_IN_A_REGION: Final = 1.1


# Python refuses to read numbers of thousands of digits, and no limit has more than these.
_DIGITS: Final = 12
# Tokens that no budget has.
_ENDLESS: Final = 10**_DIGITS


def _members(body: bytes) -> dict[str, Any]:
    """The members of a request. One that cannot be read asks for no end of tokens, and so do many digits."""

    def whole(digits: str) -> int:
        return int(digits) if len(digits) <= _DIGITS else -1 if digits.startswith("-") else _ENDLESS

    try:
        read: dict[str, Any] = json.loads(body, parse_int=whole)
    except (ValueError, RecursionError):
        return {_LIMITS[0]: _ENDLESS}
    return read


def _most(members: dict[str, Any], names: tuple[str, ...]) -> int:
    """The most tokens that a request states by one of these names; a negative number has no end."""
    nested = []
    for key in ("options", "generationConfig", "generation_config"):
        nested.append(members.get(key))
    parts = [members, *(part for part in nested if isinstance(part, dict))]
    most = 0
    for part in parts:
        for name in names:
            limit = part.get(name)
            # A boolean is an int to isinstance, and no limit.
            if type(limit) is int:
                most = max(most, _ENDLESS if limit < 0 else limit)
    return most


def stated_limit(value: object) -> int | None:
    """The limit of an answer, in tokens, that a member of a request states; None if it limits nothing."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        return None
    return math.ceil(min(value, _ENDLESS))


PICTURE_TOKENS: Final = 50_000
"""The most tokens that a provider documents for a picture: 48,169 of gpt-4o-mini, 1,445 of gpt-4o and some
1,600 of Anthropic's. Source: "Images and vision" of OpenAI's and "Vision" of Anthropic's guides, 2025."""
# Types of parts that are pictures; their size in tokens does not follow from their bytes.
_PICTURES: Final = frozenset({"image_url", "input_image", "image"})
_OTHER_MEDIA: Final = frozenset({"input_audio", "audio_url", "video_url", "file", "input_file", "document"})
# Shorter texts in such a part are names and addresses.
_PAYLOAD_CHARS: Final = 512


def prompt_bound(members: Mapping[str, Any], size: int, prompt_tokens: int | None) -> int:
    """Return the most tokens of the prompt in a request of that many bytes.

    A token for each byte of text, and for inline media the tokens that the same media took before. Where the
    endpoint did not report those, a picture counts `PICTURE_TOKENS`, if that is less than its bytes.
    """
    tokens = prompt_tokens or 0
    pictures, others = _media_bytes(members)
    media_bytes = sum(pictures) + sum(others)
    if not media_bytes:
        return max(size, 2 * tokens)
    if tokens:
        return max(size - media_bytes + tokens, 2 * tokens)
    return size - max(0, sum(pictures) - PICTURE_TOKENS * sum(map(bool, pictures)))


def _media_bytes(members: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the bytes of each inline picture in a request's messages, and of other media."""
    pictures: list[int] = []
    others: list[int] = []
    left: list[Any] = []
    for name in ("messages", "input", "system", "contents"):
        left.append(members.get(name))
    while left:
        value = left.pop()
        if isinstance(value, list):
            left += value
        elif isinstance(value, dict):
            kind = value.get("type")
            inline = value.get("inlineData") or value.get("inline_data")
            if isinstance(kind, str) and kind in _PICTURES:
                pictures.append(_payload_bytes(value))
            elif isinstance(kind, str) and kind in _OTHER_MEDIA:
                others.append(_payload_bytes(value))
            elif not isinstance(inline, dict):
                left += value.values()
            elif str(inline.get("mimeType") or inline.get("mime_type")).startswith("image/"):
                pictures.append(_payload_bytes(inline))
            else:
                others.append(_payload_bytes(inline))
    return pictures, others


def _payload_bytes(part: dict[str, Any]) -> int:
    """Return the bytes of a part that are base64."""
    size, left = 0, [*part.values()]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, str) and len(value) >= _PAYLOAD_CHARS and _BASE64.fullmatch(value):
            size += len(value)
    return size


_BASE64: Final = re.compile(r"(?:data:[\w.+-]{1,60}/[\w.+-]{1,60};base64,)?[A-Za-z0-9+/_-]+={0,2}")


def with_cache_writes(prompt_tokens: int, written: int | None, factor: float = _CACHE_WRITE) -> int:
    """Return as how many tokens a prompt is priced of which the server keeps some in its cache."""
    return prompt_tokens + round((factor - 1) * min(written or 0, prompt_tokens))


class Quote:
    """The most that a request much like an earlier one costs, and what it is proven to have cost.

    The prompt has a token for each byte of the request's text at most, or twice the tokens of the earlier one
    if that is more, because the server adds some; pictures count as `prompt_bound` says; and some tokens are
    for what servers put around it. The answer is as long as the request allows. A request that states no
    limit is sent with `limit_tokens`.
    """

    def __init__(
        self,
        prices: Prices,
        names: Iterable[str | None],
        body: bytes,
        prompt_tokens: int | None,
        completion_tokens: int,
        tier: Tier = "standard",
        most_tokens: int | None = None,
    ) -> None:
        """Read the request, a JSON object.

        `prompt_tokens` (None if not reported) and `completion_tokens` are those of the earlier request.
        Without `most_tokens` the answer may be as long as the request says, or else three times the earlier
        one and 1,024.
        """
        self.tier = tier
        self.most_tokens = most_tokens
        members = _members(body)
        stated = []
        for name in _LIMITS:
            stated.append(stated_limit(members.get(name)))
        limits = []
        for limit in stated:
            if limit is not None:
                limits.append(limit)
        usual = most_tokens or _ANSWER_FACTOR * completion_tokens + _ANSWER_MARGIN
        most = max(limits, default=usual)
        self.limit_tokens = None if limits else most
        """Bounds the answer; None where the request does."""
        # The limit, if it is ours and not the client's.
        self._ours = most if not limits or most == most_tokens else None
        most = max(most, _most(members, _OTHER_LIMITS)) + _most(members, _THOUGHTS)
        around = _TOOLS_MARGIN if members.get("tools") or members.get("functions") else _PROMPT_MARGIN
        self._prices = prices
        self._names = tuple(names)
        self._factor = 1.0
        if b'"cache_control"' in body:
            self._factor = _LONG_CACHE_WRITE if b'"1h"' in body else _CACHE_WRITE
        self._dollars = _IN_A_REGION if members.get("inference_geo") not in (None, "global") else 1.0
        self.estimate = self._spend(prompt_bound(members, len(body), prompt_tokens) + around, most)
        """An upper bound."""

    def cuts(self, answer: Answer) -> bool:
        """Return whether an answer ends for no reason but our own limit."""
        reported = answer.completion_tokens
        return self._ours is not None and answer.cut and (reported is None or reported >= self._ours)

    def proven(self, answer: Answer, tier: Tier | None = None) -> Spend:
        """Return what an answer cost as its endpoint reports it, the estimate if it does not.

        `tier` is the one that answered; None = the one asked for.
        """
        if not answer.prompt_tokens or answer.completion_tokens is None:
            return self.estimate
        cached = min(answer.cached_tokens or 0, answer.prompt_tokens)
        return self._spend(
            answer.prompt_tokens,
            answer.completion_tokens,
            answer.model,
            tier=tier,
            cached=cached,
            written=answer.cache_write_tokens,
        )

    def _spend(
        self,
        prompt: int,
        completion: int,
        *names: str | None,
        tier: Tier | None = None,
        cached: int = 0,
        written: int | None = None,
    ) -> Spend:
        if written is None:
            written = prompt - cached if self._factor > 1 else 0
        priced = with_cache_writes(prompt, written, max(self._factor, _CACHE_WRITE))
        usd = self._prices.dearest(
            (*self._names, *names), priced, completion, tier or self.tier, cached_tokens=cached
        )
        return Spend(prompt + completion, self._dollars * usd)


def bound_of(texts: Iterable[str]) -> int:
    """Return the most tokens that contents of messages can have: no tokenizer makes two of one byte of UTF-8.

    The server may put `MESSAGE_TOKENS` tokens around each.
    """
    return sum(len(text.encode("utf-8", "replace")) + MESSAGE_TOKENS for text in texts)
