"""How a process with busy threads keeps its event loop on time."""

from __future__ import annotations

import gc
import sys

_TURN_S = 0.0005


def stay_responsive() -> None:
    """Keep the garbage collector from walking again and again through what lives as long as the process.

    To be called once everything is loaded and before anything is served. A full collection holds up every
    thread until it is done: about 100 ms for the modules and the tables of languages and prices alone, and
    more with an encoder. What exists by now is left out of all later ones. `python -m benchmarks.worker`
    measures the lag of the event loop.
    """
    gc.collect()
    gc.freeze()


def take_short_turns() -> None:
    """Have a thread that computes let the event loop's thread go on after half a millisecond, not five.

    For a data plane whose hand-off computes, as it does to redact: an event that arrives meanwhile waits for
    its turn. `python -m benchmarks.protection` measures how long.
    """
    sys.setswitchinterval(_TURN_S)
