"""What was learned, written down for the next start."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.template.cluster import Cluster
from evenkeel.shadow.prompt.template.recurrence import RecurringLines
from evenkeel.shadow.prompt.template.route import RouteTemplates, TemplateVersion
from evenkeel.shadow.prompt.template.tokens import END, START

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT: Final = 1
"""Raised when a snapshot of before can no longer be read."""


def written_routes(routes: Mapping[str, RouteTemplates]) -> dict[str, Any]:
    """The named templates and the versions of all routes, as JSON-able values."""
    return {"format": FORMAT, "routes": {name: _written(one) for name, one in routes.items()}}


def read_routes(snapshot: object) -> OrderedDict[str, RouteTemplates]:
    """The routes of a snapshot; none if it is damaged or of another format."""
    try:
        if not isinstance(snapshot, dict) or snapshot.get("format") != FORMAT:
            return OrderedDict()
        return OrderedDict((str(name), _read(one)) for name, one in snapshot["routes"].items())
    except (AttributeError, KeyError, TypeError, ValueError, IndexError):
        return OrderedDict()


def _written(route: RouteTemplates) -> dict[str, Any]:
    return {
        "requests": route.requests,
        "clusters": [
            {
                "shape": list(one.shape),
                "skeletons": [list(skeleton) for skeleton in one.skeletons],
                "born": one.born,
                "last": one.last,
                "seen": one.seen,
                "support": one.support,
                "fingerprint": one.fingerprint,
                "lines": [lines.state() for lines in one.lines],
            }
            for one in route.clusters
            if one.fingerprint is not None
        ],
        "versions": [
            [one.fingerprint, one.first_seen, one.last_seen, one.requests] for one in route.versions.values()
        ],
    }


def _read(written: dict[str, Any]) -> RouteTemplates:
    route = RouteTemplates()
    route.requests = int(written["requests"])
    route.clusters = [_cluster(one) for one in written["clusters"]]
    for name, first, last, requests in written["versions"]:
        route.versions[str(name)] = TemplateVersion(str(name), int(first), int(last), int(requests))
    return route


def _cluster(written: dict[str, Any]) -> Cluster:
    cluster = Cluster(
        tuple(map(str, written["shape"])),
        tuple(tuple(map(str, skeleton)) for skeleton in written["skeletons"]),
        int(written["born"]),
        int(written["last"]),
        seen=int(written["seen"]),
        support=int(written["support"]),
        fingerprint=str(written["fingerprint"]),
    )
    cluster.lines = [
        RecurringLines.of(float(one["requests"]), {str(k): float(v) for k, v in one["counts"].items()})
        for one in written["lines"]
    ]
    sides = (len(cluster.shape), len(cluster.skeletons), len(cluster.lines))
    if len(set(sides)) > 1 or not all(
        one and one[0].startswith(START) and one[-1].endswith(END) for one in cluster.skeletons
    ):
        raise ValueError("a template without its ends")
    return cluster
