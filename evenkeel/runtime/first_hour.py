"""Says in the log how far a fresh endpoint is from its first number."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from evenkeel.core.trouble import Trouble

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

    from evenkeel.console.first_hour import FirstHour

log = logging.getLogger("evenkeel")

_EVERY_S: Final = 5.0
_LINES_A_GOAL: Final = 3


class FirstHourLog:
    """A line whenever something else holds the numbers up, or a third of a goal is done; then it ends."""

    def __init__(self, read: Callable[[], FirstHour | None], say: Callable[[str], None] = log.info) -> None:
        """Args: read: how far it is, None once there are numbers. say: gets the lines."""
        self._read = read
        self._say = say
        self._state: object = None

    def run(self, stopping: threading.Event) -> None:
        """Look now and then until there are numbers, or `stopping` is set."""
        trouble = Trouble(log, "progress towards the first number cannot be read (%s)")
        while not stopping.wait(_EVERY_S):
            with trouble:
                if not self.step():
                    return

    def step(self) -> bool:
        """Say what is new; whether to go on."""
        found = self._read()
        if found is None:
            if self._state is not None:
                self._say("points above noise are known: the console shows them")
            return False
        ahead = found.routes[0]
        goal = ahead.goals[0] if ahead.goals[0].have < ahead.goals[0].need else ahead.goals[1]
        state = ([one.next_step for one in found.hold_ups], goal.name, goal.have * _LINES_A_GOAL // goal.need)
        if state != self._state:
            self._state = state
            said = [f"{one.problem} {one.next_step}" for one in found.hold_ups[:2]] or [ahead.line]
            self._say("first numbers: " + " ".join(said))
        return True
