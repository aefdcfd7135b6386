"""The judge of the settings: what a section leaves open is that of the upstream's provider.

Prompts and answers then go to the provider that has them already, with the key that replays use there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from evenkeel.llm.providers import SmallModel, small_model
from evenkeel.settings.credentials import keys_by_route
from evenkeel.settings.scoring import JudgeSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.settings.replay import ReplaySettings
    from evenkeel.settings.routes import Route

JUDGE_KEY: Final = "EVENKEEL_JUDGE_API_KEY"
"""Variable with the key of a judge that has an endpoint of its own."""


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
