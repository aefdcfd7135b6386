"""Settings of replays, of the rewriter, of what is asked again after a change, and of the budget."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evenkeel.settings.types import HttpUrl, Seconds, Section, Tag, Variable


class RewriterSettings(Section):
    """An OpenAI-compatible model that paraphrases, changes the tone and translates.

    The judge checks each text for its meaning; without one nothing is rewritten.
    """

    base_url: HttpUrl = "https://api.openai.com/v1"
    """Endpoint, up to and including the version."""
    model: str
    """Model name."""
    api_key_env: Variable = "EVENKEEL_REWRITER_API_KEY"
    """Variable with its key."""


class References(Section):
    """Prompts of the traffic that are asked again, so that a change nobody announced is found."""

    calls_per_day: Annotated[int, Field(ge=0, le=100_000)] = 288
    """Calls per route, spread over the day; 0 asks none and keeps none, and so does `storage.archive: 0`."""
    usd_per_day: Annotated[float, Field(ge=0)] | None = 0.5
    """Their daily cost per route, within the budgets; `null` = no limit of their own."""


class ReplaySettings(Section):
    """Sending of replays: credential, limits, reference prompts, rewriter."""

    api_key_env: Variable = "EVENKEEL_SHADOW_API_KEY"
    """Variable with the replays' own credential. It is sent only if the `upstream` of all routes is of one
    origin (scheme, host and port), and only there; else name each route's key in its `replay_key_env`."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    """Replays under way at once, all routes together, and as many calls of the judge."""
    timeout_s: Seconds = 120.0
    """Limit of one replay."""
    client_exchanges_per_hour: Annotated[int, Field(ge=1)] | None = None
    """Sampled exchanges of one client that are queued in an hour, in each data-plane process; `null` = any
    number. On a Redis nothing else keeps one client from taking the whole budget."""
    references: References = References()
    rewriter: RewriterSettings | None = None
    languages: list[Tag] = []
    """Further target languages of `multilingual`, as BCP 47 tags."""


class PriceSettings(Section):
    """Price of a model, in US dollars per million tokens."""

    input_usd: Annotated[float, Field(ge=0, le=1_000_000)]
    """Price of the prompt's tokens."""
    output_usd: Annotated[float, Field(ge=0, le=1_000_000)]
    """Price of the answer's tokens."""


class BudgetSettings(Section):
    """Daily limit (UTC) on the cost of replays and judging, all routes together. `null` = no limit.

    A quarter is available at once and the rest over the day, so that nights are watched too. Challengers may
    use a fifth of it.
    """

    tokens_per_day: Annotated[int, Field(ge=0)] | None = 5_000_000
    """Tokens as the endpoints report them; estimated from the length where they do not."""
    usd_per_day: Annotated[float, Field(ge=0, le=1_000_000)] | None = 10.0
    """Dollars by `prices`, else by public list prices. If you set it, models whose price nobody knows are not
    replayed; under the default limit they are taken to cost $5 per million tokens in and $25 out."""
    prices: dict[str, PriceSettings] = {}
    """Prices of models that the public list lacks, by name or pattern; `"*"` prices all that have none. A
    model of your own that is free: `{input_usd: 0, output_usd: 0}`."""
