"""Segments: a client, prompt version, task or language that is over its limit by itself."""

from random import Random

from evenkeel.monitor.detect import Alert, AlertRules, Limit, Measure, SegmentName, Segments
from evenkeel.monitor.detect.segments import PLACES

RULES = AlertRules({Measure.CONTENT: Limit(0.1), Measure.SEGMENT: Limit(0.3)}, 20_000)


def _traffic(alert, count, seed, *, broken):
    """Fourteen clients of equal size; the first one's answers move in nine of ten if it is broken."""
    rng = Random(seed)
    changes = []
    for _ in range(count):
        client = rng.randrange(14)
        rate = 0.9 if broken and client == 0 else 0.02
        moved = int(rng.random() < rate)
        change = alert.observe({Measure.CONTENT: moved}, {"client": f"c{client}", "language": "en"})
        if change is not None:
            changes.append(f"{change.kind} {change.measure} {change.segment}")
    return changes


def test_one_client_of_many_that_breaks_is_found_and_named():
    """The mean of all stays within its limit, so only the segment is over, until it is well again."""
    alert = Alert(RULES)
    assert _traffic(alert, 2_000, 1, broken=False) == []
    assert _traffic(alert, 2_000, 2, broken=True) == ["raised segment client c0"]
    assert alert.segment == SegmentName("client", "c0")
    assert _traffic(alert, 8_000, 3, broken=False) == ["resolved segment client c0"]


def test_an_alert_of_a_segment_that_comes_no_more_ends():
    """A thousand trials without the segment end it."""
    alert = Alert(RULES)
    _traffic(alert, 2_000, 2, broken=True)
    changes = [alert.observe({Measure.CONTENT: 0}, {"client": "c1"}) for _ in range(1_001)]
    assert [change.kind for change in changes if change] == ["resolved"]


def test_a_value_with_most_of_the_traffic_is_no_segment():
    """The cell itself watches it."""
    segments = Segments(0.3)
    for _ in range(500):
        segments.observe({"language": "en"}, 1.0, 1.0, 1.0)
    assert segments.evidence < 1


def test_places_are_few_and_go_to_what_comes():
    """A value that was not seen for a thousand trials gives its place to a new one, no other does."""
    segments = Segments(0.3)
    for number in range(PLACES):
        segments.observe({"client": f"c{number}"}, 0.0, 1.0, 1.0)
    assert segments.observe({"client": "late"}, 0.0, 1.0, 1.0) == []
    for _ in range(1_000):
        segments.observe({"client": "c1"}, 0.0, 1.0, 1.0)
    assert segments.observe({"client": "late"}, 0.0, 1.0, 1.0) == [SegmentName("client", "late")]
    assert segments.find(SegmentName("client", "c0")) is None
