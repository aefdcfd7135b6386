"""The plan of docs/scaling.md: its arithmetic by hand, and the simulation that checks it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from benchmarks.scaling.load import Endpoint, Load, Measured
from benchmarks.scaling.model import bottleneck, capacities, forwarding
from benchmarks.scaling.simulation import Station, Timeline, play

MEASURED = Measured()
ROOMY = Load("roomy", 100, 0.05, 20, 1e9)
"""Five exchanges a second, which nothing holds up."""


def test_capacities_by_hand():
    """A worker with 8 replays at once, 3 of 4 s an exchange, makes 8 / 12 exchanges a second, and so on."""
    load = Load(
        "by hand",
        requests_per_s=10,
        sampling_rate=0.2,
        workers=3,
        usd_per_day=864.0,
        replay=Endpoint(4.0, 1_000, 0.01, 360),
        judge=Endpoint(2.0, 1_000, 0.05, 120),
        judged_share=0.4,
    )
    parts = capacities(load, MEASURED)
    assert parts["sampling"] == pytest.approx(2.0)
    assert load.exchange_usd == pytest.approx(3 * (0.01 + 0.4 * 0.05))
    assert parts["budget"] == pytest.approx(0.01 / 0.09)
    assert parts["replays at once"] == pytest.approx(3 * 8 / 12)
    assert parts["endpoint's limit"] == pytest.approx(2.0)
    assert parts["judge's limit"] == pytest.approx(2 / 1.2)
    assert parts["judgements at once"] == pytest.approx(3 * 4 / (1.2 * 2.0))
    assert bottleneck(parts) == "budget"


def test_forwarding_by_hand():
    """A core at 60 % carries 60 % of what a full one would; streams cost by the event."""
    load = replace(ROOMY, requests_per_s=10_000, events_per_answer=1)
    assert forwarding(load, MEASURED).cores == pytest.approx(10_000 * 21.3e-6 / 0.6)
    streamed = forwarding(replace(load, events_per_answer=100), MEASURED)
    assert streamed.cores == pytest.approx(10_000 * (21.3e-6 + 100 * 9.8e-6) / 0.6)
    assert streamed.streams == 80_000


@pytest.mark.parametrize(
    ("change", "held"),
    [
        ({}, "sampling"),
        ({"usd_per_day": 400.0}, "budget"),
        ({"workers": 2}, "replays at once"),
        ({"replay": Endpoint(4.0, 0, 0.001, 300)}, "endpoint's limit"),
        ({"judge": Endpoint(2.0, 0, 0.002, 120)}, "judge's limit"),
        ({"workers": 4, "judge": Endpoint(20.0, 0, 0.002, 5_000)}, "judgements at once"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_the_simulation_comes_to_what_the_model_says(change, held):
    """Whichever part holds the plane up, as much is scored as that part carries, within a tenth."""
    load = replace(ROOMY, **change)
    parts = capacities(load, MEASURED)
    played = play(load, MEASURED, random.Random(5), 1_200)
    assert bottleneck(parts) == held
    assert played.scored_per_s == pytest.approx(parts[held], rel=0.1)


def test_the_same_seed_plays_the_same():
    """All chance comes from the generator that is handed in."""
    assert play(ROOMY, MEASURED, random.Random(3), 100) == play(ROOMY, MEASURED, random.Random(3), 100)
    assert play(ROOMY, MEASURED, random.Random(3), 100) != play(ROOMY, MEASURED, random.Random(4), 100)


def test_what_the_queue_cannot_hold_is_counted():
    """With two workers and a short queue, what comes is scored or dropped: nothing else happens to it."""
    played = play(replace(ROOMY, workers=2, queue=50), MEASURED, random.Random(1), 2_000)
    assert played.full_per_s + played.scored_per_s == pytest.approx(ROOMY.sampled_per_s, rel=0.05)
    assert played.wait_s == pytest.approx(50 / played.scored_per_s, rel=0.1)


def test_a_station_serves_as_many_at_once_as_it_has_servers():
    """Five who take a second each are through two servers after three."""
    timeline = Timeline()
    station = Station(timeline, 2, lambda: 1.0)
    through = []
    for number in range(5):
        station.serve(lambda number=number: through.append((number, timeline.now)))
    timeline.run(10)
    assert through == [(0, 1.0), (1, 1.0), (2, 2.0), (3, 2.0), (4, 3.0)]
    assert station.busy(10) == pytest.approx(5 / 20)
