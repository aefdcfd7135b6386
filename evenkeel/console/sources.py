"""Sources that the console reads. It owns no state: each page is read from them at request time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.monitor.fold import MonitorSettings
from evenkeel.monitor.notify import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import Budget, Spend, SpendKind
    from evenkeel.core.cells import CellReport, RollupReport, RouteChanges
    from evenkeel.core.exchange import DeadLetter
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.monitor.measuring import Measuring
    from evenkeel.release.challenge.board import ChallengeBoard
    from evenkeel.stores.archive import ExchangeArchive
    from evenkeel.stores.audit_log import ActionLog
    from evenkeel.stores.changes import GoldenRun, ReleaseRun
    from evenkeel.stores.counters import RouteFlow, UntriedPerturbation
    from evenkeel.stores.goldens import GoldenStore
    from evenkeel.stores.labels import LabelStore
    from evenkeel.stores.monitor_state import MonitorStore
    from evenkeel.stores.references import ReferenceStore
    from evenkeel.stores.verdict_log import VerdictLog


@dataclass(frozen=True, slots=True)
class PipelineView:
    """State of the replay plane, and of the set-up as far as the console reports it."""

    base_url: str
    """Base URL that an application sets, such as "http://127.0.0.1:8080/v1"."""
    routes: tuple[RouteFlow, ...] = ()
    waiting: int = 0
    """Exchanges in the queue that no worker has leased."""
    leased: int = 0
    dead: int = 0
    """Exchanges that were given up."""
    oldest_s: float = 0.0
    """Age in seconds of the oldest exchange that waits or is in progress."""
    tokens_today: int = 0
    usd_today: float = 0.0
    budget_tokens: int | None = None
    """Tokens per day; None = no limit."""
    budget_usd: float | None = None
    """US dollars per day; None = no limit."""
    judge: str = ""
    """The judge's model name; "" without a judge, where similarity is all there is."""
    simulated: bool = False
    """True if the upstream is `evenkeel simulate`, so that nobody mistakes a demo for production."""
    untried: tuple[UntriedPerturbation, ...] = ()
    """Rewordings that were requested but could not be tried."""
    notices: Sequence[str] = ()
    """Things an operator must know, each a sentence that says what to do."""


class JudgeSetup(NamedTuple):
    """Settings of the judge."""

    model: str
    endpoint: str
    """Address of the endpoint, without credentials."""


class RouteSetup(NamedTuple):
    """Settings that decide how the requests of a route become trials."""

    route: str
    base_url: str
    """Base URL that an application sets."""
    upstream: str
    """Address of the upstream, without credentials."""
    sampling_rate: float
    """Share of the requests that are replayed, in [0, 1]."""
    trials_per_exchange: int
    """Perturbed trials of each sampled request, besides the control."""
    rewordings: int
    """Number of rewordings that can run with the current settings."""


class ReferenceSetup(NamedTuple):
    """Settings of reference prompts."""

    calls_per_day: int
    """Calls of a route per day, spread over the day."""
    burst_calls: int
    """Further calls per suspicion, made at once."""
    usd_per_day: float | None
    """US dollars of a route per day; None = no limit besides the common ones."""
    false_alarms_per_year: float
    """False alarms of a route per year, at most, on average."""


@dataclass(frozen=True, slots=True)
class ConsoleSources:
    """Everything the console reads. All of it may block and is called from several threads."""

    # Callables instead of values: each request reads what is true then.

    reports: Callable[[], list[CellReport]]
    """The latest report of every known cell, baselines included, in any order."""
    log: VerdictLog
    monitor_store: MonitorStore
    exposition: Callable[[], bytes]
    """The metrics in the Prometheus text format 0.0.4."""
    measuring: Callable[[], Measuring]
    """State of measuring, and what holds it up."""
    pipeline: Callable[[], PipelineView]
    clock: Callable[[], float]
    """Unix time in seconds."""
    goldens: GoldenStore
    archive: ExchangeArchive
    """Archived exchanges, which can be approved."""
    references: ReferenceStore
    labels: LabelStore
    actions: ActionLog
    """Audit log."""
    challengers: ChallengeBoard
    reference_setup: ReferenceSetup
    rollups: Callable[[], list[RollupReport]] = list
    """Estimates over several cells."""
    changes: Callable[[], list[RouteChanges]] = list
    """Changes of model and prompt, by route."""
    change_reports: Callable[[], Sequence[ChangeReport]] = tuple
    """The latest changes with their causes, the newest first."""
    writer: Writer = field(default_factory=Writer)
    """Says what happened in an incident."""
    setup: tuple[RouteSetup, ...] = ()
    """Set-up of each route, for the set-up page and the first hour."""
    releases: Callable[[], list[ReleaseRun]] = list
    """Results of gates and checks, oldest first."""
    golden_runs: Callable[[], Mapping[str, GoldenRun]] = dict
    """The last run of each route's goldens."""
    silent: Callable[[], Sequence[SilentReport]] = tuple
    """State of the tests for silent changes, by route and requested model."""
    trace_url: str | None = None
    """URL of a trace, with the placeholder `{trace_id}`; None shows the bare id."""
    spent: Callable[[], Mapping[tuple[str, SpendKind], Spend]] = dict
    """The day's spend by route and purpose."""
    budgets: Mapping[str, Budget] = field(default_factory=dict)
    """Budgets of routes that have limits of their own."""
    dead_letters: Callable[[int], Sequence[DeadLetter]] = lambda _: ()
    """Returns the newest exchanges that were given up, at most this many."""
    judge: JudgeSetup | None = None
    """Settings of the judge; None without a judge."""
    thresholds: MonitorSettings = field(default_factory=MonitorSettings)
    """Limits of alerts, calibrated or not."""
    settings: Callable[[], str] = str
    """Settings in effect as YAML, without credentials."""
    signs_in: bool = False
    """True if people sign in, and so can sign out."""
