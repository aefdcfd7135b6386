"""The back plane's garbage collector leaves alone what was loaded at the start."""

from __future__ import annotations

import gc

from evenkeel.responsiveness import stay_responsive


def test_what_was_loaded_is_not_collected_again() -> None:
    """Objects that exist at the call are out of the collector's sight, later ones are not."""
    loaded: list[object] = [[]]
    try:
        stay_responsive()
        assert gc.get_freeze_count() > 0
        made: list[object] = [[]]
        seen = {id(one) for one in gc.get_objects()}
        assert id(loaded) not in seen
        assert id(made) in seen
    finally:
        gc.unfreeze()
