"""Selectors of evenkeel's series, narrowed by the dashboard's variables."""

from __future__ import annotations

from typing import Final

from evenkeel.reference.metrics import documented

RATE: Final = "$__rate_interval"
RANGE: Final = "$__range"
CELL: Final = "route, model, perturbation"
PLACE: Final = "route, model"
_SHARED: Final = {series.name: series.labels for series in documented() if series.shared}
"""What every monitor exports alike, and by which labels."""


def series(name: str, *matchers: str, over: str = "") -> str:
    """All series of a name in the chosen deployment, as a PromQL selector.

    Args:
        name: of the metric.
        matchers: further ones, as they stand in PromQL: `level="all"`.
        over: window of a range vector; "" for an instant vector.
    """
    inside = ", ".join(('job=~"$job"', *matchers))
    return f"{name}{{{inside}}}" + (f"[{over}]" if over else "")


def rate(name: str, *matchers: str, by: str = "") -> str:
    """Events a second, summed: over everything, or by labels."""
    return _sum(_once(name, f"rate({series(name, *matchers, over=RATE)})"), by)


def increase(name: str, *matchers: str, by: str = "", over: str = RANGE) -> str:
    """Events in a window, summed: over everything, or by labels."""
    return _sum(_once(name, f"increase({series(name, *matchers, over=over)})"), by)


def total(name: str, *matchers: str, by: str = "") -> str:
    """A gauge of all deployments together: over everything, or by labels."""
    return _sum(_once(name, series(name, *matchers)), by)


def highest(name: str, *matchers: str, by: str) -> str:
    """One series for each combination of labels: targets that report the same are not shown twice."""
    return f"max by ({by}) ({series(name, *matchers)})"


def recent(expr: str, rated_at: str, by: str) -> str:
    """Those with a rating in the shown time: a model that no longer answers is not shown."""
    return f"({expr}) and on ({by}) ({rated_at} > time() - $__range_s)"


def share(part: str, whole: str) -> str:
    """A ratio, absent while the whole is zero."""
    return f"{part} / ({whole} > 0)"


def quantile(order: float, histogram: str, *matchers: str, by: str = "") -> str:
    """A quantile of a histogram's recent observations, by labels besides the bucket."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({order}, {rate(histogram + '_bucket', *matchers, by=labels)})"


def _once(name: str, what: str) -> str:
    """What paired monitors report alike is taken once."""
    labels = _SHARED.get(name)
    return what if labels is None else f"max by ({', '.join(('job', *sorted(labels)))}) ({what})"


def _sum(what: str, by: str) -> str:
    return f"sum by ({by}) ({what})" if by else f"sum({what})"
