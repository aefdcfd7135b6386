"""The processes behind the pipeline: worker, monitor, archive, traces."""

from __future__ import annotations

from typing import Final

from grafana import scales
from grafana.panels import Query, Words, bars, lines, number
from grafana.promql import rate, series

_ROUTE: Final = 'route=~"$route"'

# Totals, not increases: of a series that begins with its first event, Prometheus never sees that one come.
DEAD: Final = bars(
    Words(
        "Given up",
        "Exchanges moved to the dead letters since the counters began, by reason.",
        "none given up",
        runbook="EvenkeelDeadLetters",
    ),
    Query(f"sort_desc(sum by (reason) ({series('evenkeel_exchanges_dead_total')}))", "{{reason}}"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
WORKER: Final = bars(
    Words(
        "Worker errors",
        "Errors that the worker survived since the counters began, by where. Its log has the traceback.",
        "no error",
        runbook="EvenkeelWorkerErrors",
    ),
    Query(f"sort_desc(sum by (where) ({series('evenkeel_worker_errors_total')}))", "{{where}}"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
MONITOR: Final = lines(
    Words(
        "Monitor",
        "Verdicts folded into estimates each second, and failed attempts.",
        "no monitor scraped",
        runbook="EvenkeelMonitorStalled",
    ),
    (
        Query(rate("evenkeel_monitor_verdicts_total"), "verdicts"),
        Query(rate("evenkeel_monitor_failures_total"), "failed attempts"),
    ),
    "cps",
)
STEP: Final = number(
    Words(
        "Monitor's last step",
        "Time since the monitors of the same routes last read verdicts; the longest, if there are shards. "
        "They step every half second.",
        "no monitor scraped",
        runbook="EvenkeelMonitorStalled",
    ),
    Query(f"time() - min(max by (routes) ({series('evenkeel_monitor_last_step_timestamp_seconds')}))"),
    "s",
    scales.STANDING_S,
    decimals=0,
)
SETTINGS: Final = number(
    Words(
        "Settings refused",
        "Processes that have read changed settings and could not take them; the old ones are in force there.",
        "no process scraped",
        runbook="EvenkeelSettingsRefused",
        console="/settings",
    ),
    Query(f"sum({series('evenkeel_settings_reload_success')} == bool 0)"),
    "locale",
    scales.ANY_IS_A_LOOK,
    decimals=0,
)
COVERAGE: Final = bars(
    Words(
        "Coverage by route",
        "Share of the forwarded requests whose trials were scored, since the counters began.",
        "no requests",
    ),
    Query(f"sort(max by (route) ({series('evenkeel_sampling_coverage', _ROUTE)}))", "{{route}}"),
    "percentunit",
    scales.NEUTRAL,
    top=1,
    decimals=1,
)
ARCHIVED: Final = lines(
    Words(
        "Kept for goldens",
        "Exchanges a second kept for a while, so that they can be approved as goldens.",
        "none kept (archive.exchanges_per_route)",
        console="/goldens",
    ),
    (Query(rate("evenkeel_exchanges_archived_total", _ROUTE, by="route"), "{{route}}"),),
    "cps",
)
SPANS: Final = lines(
    Words(
        "Traces",
        "Spans a second taken by the trace collector, and lost, by reason.",
        "traces are off (telemetry.traces), or nothing was traced",
    ),
    (
        Query(rate("evenkeel_spans_exported_total"), "exported"),
        Query(rate("evenkeel_spans_dropped_total", by="reason"), "lost: {{reason}}"),
    ),
    "cps",
)
