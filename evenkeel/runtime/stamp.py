"""Stamp of verdicts: a fingerprint of the settings under which they were made.

On its own, because a worker makes stamps and needs nothing else of what is done about changes.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from evenkeel.runtime import replays
from evenkeel.shadow.trial_log import Stamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.settings import Settings
    from evenkeel.stores.changes import ChangeStore

_DIGITS: Final = 12
# Share of the trials that are drawn at random for a person's label; they correct the judge's bias.
_LABEL_SHARE: Final = 0.02


def stamp_of(settings: Settings, store: ChangeStore) -> Stamp:
    """Return the stamp of every verdict, which identifies its settings, and store those settings."""
    names: dict[str, str] = {}
    for route, values in settings_that_matter(settings).items():
        names[route] = fingerprint(values)
        store.put_settings(names[route], values)
    judge = settings.judge.title if settings.judge else ""
    return Stamp(names, judge, _LABEL_SHARE)


def settings_that_matter(settings: Settings) -> dict[str, dict[str, str]]:
    """Return, by route, the settings that decide what is tried and how it is scored, without credentials."""
    # A rewriter's model decides what is asked; its endpoint and key do not.
    model = settings.replays.rewriter.model if settings.replays.rewriter else None
    rewriter = {"replays.rewriter.model": model}
    common = _flat({"alerts.threshold": settings.alerts.threshold, **_judge(settings), **rewriter})
    plans = replays.route_plans(settings)
    values_by_route: dict[str, dict[str, str]] = {}
    for route in settings.routes:
        plan = plans[route.name]
        own = _flat(
            {
                "perturbations": [f"{kind.name}@{kind.version}" for kind in plan.perturbations],
                "task": plan.task,
                "template": list(route.template),
            }
        )
        values_by_route[route.name] = common | own
    return values_by_route


def fingerprint(values: Mapping[str, str]) -> str:
    """Return 12 hex digits that differ for different values."""
    text = json.dumps(dict(values), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def _judge(settings: Settings) -> dict[str, Any]:
    judge = settings.judge
    if judge is None:
        return {"judge": None}
    # What a judge costs and how fast it is asked changes no rating.
    names = ("local", "model", "base_url", "qualities", "tasks")
    values = judge.model_dump()
    return {f"judge.{name}": values[name] for name in names}


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for name, value in values.items():
        is_text = isinstance(value, str)
        texts[name] = value if is_text else json.dumps(value, ensure_ascii=False, sort_keys=True)
    return texts
