"""The verdicts behind an alert: those of its cell since the change seems to have begun, read from the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.monitor.fold import OTHER_MODEL
from evenkeel.stores.verdict_log import Narrow

if TYPE_CHECKING:
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import LoggedVerdict, VerdictLog

SHOWN: Final = 100
"""Verdicts of an alert that are given at most, the newest."""
_SCANNED: Final = 20_000
"""Verdicts that are looked through at most."""
_AT_ONCE: Final = 500


def verdicts_behind(log: VerdictLog, event: AlertEvent, *, most: int = SHOWN) -> list[LoggedVerdict]:
    """The rated trials of an event's cell up to the deciding one, newest first.

    Args:
        log: where the verdicts are.
        event: an alert that was raised or resolved.
        most: verdicts to give at most.

    Returns: as many as the event's run holds; of an excess those whose resend has a rating as well, which is
    what its detector looked at. Fewer once the log no longer has them. The run is chosen in hindsight, so
    its mean errs towards the change.
    """
    wanted = min(most, event.run_trials or most)
    narrow = Narrow(route=event.route, perturbation=event.perturbation, ratings=(1, 2, 3))
    found: list[LoggedVerdict] = []
    at, looked_at = event.offset + 1, 0
    while at > 0 and len(found) < wanted and looked_at < _SCANNED:
        stretch = log.read_before(at, _AT_ONCE, narrow)
        found += [one for one in stretch.verdicts if _counts(one, event)]
        at, looked_at = stretch.reached, looked_at + max(1, stretch.looked_at)
    return found[:wanted]


def _counts(logged: LoggedVerdict, event: AlertEvent) -> bool:
    """Whether the event's detector looked at a verdict. Models beyond the limit cannot be told apart."""
    verdict = logged.verdict
    paired = event.what != "excess" or verdict.baseline_rating is not None
    return paired and event.model in {verdict.model, OTHER_MODEL}
