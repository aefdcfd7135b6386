"""Registry of every metric over a pair of answers: those of live monitoring, and those of other packages.

A metric of the product is one file with an `About`, and one line in `BUILTIN`. Every other one, those of
`lab/metrics` included, is an entry point of the group `evenkeel.metrics` that names a class with `name`,
`version`, `about` and `score`.
"""

from __future__ import annotations

import difflib
import logging
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core import labels
from evenkeel.core.extensions import ExtensionError, extensions
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from evenkeel.core.extensions import Extension
    from evenkeel.metrics.protocol import Family, Metric

GROUP: Final = "evenkeel.metrics"
"""Name of the group of entry points."""

BUILTIN: tuple[str, ...] = (
    "evenkeel.metrics.similarity.likeness:Likeness",
    "evenkeel.metrics.similarity.sequence:RougeL",
    "evenkeel.metrics.entity:SlotMatch",
    "evenkeel.metrics.tool_calls:ToolCalls",
)
"""Module and class of each metric, grouped by what they read. A new metric is one file and one line here."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")
_log: Final = logging.getLogger(__name__)


class UnknownMetricError(LookupError):
    """Name that no metric has. The message names the nearest metrics, or why this one was refused."""


@dataclass(frozen=True, slots=True)
class MetricEntry:
    """Metric with the facts needed to choose it. All values are ratios in [0, 1]."""

    kind: type[Any]
    """Class of the metric, to be built with the dependencies it needs."""
    name: str
    version: int
    about: About

    @property
    def label(self) -> str:
        """Name for people."""
        return self.about.label or self.name.replace("_", " ")

    @property
    def blind_as(self) -> Family:
        """Family in a calibration, where primary and secondary metric must not share their blind spots."""
        return self.about.akin or self.about.family


@dataclass(frozen=True, slots=True)
class _Catalogue:
    metrics: Mapping[str, MetricEntry]
    refused: Mapping[str, str]
    """Reason for each refused metric, by the name of its entry point."""


def metrics() -> tuple[MetricEntry, ...]:
    """Return all metrics, ours first. Other people's packages are imported at the first call."""
    return tuple(_catalogue().metrics.values())


def refused() -> Mapping[str, str]:
    """Return the reasons why entry points give no metric, by their names."""
    return _catalogue().refused


@cache
def heuristics() -> tuple[Metric, ...]:
    """Return the metrics that need nothing, ready for use: pure, and safe to call from threads."""
    independent = []
    for metric in metrics():
        if metric.about.needs == "nothing":
            independent.append(metric)
    return tuple(map(built, independent))


def built(listed: MetricEntry, *needed: object) -> Metric:
    """Return a metric of that kind, built with what it needs.

    Args:
        listed: The metric.
        needed: What its constructor takes.
    """
    kind: Any = listed.kind
    made: Metric = kind(*needed)
    return made


def metric(name: str) -> MetricEntry:
    """Return the metric of a name.

    Raises:
        UnknownMetricError: There is none; the message suggests up to three like it.
    """
    catalogue = _catalogue()
    if name in catalogue.metrics:
        return catalogue.metrics[name]
    if name in catalogue.refused:
        raise UnknownMetricError(f"no metric {name!r}: {catalogue.refused[name]}")
    near = difflib.get_close_matches(name.lower().replace("-", "_"), catalogue.metrics, n=3)
    hint = (
        f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(catalogue.metrics))}"
    )
    raise UnknownMetricError(f"no metric {name!r}; {hint}")


def publish_labels() -> None:
    """Make the labels of all metrics and qualities known to this process, see `evenkeel.core.labels`."""
    labels.publish({metric.name: metric.label for metric in metrics()})


@cache
def _catalogue() -> _Catalogue:
    entries: dict[str, MetricEntry] = {}
    for qualified_name in BUILTIN:
        module, _, kind = qualified_name.partition(":")
        entry = _listed(getattr(import_module(module), kind))
        entries[entry.name] = entry
    refused_ones: dict[str, str] = {}
    for extension in extensions(GROUP):
        try:
            entry = _offered(extension, entries)
        except ExtensionError as error:
            refused_ones[extension.entry_point.name] = str(error)
            _log.warning("metric %s", error)
        else:
            entries[entry.name] = entry
    return _Catalogue(entries, refused_ones)


def _listed(kind: Any) -> MetricEntry:
    return MetricEntry(kind, kind.name, kind.version, kind.about)


def _offered(extension: Extension, names: Collection[str]) -> MetricEntry:
    """Return the metric of an entry point.

    Raises: ExtensionError if it cannot be loaded, is no metric, or has the name of a known one.
    """
    kind = extension.load()
    if not isinstance(getattr(kind, "about", None), About) or not callable(getattr(kind, "score", None)):
        raise ExtensionError(f"{extension} is refused: it is no class with an `about` and a `score`")
    name, version = getattr(kind, "name", None), getattr(kind, "version", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(version, int) or version < 1:
        raise ExtensionError(
            f"{extension} is refused: a metric has a name in snake_case and a version from 1, "
            f"not {name!r} and {version!r}"
        )
    if name in names:
        raise ExtensionError(f"{extension} is refused: there is a metric {name!r} already")
    return _listed(kind)
