"""What comes, what was measured, and what is set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """Processor time and memory of the parts, on one core of the machine of docs/performance.md."""

    proxy_request_s: float = 21.3e-6
    """A request of 1 KB, one in ten sampled and stored: `python -m benchmarks.proxy`."""
    proxy_event_s: float = 9.8e-6
    """An event of a stream that comes alone: the same."""
    proxy_stream_bytes: float = 6.8e3
    """Memory of an open stream: 5,000 of them took the proxy from 47 to 81 MB; the same."""
    worker_pair_s: float = 3.3e-3
    """A pair of answers perturbed, compared and logged without a judge: `python -m benchmarks.worker`."""
    monitor_verdict_s: float = 110e-6
    """A verdict read, folded and committed (9,100 a second, SQLite): `python -m benchmarks.monitor`."""
    redis_exchange_s: float = 42e-6
    """Redis' own, for an exchange put, leased and acknowledged: `python -m benchmarks.scaling --redis`."""
    redis_exchange_bytes: float = 2_920
    """What a waiting exchange takes there; the same."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An upstream or a judge, as the provider offers it. Assumptions, not measurements."""

    seconds: float
    """Mean time of a call."""
    tokens: float
    """Prompt and completion of a call."""
    usd: float
    """What a call costs."""
    requests_per_minute: float
    """Its limit for the credential that is used."""


@dataclass(frozen=True, slots=True)
class Load:
    """Traffic, and the settings that matter for it."""

    name: str
    requests_per_s: float
    sampling_rate: float
    workers: int
    usd_per_day: float
    replay: Endpoint = Endpoint(4.0, 1_300, 0.001, 10_000)
    judge: Endpoint = Endpoint(2.0, 2_000, 0.002, 5_000)
    events_per_answer: float = 200.0
    """Streamed answers; 1 = not streamed."""
    answer_s: float = 8.0
    """How long a forwarded request is open."""
    trials: int = 3
    """Of an exchange: the identical resend and `trials_per_exchange`."""
    judged_share: float = 0.4
    """Pairs that the cascade leaves to the judge."""
    exchanges_at_once: int = 16
    """Of a worker."""
    replays_at_once: int = 8
    """`shadow.concurrency`, of a worker."""
    judgements_at_once: int = 4
    """`judge.concurrency`, of a worker."""
    queue: int = 20_000
    """`redis.exchanges`."""

    @property
    def sampled_per_s(self) -> float:
        """Exchanges that reach the queue."""
        return self.requests_per_s * self.sampling_rate

    @property
    def exchange_usd(self) -> float:
        """What the trials of one exchange cost."""
        return self.trials * (self.replay.usd + self.judged_share * self.judge.usd)


AS_SHIPPED = tuple(
    Load(f"{rate:,} requests/s, as shipped", rate, 0.1, 2, 10.0) for rate in (10, 1_000, 100_000)
)
PLANNED = (
    Load("10 requests/s, planned", 10, 0.01, 1, 40.0),
    Load("1,000 requests/s, planned", 1_000, 0.001, 4, 500.0),
    Load("100,000 requests/s, planned", 100_000, 0.0001, 32, 5_000.0),
)
RICH = (
    Load("1,000 requests/s, 4 workers, no budget", 1_000, 0.1, 4, 1e9),
    Load("1,000 requests/s, 100 workers, no budget", 1_000, 0.1, 100, 1e9),
    Load(
        "and the endpoint's limit lifted",
        1_000,
        0.1,
        100,
        1e9,
        replay=Endpoint(4.0, 1_300, 0.001, 100_000),
    ),
)
"""What gives way when money does not."""
