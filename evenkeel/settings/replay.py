"""How replays are sent, rewritten and paid for, and what happens after a change."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from evenkeel.settings.types import HttpUrl, Rate, Seconds, Section, UpstreamUrl, Variable


class Shadow(Section):
    """How replays are sent."""

    api_key_env: Variable = "EVENKEEL_SHADOW_API_KEY"
    """Variable with the replays' own credential; sent only if it is set, and only to one origin."""
    api_key_header: str = "authorization"
    """`authorization` sends `Bearer KEY`; any other header carries the bare key (`api-key`)."""
    api_key_origin: UpstreamUrl | None = None
    """The endpoint that the key is for, by scheme, host and port; `null` = that of all routes' `upstream`, if
    it is one. With several, replays to the others need `shadow_api_key_env` on their routes."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 8
    """Replays under way at once, all routes together."""
    timeout_s: Seconds = 120.0
    """Limit of one replay."""
    answer_factor: Annotated[float, Field(ge=1.5, le=100)] = 2.0
    """How many times as long as the original's answer one to a replay may be, and 256 tokens more. A longer
    one is asked for again, as long as the client allows."""
    processor_s: Seconds = 20.0
    """Processor time that the worker may take for one exchange. One that takes more becomes a dead letter,
    `processor_time`, and the worker is killed and started again if it does not come back (on Linux)."""
    client_exchanges_per_hour: Annotated[int, Field(ge=1)] | None = None
    """Sampled exchanges of one client that are queued in an hour, in each data-plane process; `null` = any
    number."""


class Archive(Section):
    """Sampled exchanges that are kept, the newest, so that they can be approved as goldens."""

    exchanges_per_route: Annotated[int, Field(ge=0, le=100_000)] = 1_000
    """0 keeps none, and drops those that were kept."""
    megabytes: Annotated[float, Field(gt=0)] = 64.0
    """What those of all routes may take of the store, compressed."""
    days: Annotated[float, Field(gt=0)] = 30.0
    """And how long they are kept."""


class Budget(Section):
    """What replays and judging may cost per UTC day, all routes together. `null` = no limit."""

    tokens_per_day: Annotated[int, Field(ge=0)] | None = 5_000_000
    """As the endpoints report them; estimated from the length where they do not."""
    usd_per_day: Annotated[float, Field(ge=0, le=1_000_000)] | None = 10.0
    """By `prices`, else public list prices. Set here, models without either are not replayed; under the
    default limit they count $5 per million tokens in and $25 out."""
    spread: bool = True
    """A quarter is free at once and the rest as the day goes, so that nights are watched too."""
    reserve: Rate = 0.2
    """Share that only urgent trials may use: after a change, or where one is suspected. So a change late in
    the day still gets its trials."""


class Price(Section):
    """What a model costs, in US dollars per million tokens."""

    input_usd: Annotated[float, Field(ge=0, le=1_000_000)]
    """Tokens of the prompt."""
    output_usd: Annotated[float, Field(ge=0, le=1_000_000)]
    """Tokens of the answer."""
    tier_share: Rate = 1.0
    """Share of it that a replay in the flex tier costs, such as 0.5."""
    cached_share: Rate = 1.0
    """Share of `input_usd` that tokens from the provider's prompt cache cost, such as 0.1."""


class Rewriter(Section):
    """An OpenAI-compatible model that paraphrases, changes the tone and translates."""

    base_url: HttpUrl = "https://api.openai.com/v1"
    """Its endpoint, up to and including the version."""
    model: str
    """Its model name."""
    stronger_model: str | None = None
    """Asked once when `model` has failed three times."""
    api_key_env: Variable = "EVENKEEL_REWRITER_API_KEY"
    """Variable with its key."""
    timeout_s: Seconds = 60.0
    """Limit of one call."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Calls under way at once, for each model."""
    headroom_tokens: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Tokens allowed beyond the text itself; some thousand for models that reason first."""
    check_meaning: bool | None = None
    """Whether the judge checks that a text still means the same; `null` = if there is a judge."""


class Changes(Section):
    """What is done about changes. All of it stays within the budgets."""

    burst_rate: Rate = 1.0
    """Share of a route's requests that is sampled after a change; a route that samples more goes on so."""
    burst_minutes: Annotated[float, Field(ge=0)] = 30.0
    """How long at most; 0 = no burst."""
    burst_exchanges: Annotated[int, Field(ge=1)] = 300
    """Sampled exchanges after which it ends earlier."""
    replay_goldens: bool = True
    """Whether the goldens of a route are asked again after a change."""
    canary_hours: Annotated[float, Field(ge=0)] = 24.0
    """Hours between two rounds of a route's goldens, to notice what nobody announces; 0 = none."""
    goldens_per_round: Annotated[int, Field(ge=1, le=1000)] = 50
    """Goldens of a route that are asked in one round, always the same ones."""


class References(Section):
    """Prompts of the traffic that are asked again, so that a change nobody announced is found."""

    calls_per_day: Annotated[int, Field(ge=0, le=100_000)] = 96
    """Of a route, spread over the day; 0 asks none and keeps none, as an archive of 0 exchanges does."""
    burst_calls: Annotated[int, Field(ge=0, le=1000)] = 60
    """Further calls at once where a change is suspected; twice a day at most."""
    usd_per_day: Annotated[float, Field(ge=0)] | None = 0.5
    """What they may cost a route on a day, within the budgets; `null` = no limit of their own."""
    false_alarms_per_year: Annotated[float, Field(gt=0, le=12)] = 0.02
    """Of a route on which nothing changes, at most on average."""
