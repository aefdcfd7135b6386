"""Which settings matter to a score, and a name for them: other settings, other scores."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from evenkeel.runtime import choices, replays

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.settings import Settings

_DIGITS = 12


def settings_that_matter(settings: Settings) -> dict[str, dict[str, str]]:
    """By route each setting that decides what is tried and how it is scored, as text. No credentials."""
    common = _flat({"alert.threshold": settings.alert.threshold, **_judge(settings), **_scoring(settings)})
    plans = replays.route_plans(settings)
    found: dict[str, dict[str, str]] = {}
    for route in settings.routes:
        plan = plans[route.name]
        own = _flat(
            {
                "perturbations": [f"{kind.name}@{kind.version}" for kind in plan.perturbations],
                "severities": list(plan.severities),
                "task": plan.task,
                "template": list(route.template),
            }
        )
        found[route.name] = common | own
    return found


def fingerprint(values: Mapping[str, str]) -> str:
    """12 hex digits that are others for other values."""
    text = json.dumps(dict(values), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def difference(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    """What differs, one line for each setting."""
    return tuple(
        f"{name}: {before.get(name, 'not set')} → {after.get(name, 'not set')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    )


def _judge(settings: Settings) -> dict[str, Any]:
    judge = settings.judge
    if judge is None:
        return {"judge": None}
    return {
        "judge.model": judge.model,
        "judge.base_url": judge.base_url,
        "judge.votes": judge.votes,
        "judge.swap_share": judge.swap_share,
        "judge.cascade": judge.cascade,
    }


def _scoring(settings: Settings) -> dict[str, Any]:
    calibration = choices.calibration(settings)
    return {
        "scoring.encoder": choices.encoder_name(settings),
        "scoring.calibration": calibration.goldens.sha256[:_DIGITS] if calibration else None,
        "scoring.calibrated_on": calibration.calibrated_on if calibration else None,
        "scoring.qualities": sorted(settings.scoring.qualities),
        "scoring.tasks": settings.scoring.tasks,
        "rewriter.model": settings.rewriter.model if settings.rewriter else None,
    }


def _flat(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
        for name, value in values.items()
    }
