"""What a load takes of each part, by arithmetic, and which part gives way first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from benchmarks.scaling.load import Load, Measured

SECONDS_PER_DAY = 86_400.0
BUSY = 0.6
"""Share of a core that is planned for; the rest is for peaks."""


class Forwarding(NamedTuple):
    """What all requests take, sampled or not."""

    cores: float
    """Of proxies, at the share that is planned for."""
    streams: float
    """Open at once."""
    stream_gigabytes: float
    """That they take."""


def forwarding(load: Load, measured: Measured) -> Forwarding:
    """What the proxies need."""
    each_s = measured.proxy_request_s
    if load.events_per_answer > 1:
        each_s += load.events_per_answer * measured.proxy_event_s
    streams = load.requests_per_s * load.answer_s
    return Forwarding(
        load.requests_per_s * each_s / BUSY, streams, streams * measured.proxy_stream_bytes / 1e9
    )


def capacities(load: Load, measured: Measured) -> dict[str, float]:
    """Exchanges a second that each part could carry, were it alone."""
    judgements = load.trials * load.judged_share
    residence_s = load.replay.seconds + load.judged_share * load.judge.seconds + measured.worker_pair_s
    return {
        "sampling": load.sampled_per_s,
        "budget": load.usd_per_day / SECONDS_PER_DAY / load.exchange_usd,
        "exchanges a worker holds": load.workers * load.exchanges_at_once / residence_s,
        "replays at once": load.workers * load.replays_at_once / (load.trials * load.replay.seconds),
        "worker's processor": load.workers / (load.trials * measured.worker_pair_s),
        "endpoint's limit": load.replay.requests_per_minute / 60 / load.trials,
        "judge's limit": load.judge.requests_per_minute / 60 / judgements,
        "judgements at once": load.workers * load.judgements_at_once / (judgements * load.judge.seconds),
        "monitor": 1 / (load.trials * measured.monitor_verdict_s),
        **({"Redis": 1 / measured.redis_exchange_s} if measured.redis_exchange_s else {}),
    }


def bottleneck(parts: dict[str, float]) -> str:
    """The part that carries least."""
    return min(parts, key=lambda name: parts[name])
