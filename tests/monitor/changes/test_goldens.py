"""Goldens asked again after a change: the gate decides, beyond what chance may breach."""

import random

import pytest

from evenkeel.monitor.changes.report import gate_of
from evenkeel.monitor.detect.gate import GateVerdict
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.goldens import key_of


def run(rate, *, failure=""):
    """A run whose sixty goldens breach at rates that differ, of the given mean."""
    rng, goldens = random.Random(5), 60
    results = []
    for place in range(goldens):
        breached = rng.random() < rate * (0.5 + place / (goldens - 1))
        breaches = {} if failure else {"content_shift": breached}
        results.append(GoldenResult(key_of(f"g{place}", 1), breaches, failure=failure))
    return GoldenRun(
        id="r1",
        route="chat",
        at=1.0,
        change="c1",
        model="m",
        deciding=("content_shift",),
        judged=False,
        results=tuple(results),
    )


@pytest.mark.parametrize(
    ("rate", "noise", "failure", "verdict"),
    [
        (0.5, 0.05, "", GateVerdict.REGRESSION),
        (0.0, 0.05, "", GateVerdict.PASS),
        (0.35, 0.1, "", GateVerdict.REGRESSION),
        (0.35, 0.4, "", GateVerdict.UNDECIDED),
        (0.5, 0.05, "timeout", GateVerdict.COULD_NOT_MEASURE),
    ],
)
def test_the_run_after_a_change_is_decided_by_the_gate(rate, noise, failure, verdict):
    """Breaches that the noise floor explains are no regression, and without answers there is no verdict."""
    assert gate_of(run(rate, failure=failure), noise=noise).verdict is verdict
