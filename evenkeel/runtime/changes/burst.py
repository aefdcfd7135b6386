"""A burst: for a while more of a route's requests are sampled than its settings say.

The data plane reads this module, so it imports nothing that a forwarded request does not need.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Final

from evenkeel.core.trouble import Trouble
from evenkeel.proxy.sampling import threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.proxy.lanes import Lane
    from evenkeel.stores.bursts import Bursts, Override

log = logging.getLogger("evenkeel.proxy")

_POLL_S: Final = 2.0


def apply_overrides(lanes: Mapping[str, Lane], overrides: Sequence[Override]) -> None:
    """Set the sampling rate of every lane: as its route says, or as an override says if that is more.

    May be called from any thread: the rate is one number, which a request reads once. The hot path neither
    waits nor looks anything up.
    """
    wanted = {override.route: override.rate for override in overrides}
    for name, lane in lanes.items():
        lane.bound = threshold(max(lane.route.sampling_rate, wanted.get(name, 0.0)))


def follow(lanes: Callable[[], Mapping[str, Lane]], connect: Callable[[], Bursts]) -> None:
    """Apply what the store says, every other second and for ever: the body of a thread.

    Args:
        lanes: Gives the routes at run time, which a reload replaces.
        connect: Opens the store. While it is in trouble, routes are sampled as the settings say.
    """
    bursts: Bursts | None = None
    trouble = Trouble(log, "bursts cannot be read (%s); sampling goes on as the settings say")
    while True:
        time.sleep(_POLL_S)
        with trouble:
            bursts = bursts or connect()
            apply_overrides(lanes(), bursts.active(time.time()))
        if trouble.ongoing:
            apply_overrides(lanes(), ())
