"""How a process with busy threads keeps its event loop on time."""

from __future__ import annotations

import gc


def stay_responsive() -> None:
    """Keep the garbage collector from walking again and again through what lives as long as the process.

    To be called once everything is loaded and before anything is served. A full collection holds up every
    thread until it is done: about 100 ms for the modules and the tables of languages and prices alone, and
    more with an encoder. What exists by now is left out of all later ones. `python -m bench.worker`
    measures the lag of the event loop.
    """
    gc.collect()
    gc.freeze()
