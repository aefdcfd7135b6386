"""Pauses between attempts."""

import pytest

from evenkeel.core.backoff import Backoff


@pytest.mark.parametrize(
    ("failures", "pause_s"), [(0, 0.0), (1, 0.5), (2, 1.0), (5, 8.0), (6, 10.0), (10_000, 10.0)]
)
def test_each_failure_doubles_the_pause(failures, pause_s):
    """Half a second at first, ten at most."""
    assert Backoff(0.5, 10.0).pause_s(failures) == pause_s
