"""A burst: for a while more of a route's requests are sampled than its settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.sampling import threshold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.changes.store import Override
    from proxy.lanes import Lane


def apply_overrides(lanes: Mapping[str, Lane], overrides: Sequence[Override]) -> None:
    """Set the sampling rate of every lane: as its route says, or as an override says if that is more.

    May be called from any thread: the rate is one number, which a request reads once. The hot path neither
    waits nor looks anything up.
    """
    wanted = {override.route: override.rate for override in overrides}
    for name, lane in lanes.items():
        lane.bound = threshold(max(lane.route.sampling_rate, wanted.get(name, 0.0)))
