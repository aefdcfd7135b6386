"""Proposed limits: once, for a route that is quiet and has none of its own."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from evenkeel.monitor.detect import Limit, Measure
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.release.calibration import proposals
from evenkeel.release.calibration.proposals import LimitProposals
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.release.calibration.planted_traffic import quiet_log

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict


class Plane:
    """A log of verdicts, and the monitor that has folded it."""

    def __init__(self, verdicts: list[Verdict], settings: MonitorSettings) -> None:
        self.logged = [LoggedVerdict(place, one) for place, one in enumerate(verdicts, 1)]
        self.state = MonitorState(settings)
        self.raised = [event for one in self.logged for event in self.state.apply(one).events]

    def reports(self):
        return self.state.reports()

    def changes(self):
        return self.state.changes()

    def events(self, limit):
        return self.raised[-limit:]

    def read_after(self, offset, limit):
        return self.logged[offset : offset + limit]


@pytest.fixture(autouse=True)
def little_is_enough(monkeypatch):
    """500 trials."""
    monkeypatch.setattr(proposals, "ENOUGH", 500)


def looked(verdicts, settings=None):
    """What is proposed after two looks."""
    settings = settings or MonitorSettings()
    plane = Plane(verdicts, settings)
    found = LimitProposals(plane, plane, plane, settings, clock=lambda: 0.0)
    found.look()
    found.look()
    return found.proposals()


def test_limits_are_proposed_once_for_a_quiet_route(caplog):
    """With the values, what they rest on, and the command that places them."""
    (found,) = looked(quiet_log(700, random.Random(1)))
    assert found.route == "support"
    assert found.limits.startswith("content 0.")
    assert "700 quiet trials" in found.source
    assert found.command.endswith("--route support")
    assert caplog.text.count("enough quiet traffic for limits of route support") == 1


def test_nothing_is_proposed_without_enough_quiet_traffic():
    """Too few trials, an alert that is up, or limits that were calibrated."""
    assert looked(quiet_log(400, random.Random(2))) == ()
    assert looked(quiet_log(700, random.Random(2), excess=0.5, kinds=1)) == ()
    known = MonitorSettings(limits={"support": {Measure.CONTENT: Limit(0.1, "calibrated")}})
    assert looked(quiet_log(700, random.Random(2)), known) == ()
