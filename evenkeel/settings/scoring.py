"""How answers are compared and judged, and when an alert is raised."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from evenkeel.settings.values import HttpUrl, Rate, Seconds, Section


class Quality(Section):
    """A quality of answers that the judge rates, in words."""

    description: Annotated[str, Field(min_length=1)]
    """What to look at."""
    scale: dict[int, str]
    """What 3 (best), 2 and 1 mean."""


class Scoring(Section):
    """How answers are compared."""

    embeddings: bool | None = None
    """Sentence embeddings; `null` uses them if the extra `semantic` is installed."""
    bands: Path | None = None
    """File that says which pairs are clear without the judge; none = careful defaults."""
    qualities: dict[str, Quality] = {}
    """Further qualities that the judge rates, by name."""
    tasks: dict[str, list[str]] = {}
    """Which qualities the judge rates in a task, in place of the task's own."""


class Judge(Section):
    """An OpenAI-compatible model that rates pairs of answers."""

    base_url: HttpUrl = "https://api.openai.com/v1"
    """Its endpoint, up to and including the version."""
    model: str
    """Its model name."""
    api_key_env: str = "EVENKEEL_JUDGE_API_KEY"
    """Variable with its key."""
    timeout_s: Seconds = 60.0
    """Limit of one call."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Calls under way at once."""
    requests_per_minute: Annotated[float, Field(ge=1)] | None = None
    """Pace of the calls; `null` = as the endpoint's `Retry-After` asks."""
    tokens_per_minute: Annotated[float, Field(ge=1)] | None = None
    """Pace of prompt and completion tokens together."""
    reply_tokens: Annotated[int, Field(ge=1, le=100_000)] = 300
    """Usual length of a reply, for the budget; some thousand for models that reason."""
    votes: Annotated[int, Field(ge=1, le=9)] = 1
    """Calls for one rating, an odd number; the median counts."""
    swap_share: Rate = 0.5
    """Share of the similarity calls that show the two answers in the other order."""
    recheck_share: Rate = 0.02
    """Share of the judged pairs that are judged again, to measure the judge's own noise."""
    cascade: bool = True
    """Whether cheap metrics decide the pairs that are clear, and the judge the others."""
    audit_share: Rate = 0.05
    """Share of the pairs decided by cheap metrics that the judge rates as well, to watch the agreement."""

    @model_validator(mode="after")
    def _odd_votes(self) -> Judge:
        if self.votes % 2 == 0:
            raise ValueError(f"votes must be odd, so that there is a median; {self.votes} is even")
        return self


class Alert(Section):
    """When an alert is raised, and where it goes."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of content shifts above the noise floor that is tolerated."""
    mean_trials_between_false_alarms: Annotated[int, Field(ge=10)] = 10_000
    """For each cell; holds whatever the data."""
    min_trials: Annotated[int, Field(ge=1)] = 30
    """Nothing is reported of a cell with fewer."""
    webhook: HttpUrl | None = None
    """Gets each alert as a JSON POST."""
