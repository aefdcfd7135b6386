"""Makes a Python process see another time: loaded by its interpreter, from `PYTHONPATH`.

`time.time` adds the seconds that the file named by `CHAOS_CLOCK` holds, read at most ten times a second. What
measures durations (`time.monotonic`, timers, waits) is left as it is, as when an administrator or a time
server sets a machine's clock.
"""

import os
import time

_FILE = os.environ.get("CHAOS_CLOCK")
_EVERY_S = 0.1


def _jumping(file: str) -> None:
    real, now = time.time, time.monotonic
    offset_s = 0.0
    read_at = -1.0

    def jumped() -> float:
        nonlocal offset_s, read_at
        if now() - read_at > _EVERY_S:
            read_at = now()
            with open(file, encoding="ascii") as text:  # noqa: PTH123 - loaded in every process: no imports
                offset_s = float(text.read() or 0.0)
        return real() + offset_s

    time.time = jumped


if _FILE:
    _jumping(_FILE)
