"""The reference page of the metrics: every series that evenkeel exposes, from the code that exposes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.monitor.changes.exporter import ChangeCollector
from evenkeel.monitor.export.prometheus import CellCollector
from evenkeel.monitor.export.snapshots import HELP
from evenkeel.monitor.labels import LabelCollector

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prometheus_client.core import Metric


class Series(NamedTuple):
    """What the page says of one name."""

    name: str
    """As it is exposed; of a histogram without `_bucket`, `_count`, `_sum`."""
    kind: str
    """"gauge", "counter" or "histogram"."""
    labels: tuple[str, ...]
    meaning: str
    range: str
    absent: str
    """When there is no such series."""
    optional: bool
    """Whether a setup that is all right may lack it for good."""
    shared: bool = False
    """Whether every monitor on a Redis exports the same: of several, one is to be taken."""


class _Published(NamedTuple):
    """What is to be known of a name of `HELP` beside what it counts."""

    kind: str
    labels: tuple[str, ...] = ()
    absent: str = ""
    """"" if it is always there."""


_ROUTE: Final = ("route",)
_FIRST: Final = "until the first"
_TRIED: Final = ("route", "perturbation")
_PUBLISHED: Final = {
    "proxy_requests": _Published("counter", ("route", "status_class")),
    "proxy_disconnects": _Published("counter", _ROUTE),
    "proxy_retries": _Published("counter", _ROUTE),
    "proxy_failovers": _Published("counter", _ROUTE),
    "proxy_upstream_errors": _Published("counter", ("route", "reason"), f"{_FIRST} of its reason"),
    "proxy_connections": _Published("counter"),
    "proxy_connections_refused": _Published("counter", ("reason",)),
    "proxy_connections_open": _Published("gauge"),
    "proxy_connections_limit": _Published("gauge"),
    "proxy_in_flight": _Published("gauge", _ROUTE),
    "proxy_first_byte_seconds": _Published("histogram", ("route", "status_class")),
    "proxy_overhead_seconds": _Published("histogram", _ROUTE),
    "exchanges_eligible": _Published("counter", _ROUTE),
    "exchanges_sampled": _Published("counter", _ROUTE),
    "exchanges_queued": _Published("counter", _ROUTE),
    "exchanges_skipped": _Published("counter", ("route", "reason"), f"{_FIRST} of its reason"),
    "exchanges_scored": _Published("counter", _ROUTE, _FIRST),
    "sampling_coverage": _Published("gauge", _ROUTE, "for a route without requests"),
    "exchanges_archived": _Published("counter", _ROUTE, f"{_FIRST}; without an archive"),
    "exchanges_dead": _Published("counter", ("reason",), f"{_FIRST} of its reason"),
    "exchanges_requeued": _Published("counter", absent="without a Redis"),
    "dead_letters_dropped": _Published("counter", absent="without a Redis"),
    "redactions": _Published("counter", ("kind",), f"{_FIRST} of its kind"),
    "redaction_failures": _Published("counter", ("reason",), f"{_FIRST} of its reason"),
    "handoff_bytes": _Published("gauge"),
    "queue_waiting": _Published("gauge"),
    "queue_leased": _Published("gauge"),
    "queue_dead": _Published("gauge"),
    "queue_oldest_seconds": _Published("gauge"),
    "trials": _Published("counter", (*_TRIED, "outcome"), f"{_FIRST} with its outcome"),
    "trials_skipped": _Published("counter", (*_TRIED, "reason"), f"{_FIRST} of its reason"),
    "judge_up": _Published("gauge", absent="without a judge"),
    "judge_rechecks": _Published("counter", ("outcome",), f"{_FIRST} with its outcome"),
    "embeddings_failures": _Published("counter", ("reason",), f"{_FIRST} of its reason"),
    "rewrites": _Published("counter", ("outcome",), f"{_FIRST} with its outcome; without a rewriter"),
    "worker_errors": _Published("counter", ("where",), f"{_FIRST} at its place"),
    "spend_tokens": _Published("counter", _ROUTE, "until the first trial"),
    "spend_usd": _Published("counter", _ROUTE, "until the first trial"),
    "spend_today_tokens": _Published("gauge"),
    "spend_today_usd": _Published("gauge"),
    "spend_today_by_purpose_tokens": _Published("gauge", ("route", "purpose"), f"{_FIRST} of the day"),
    "spend_today_by_purpose_usd": _Published("gauge", ("route", "purpose"), f"{_FIRST} of the day"),
    "budget_tokens_per_day": _Published("gauge", absent="without that limit"),
    "budget_usd_per_day": _Published("gauge", absent="without that limit"),
    "settings_reload_success": _Published("gauge"),
    "settings_last_reload_timestamp_seconds": _Published("gauge"),
    "store_reopened": _Published("counter", absent="until the first exchange; on a Redis"),
    "store_recreated": _Published("counter", absent="on a Redis"),
    "verdicts_trimmed": _Published("counter"),
    "spans_exported": _Published("counter", absent="without traces"),
    "spans_dropped": _Published("counter", ("reason",), f"without traces; {_FIRST} of its reason"),
    "monitor_verdicts": _Published("counter"),
    "monitor_failures": _Published("counter"),
    "monitor_last_step_timestamp_seconds": _Published("gauge", ("routes",)),
}

_SHARED: Final = re.compile(
    r"sampling_coverage|exchanges_requeued|dead_letters_dropped|verdicts_trimmed|queue_.*|spend_today_.*|budget_.*"
)
"""Of those, what a monitor reads in the store instead of counting it itself."""

_ESTIMATE: Final = "with fewer observations than `alert.min_trials`"
_JUDGED: Final = "without a judge; with fewer observations than `alert.min_trials`"
_BASELINE: Final = "for `baseline.identical`"
_ABSENT: Final = (
    # The first pattern that a name of the monitor matches says when it is absent.
    (r"evenkeel_build_info", ""),
    (r"evenkeel_judge_human_agreement.*", "until a verdict is labelled"),
    (r"evenkeel_(rollup_)?(judge_|cascade_).*", _JUDGED),
    (r"evenkeel_(window_)?excess(_lower|_upper|_observations)?", f"{_ESTIMATE}; {_BASELINE}"),
    (r"evenkeel_(alert|excess_.*)", f"before the cell's first verdict; {_BASELINE}"),
    (r"evenkeel_drift_.*", "until the cell has a baseline"),
    (r"evenkeel_(last_change|changes).*", "until the first of its kind"),
    (r"evenkeel_verdict_failures_total", "until the first of its reason"),
    (r"evenkeel_ratings_decided_total", "without a judge"),
    (r"evenkeel_rollup_(rated_trials|last_score_timestamp_seconds)", "before its first rating"),
    (r"evenkeel_(verdicts|verdict_quality|pairs)_total", "before the cell's first verdict"),
    (r"evenkeel_(rated_trials|last_score_timestamp_seconds)", "before the cell's first rating"),
    (r"evenkeel_change_.*", "until the route's first change"),
    (r"evenkeel_goldens?_.*", "until goldens of the route were asked again"),
    (
        r"evenkeel_(window_|rollup_)?(robustness_score|content_delta|quality_|excess|noise_floor).*",
        _ESTIMATE,
    ),
)

_SECTIONS: Final = (
    (
        "Estimates of a cell",
        "A cell is a route, a model and a perturbation. Everything since the cell began.",
        r"evenkeel_(robustness_score|content_delta|quality_|excess(_(lower|upper|observations))?$)",
    ),
    (
        "Estimates of a cell in a window",
        "`window` is `1h`, `24h`, `500` or `since_change`.",
        r"evenkeel_window_",
    ),
    (
        "Counters of verdicts",
        "What the estimates are made of. They are read from the verdict log, so they survive restarts.",
        r"evenkeel_(verdict|pairs|rated_trials|last_score)",
    ),
    ("Alerts", "What the monitor has decided, and on which evidence.", r"evenkeel_(alert|excess_|drift_)"),
    (
        "Noise and judge",
        (
            "These belong to a route and model; join with `on (route, model)`. "
            "`evenkeel_judge_human_agreement` is over all routes: `decided_by` is who rated, `source` how "
            "the verdicts came to be labelled, `drawn` by chance or `chosen` by people."
        ),
        r"evenkeel_(noise|judge_|cascade|ratings)",
    ),
    (
        "Several cells together",
        (
            "`level` is `category`, `model`, `route` or `all`; labels that it leaves open are empty. "
            "`window` is as above, or `all`. Every exchange weighs the same."
        ),
        r"evenkeel_rollup_",
    ),
    ("Changes", "What changed about a route.", r"evenkeel_(change|last_change|golden)"),
    (
        "The forwarded path",
        'Of the data plane. Requests that no route takes are under `route="none"`.',
        r"evenkeel_proxy_",
    ),
    (
        "From traffic to verdicts",
        "Where exchanges go. Counters of all processes together; they begin at 0 when the service starts.",
        r"evenkeel_(exchanges|redaction|handoff|queue|dead_letters|trials|worker|rewrites|embeddings|sampling)",
    ),
    ("Money", "Days are those of UTC.", r"evenkeel_(spend|budget)"),
    (
        "Settings and store",
        "Of the process that supervises, or of a role without supervisor.",
        r"evenkeel_(settings|store|verdicts_trimmed)",
    ),
    ("evenkeel itself", "", r"evenkeel_"),
)


def documented() -> list[Series]:
    """Every series that evenkeel can expose, those of the monitor first.

    Raises:
        LookupError: a name is exposed of which this module does not say when it is absent.
    """
    monitor = CellCollector(list, version=""), ChangeCollector(tuple, dict), LabelCollector()
    found = [_of_monitor(metric) for collector in monitor for metric in collector.describe()]
    for name, meaning in HELP.items():
        if name not in _PUBLISHED:
            raise LookupError(
                f"evenkeel.monitor.export.snapshots.HELP has {name}: add it to evenkeel.reference.metrics"
            )
        known = _PUBLISHED[name]
        exposed = f"evenkeel_{name}{'_total' * (known.kind == 'counter')}"
        found.append(
            Series(
                exposed,
                known.kind,
                known.labels,
                meaning,
                _range(exposed, meaning),
                known.absent or "never",
                bool(known.absent),
                bool(_SHARED.fullmatch(name)),
            )
        )
    return found


def _of_monitor(metric: Metric) -> Series:
    name = f"{metric.name}_total" if metric.type == "counter" else metric.name
    labels = tuple(sorted(getattr(metric, "_labelnames", ())))
    for pattern, absent in _ABSENT:
        if re.fullmatch(pattern, name):
            return Series(
                name,
                metric.type,
                labels,
                *_split(metric.documentation, name),
                absent or "never",
                bool(absent),
                name != "evenkeel_build_info",
            )
    raise LookupError(f"{name} is exposed: say in evenkeel.reference.metrics when it is absent")


def _split(documentation: str, name: str = "") -> tuple[str, str]:
    """Meaning and range of a help text that may hold both."""
    meaning = re.sub(r", in (\[[^\]]*\])", "", documentation)
    return meaning, _range(name, documentation)


_RANGES: Final = (
    # The first pattern that a name matches says which values it takes.
    (r"evenkeel_build_info", "1"),
    (r"evenkeel_sampling_coverage", "[0, 1]"),
    (r".*timestamp.*", "Unix time"),
    (r".*_log10", "≥ 0"),
    (r"evenkeel_(alert|drift_alert|judge_up|change_regression|settings_reload_success)", "0 or 1"),
    (r".*_(line_lower|line_upper|threshold)", "[0, 1]"),
    (r".*_(usd|usd_total|usd_per_day|seconds)", "≥ 0"),
    (r".*", "whole, ≥ 0"),
)


def _range(name: str, meaning: str) -> str:
    """As the help text states it, else as the name tells."""
    stated = re.search(r", in (\[[^\]]*\])", meaning)
    if stated and not name.endswith("_observations"):
        return stated[1]
    return next(values for pattern, values in _RANGES if re.fullmatch(pattern, name))


_INTRODUCTION: Final = """\
# Metrics

Written by `make docs` from `monitor/export/` and `evenkeel/reference/metrics.py`.

`GET /metrics` on the admin port, in the text format of Prometheus. A data plane on its own (`evenkeel
proxy`) exposes the names that begin with `evenkeel_proxy_`, `evenkeel_exchanges_` and `evenkeel_handoff_`.
Rules and alerts on these series: [docs/alerting.md](alerting.md).

- Ratios are in [0, 1], times in seconds, money in US dollars.
- An estimate that is not known is *absent*, never 0 or NaN. A rule on it then has nothing to fire on.
- Beside each estimate stand `_lower` and `_upper`, the ends of a 95 % interval that holds at all times of
  looking together, and `_observations`, how much lies behind it.
- Labels are bounded: routes come from the settings; a route has at most 20 models, more are counted under
  `model="other"`.
- `scorer` says who decided the ratings, `judge` or `metrics` (no judge); it is on estimates only.
- Where several monitors run, each exports estimates, counters of verdicts, queue, coverage and day's spend:
  take their `max` (over `instance`) before adding anything up.
- `absent` says when a name has no series at all; a cell, route or reason that did not occur has none in any
  case.
"""

_RECOMPUTED: Final = """
## Everything from counters

The gauges have no need to be believed: each estimate follows from counters, over any window and any set of
labels. These expressions equal the gauges (`tests/evenkeel/test_evenkeel_metrics_page.py` compares them on a
running system); with `increase(…[6h])` around each counter they are the estimate of six hours.

Content delta, the share of answers that shifted:

```promql
sum by (route, model, perturbation) (evenkeel_verdicts_total{rating=~"1|2"})
  / sum by (route, model, perturbation) (evenkeel_verdicts_total)
```

Quality delta, the share of the shifted answers that changed in quality:

```promql
sum by (route, model, perturbation) (evenkeel_verdict_quality_total{quality=~"worse|better|mixed"})
  / sum by (route, model, perturbation) (evenkeel_verdict_quality_total{quality!="unscored"})
```

Robustness, one minus their product; NaN where nothing shifted, which is a robustness of 1:

```promql
1 - (
  sum by (route, model, perturbation) (evenkeel_verdict_quality_total)
    / sum by (route, model, perturbation) (evenkeel_verdicts_total)
    * sum by (route, model, perturbation) (evenkeel_verdict_quality_total{quality=~"worse|better|mixed"})
    / sum by (route, model, perturbation) (evenkeel_verdict_quality_total{quality!="unscored"})
)
```

Excess over the noise, paired by exchange:

```promql
(
  sum by (route, model, perturbation) (evenkeel_pairs_total{difference="1"})
    - sum by (route, model, perturbation) (evenkeel_pairs_total{difference="-1"})
)
  / sum by (route, model, perturbation) (evenkeel_pairs_total)
```

Pooled over cells, these weigh every trial the same; `evenkeel_rollup_…` weighs every exchange the same. The
intervals of single cells follow from the same counts ([design note
0002](design/0002-trials-verdicts-and-intervals.md)); Prometheus can't compute them.
"""


def metrics_page() -> str:
    """`docs/metrics.md`."""
    left = documented()
    lines = [_INTRODUCTION]
    for title, said, pattern in _SECTIONS:
        here = [series for series in left if re.match(pattern, series.name)]
        left = [series for series in left if series not in here]
        if here:
            lines.append(f"\n## {title}\n\n{said + chr(10) * 2 if said else ''}{''.join(_table(here))}")
    return "".join(lines) + _RECOMPUTED


def _table(series: Sequence[Series]) -> Iterable[str]:
    yield "| name | type | labels | meaning | range | absent |\n|---|---|---|---|---|---|\n"
    for one in series:
        labels = ", ".join(f"`{label}`" for label in one.labels) or "none"
        yield f"| `{one.name}` | {one.kind} | {labels} | {one.meaning} | {one.range} | {one.absent} |\n"
