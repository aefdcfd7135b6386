"""Settings of the judge and of alerts.

What the section of the judge leaves open is that of the upstream's provider. Prompts and answers then go to
the provider that has them already, with the key that replays use there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from evenkeel.core.tiers import tier_problem
from evenkeel.llm.providers import SmallModel, small_model
from evenkeel.proxy.routing import Upstream
from evenkeel.settings.credentials import keys_by_route
from evenkeel.settings.types import HttpUrl, Section, Variable, check_extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.settings.replay import ReplaySettings
    from evenkeel.settings.routes import Route


JUDGE_KEY: Final = "EVENKEEL_JUDGE_API_KEY"
"""Variable with the key of a judge that has an endpoint of its own."""
WEBHOOK_SECRET_VARIABLE: Final = "EVENKEEL_WEBHOOK_SECRET"  # noqa: S105 - the variable's name
SLACK_TOKEN_VARIABLE: Final = "EVENKEEL_SLACK_TOKEN"  # noqa: S105 - the variable's name
TEAMS_URL_VARIABLE: Final = "EVENKEEL_TEAMS_URL"
PAGERDUTY_KEY_VARIABLE: Final = "EVENKEEL_PAGERDUTY_KEY"


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
    tier: Literal["standard", "flex"] = "standard"
    """`flex` asks for ratings that are not urgent in OpenAI's flex tier, where the model has it: for about
    half of the price, and minutes later."""
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
    """Limits at which an alert is raised, and where it goes.

    News of an incident of 30 to 60 s becomes one message. A secret in `EVENKEEL_WEBHOOK_SECRET` signs posts
    to the webhook, as Standard Webhooks has it. The address of a Microsoft Teams workflow that takes posts in
    `EVENKEEL_TEAMS_URL`, or the routing key of a PagerDuty integration "Events API v2" in
    `EVENKEEL_PAGERDUTY_KEY`, turns that service on.
    """

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of content shifts above the noise floor that is tolerated."""
    quality_loss: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of answers that got worse, above that of the identical resends."""
    invalid: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Largest share of answers that ignore the format or language asked for."""
    limits: Path | None = None
    """`limits.json` of `evenkeel calibrate --limits`: limits by route, in place of those not set here."""
    mean_trials_between_false_alarms: Annotated[int, Field(ge=10)] = 10_000
    """Average number of trials between two false alarms, all cells together, if blocks of 40 exchanges are
    exchangeable."""
    min_trials: Annotated[int, Field(ge=1)] = 30
    """Fewest trials with which anything is reported of a cell."""
    webhook: HttpUrl | None = None
    """Gets each incident as a JSON POST: when it is opened, when it becomes graver, when it is resolved."""
    slack_channel: str = ""
    """Slack channel for one message an incident, updated in place and answered in its thread. Needs the token
    of a bot that may `chat:write`, in `EVENKEEL_SLACK_TOKEN`."""
    notify: list[Variable] = []
    """Variables with addresses of other services, all that apprise knows. Needs the extra `notify`."""
    console_url: HttpUrl | None = None
    """Address at which people reach the console; messages link there."""


def default_judge(routes: Sequence[Route], replays: ReplaySettings) -> JudgeSettings | None:
    """Return the judge for settings without a section for it; None where no provider is known."""
    has_small_model = any(small_model(route.upstream) for route in routes)
    return judge_of(JudgeSettings(), routes, replays) if has_small_model else None


def judge_of(section: JudgeSettings, routes: Sequence[Route], replays: ReplaySettings) -> JudgeSettings:
    """Return a section with what it leaves open filled in.

    Open may be the model, the endpoint and the variable of the key. They are those of the first route whose
    provider is known, with the key of the replays to it.

    Raises: ValueError if the section leaves open what nobody knows.
    """
    if section.local:
        return section
    if section.base_url:
        small = small_model(section.base_url)
        return _filled(section, section.base_url, small, JUDGE_KEY)
    # Of the first upstream of each route: a fallback need not have the model.
    keys = []
    for upstream_keys in keys_by_route(routes, replays).values():
        keys.append(upstream_keys[0])
    route = next((key for key in keys if small_model(key.upstream.origin)), keys[0])
    if section.model:
        # Who names a model means one of the first route, whatever other providers there are.
        route = keys[0]
    small = small_model(route.upstream.origin)
    # The judge's client takes URLs alone.
    if route.upstream.unix_path is not None:
        raise ValueError("judge.base_url: is needed, because the upstream is a Unix socket")
    url = f"{route.upstream.origin}{small.path}" if small else route.upstream.url("/v1")
    # A variable that is empty now may be filled later, so the preferred one is named all the same.
    held = next((key for key in route.replays if key.held), None)
    key = held or next(iter(route.replays), None)
    return _filled(section, url, small, key.variable if key else JUDGE_KEY)


def _filled(section: JudgeSettings, base_url: str, small: SmallModel | None, variable: str) -> JudgeSettings:
    if not section.model and small is None:
        raise ValueError(f"judge.model: is missing; no small model is known at {urlsplit(base_url).hostname}")
    judge = section.model_copy(
        update={
            "base_url": base_url,
            "model": section.model or (small.model if small else ""),
            "api_key_env": section.api_key_env or variable,
        }
    )
    # Only now: which tiers there are depends on the endpoint that was filled in.
    judge.check_tier()
    return judge
