"""Event loops that stay on time beside work: what the collector leaves alone, how long a thread's turn is."""

from __future__ import annotations

import gc
import sys

import pytest

from evenkeel.runtime.data_plane import redacting
from evenkeel.runtime.process import stay_responsive
from evenkeel.settings.storage import Redaction
from evenkeel.stores.counters import Tally


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


class Nowhere:
    """Takes every exchange and keeps none."""

    def put(self, exchanges):
        return len(exchanges)


def test_a_data_plane_that_redacts_takes_short_turns():
    """Its threads change places after half a millisecond; one that does not redact is left as it is."""
    before = sys.getswitchinterval()
    try:
        redacting(Redaction(), Nowhere(), Tally())
        assert sys.getswitchinterval() == before
        redacting(Redaction(kinds=["email"]), Nowhere(), Tally())
        assert sys.getswitchinterval() == pytest.approx(0.0005)
    finally:
        sys.setswitchinterval(before)
