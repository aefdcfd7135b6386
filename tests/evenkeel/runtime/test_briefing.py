"""What a supervisor tells the processes that it starts."""

from __future__ import annotations

from evenkeel.monitor.detect import Measure
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.supervisor import Briefing
from evenkeel.settings import Settings


def test_a_process_knows_which_limits_were_set():
    """Settings pass whole, but what nobody set is still a default: alerts say where their limit is from."""
    settings = Settings(
        routes=[{"upstream": "http://127.0.0.1:9/v1"}], alert={"quality_loss": 0.2, "min_trials": 5}
    )
    told = Briefing.from_line(Briefing("worker", "worker.1", settings, (3,)).to_line())
    assert told.settings == settings
    limits = monitor_settings(told.settings).limits_of("default")
    assert (limits[Measure.QUALITY].value, limits[Measure.QUALITY].source) == (0.2, "settings")
    assert (limits[Measure.CONTENT].value, limits[Measure.CONTENT].source) == (0.1, "default")
