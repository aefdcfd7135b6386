"""Settings that are gone, and what to do about each where it stands in somebody's file."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_PACE: Final = "the pace follows the endpoint's `Retry-After`; lower `concurrency`, or remove it"
_FIXED: Final = "it has a fixed value now; remove it"

GONE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "admin": "write `access`",
        "alert": "write `alerts`",
        "archive": "write `storage.archive` for exchanges_per_route and `storage.evidence_days` for days",
        "changes": "write `replays.goldens`",
        "embeddings": "similarity reads words, and an encoder added nothing measurable to it; remove it",
        "compounds": "offer a perturbation of your own (docs/api.md), or remove it",
        "console": _FIXED,
        "languages": "write `replays.languages`",
        "log": "write `telemetry.log_level` and `telemetry.log_format`",
        "metrics": "write `telemetry.metrics_detail`",
        "payloads": "write `storage.encrypted`",
        "prices": "write `budget.prices`",
        "redaction": "write `storage.redaction`",
        "redis": "write `storage.redis`",
        "references": "write `replays.references`",
        "reload": _FIXED,
        "rewriter": "write `replays.rewriter`",
        "scoring": "write `judge.qualities` and `judge.tasks`",
        "shadow": "write `replays`",
        "access.oidc": "let a login proxy sign people in and write `access.login` (docs/access.md)",
        "access.session_hours": _FIXED,
        "alerts.calibration": "the gate and the goldens are rated by the judge; remove it",
        "alerts.drift_tolerance": _FIXED,
        "alerts.other_clients": _FIXED,
        "alerts.provisional_after": _FIXED,
        "budget.reserve": _FIXED,
        "judge.audit_share": "only identical answers need no judge, so there is nothing to audit; remove it",
        "judge.cascade": "only identical answers need no judge; remove it",
        "judge.group": _FIXED,
        "judge.question_chars": _FIXED,
        "judge.requests_per_minute": _PACE,
        "judge.swap_share": _FIXED,
        "judge.timeout_s": _FIXED,
        "judge.tokens_per_minute": _PACE,
        "judge.votes": "one call rates a pair, and how noisy that is is measured; remove it",
        "listen.connections_per_address": "limit `listen.connections`, or clients at the load balancer",
        "monitor.routes": "every monitor watches all routes; remove it",
        "replays.answer_factor": _FIXED,
        "replays.burst_minutes": _FIXED,
        "replays.compounds": "offer a perturbation of your own (docs/api.md), or remove it",
        "replays.processor_s": _FIXED,
        "replays.references.burst_calls": _FIXED,
        "replays.references.false_alarms_per_year": _FIXED,
        "replays.rewriter.check_meaning": "the judge checks every rewritten text; remove it",
        "replays.rewriter.concurrency": _FIXED,
        "replays.rewriter.headroom_tokens": _FIXED,
        "replays.rewriter.stronger_model": "name the stronger model as `replays.rewriter.model`",
        "replays.rewriter.timeout_s": _FIXED,
        "routes.headers": "write `match.headers`",
        "routes.hosts": "write `match.hosts`",
        "routes.inputs": "write `trials.inputs`",
        "routes.key_fingerprints": "write `match.key_fingerprints`",
        "routes.owner": "write `contact.owner`",
        "routes.perturbations": "write `trials.perturbations`",
        "routes.plan": "write `trials.plan`",
        "routes.prefix": "write `match.prefix`",
        "routes.rollback": "write `contact.rollback`",
        "routes.runbook_url": "write `contact.runbook_url`",
        "routes.settled_rate": _FIXED,
        "routes.severities": _FIXED,
        "routes.trials.severities": _FIXED,
        "routes.shadow_api_key_env": "write `replay_key_env`",
        "routes.fallbacks.shadow_api_key_env": "write `replay_key_env`",
        "routes.trials_per_exchange": "write `trials.per_exchange`",
        "telemetry.evaluations": "ratings are events of the spans of trials; remove it",
        "storage.redaction.presidio.score": _FIXED,
        "storage.redis.evidence": "write `storage.evidence`",
        "storage.redis.evidence_days": "write `storage.evidence_days`",
        "storage.redis.exchange_hours": "write `storage.exchange_hours`",
        "storage.redis.exchanges": "limit `storage.redis.megabytes`, or remove it",
        "storage.redis.patience_s": _FIXED,
        "storage.redis.timeout_s": _FIXED,
        "storage.redis.verdicts": "write `storage.verdicts`",
    }
)
"""Advice for each setting that is gone, by its place without indexes of lists."""
