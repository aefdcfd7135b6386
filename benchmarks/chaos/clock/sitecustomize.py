"""Shift the clock of a Python process, whose interpreter loads this module from `PYTHONPATH`.

`time.time` adds the seconds in the file named by `CHAOS_CLOCK`, which is read at most ten times a second.
Durations (`time.monotonic`, timers, waits) stay right, as when an administrator or a time server sets a
machine's clock.
"""

import os
import time

_FILE = os.environ.get("CHAOS_CLOCK")
_EVERY_S = 0.1  # between two looks at the file


def _shift_clock(file: str) -> None:
    real, now = time.time, time.monotonic
    offset_s = 0.0
    read_at = -1.0

    def shifted_time() -> float:
        nonlocal offset_s, read_at
        if now() - read_at > _EVERY_S:
            read_at = now()
            with open(file, encoding="ascii") as text:  # noqa: PTH123 - loaded in every process: no imports
                offset_s = float(text.read() or 0.0)
        return real() + offset_s

    time.time = shifted_time


if _FILE:
    _shift_clock(_FILE)
