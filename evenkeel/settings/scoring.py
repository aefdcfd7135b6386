"""Settings of the judge and of alerts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evenkeel.core.tiers import tier_problem
from evenkeel.proxy.routing import Upstream
from evenkeel.settings.types import HttpUrl, Rate, Seconds, Section, Variable, check_extra


class Quality(Section):
    """A quality of answers that the judge rates, in words."""

    description: Annotated[str, Field(min_length=1)]
    """Aspect of the answer to look at."""
    scale: dict[int, str]
    """Meanings of 3 (best), 2 and 1."""


class JudgeSettings(Section):
    """An OpenAI-compatible model that rates pairs of answers.

    Without this section, a small model of the upstream's provider is the judge, if that provider is known;
    `null` = none, and contradictions cannot be seen.
    """

    base_url: HttpUrl = ""
    """Endpoint, up to and including the version; none = that of the first route."""
    model: str = ""
    """Model name; none = a small model of the provider, if it is known."""
    api_key_env: Variable = ""
    """Variable with its key; none = `EVENKEEL_JUDGE_API_KEY`, without `base_url` the variable of the replays'
    key."""
    local: str | None = None
    """Name or folder of an entailment cross-encoder that judges here, in place of a model behind an endpoint.
    It knows prose alone, and English unless it says otherwise. Needs the extra `semantic`."""
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    """Calls under way at once."""
    reply_tokens: Annotated[int, Field(ge=1, le=100_000)] = 300
    """Usual length of a reply, for the budget; some thousand for models that reason."""
    tier: Literal["standard", "flex"] = "standard"
    """`flex` asks for ratings that are not urgent in OpenAI's flex tier, where the model has it: for about
    half of the price, and minutes later."""
    recheck_share: Rate = 0.02
    """Share of the judged pairs that are judged again, to measure the judge's own noise."""
    qualities: dict[str, Quality] = {}
    """Further qualities that the judge rates, by name."""
    tasks: dict[str, list[str]] = {}
    """Qualities that the judge rates in a task, in place of the task's own."""

    @model_validator(mode="after")
    def _consistent(self) -> JudgeSettings:
        if self.local and (self.model or self.base_url):
            raise ValueError("local judges without an endpoint: set it, or model and base_url")
        if self.local:
            check_extra("sentence_transformers", "semantic")
        return self

    @property
    def title(self) -> str:
        """Name under which verdicts hold its ratings."""
        return self.local or self.model

    def check_tier(self) -> None:
        """Check that the endpoint has the tier. Raises: ValueError."""
        if self.tier == "flex" and (problem := tier_problem("flex", Upstream.parse(self.base_url).host)):
            raise ValueError(f"judge.tier flex: {problem}")


class Alerts(Section):
    """Limits at which an alert is raised, and where it goes."""

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of content shifts above the noise floor that is tolerated."""
    similarity_loss: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Largest mean loss of similarity against the control that is tolerated."""
    quality_loss: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of answers that got worse, above that of the identical resends."""
    invalid: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of answers that ignore the format or language asked for."""
    limits: Path | None = None
    """`limits.json` of `evenkeel calibrate --limits`: limits by route, in place of those not set here."""
    mean_trials_between_false_alarms: Annotated[int, Field(ge=10)] = 10_000
    """Average number of trials between two false alarms, all cells together."""
    min_trials: Annotated[int, Field(ge=1)] = 30
    """Fewest trials with which anything is reported of a cell."""
    webhook: HttpUrl | None = None
    """Gets each incident as a JSON POST: when it is opened, when it becomes graver, when it is resolved."""
    webhook_secret_env: Variable | None = None
    """Variable with the secret that signs these posts, as Standard Webhooks has it."""
    slack_token_env: Variable | None = None
    """Variable with the token of a Slack bot that may `chat:write`; one message an incident, updated in place
    and answered in its thread."""
    slack_channel: str = ""
    """Channel that it posts to."""
    teams_url_env: Variable | None = None
    """Variable with the address of a Microsoft Teams workflow that takes posts."""
    pagerduty_key_env: Variable | None = None
    """Variable with the routing key of a PagerDuty integration "Events API v2"."""
    notify: list[Variable] = []
    """Variables with addresses of other services, all that apprise knows. Needs the extra `notify`."""
    notify_window_s: Seconds = 30.0
    """Seconds in which news of an incident becomes one message; up to twice as long if more came within the
    last third."""
    console_url: HttpUrl | None = None
    """Address at which people reach the console; messages link there."""

    @model_validator(mode="after")
    def _slack_knows_where(self) -> Alerts:
        if (self.slack_token_env is None) != (not self.slack_channel):
            raise ValueError("slack_token_env and slack_channel are set together: set both, or neither")
        return self
