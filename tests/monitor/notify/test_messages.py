"""The messages of every scenario, as files: how many, and what they say."""

from __future__ import annotations

import pytest

from tests.monitor.notify.messages import FOLDER, SCENARIOS, files
from tests.monitor.notify.services import Services


@pytest.fixture(scope="module")
def written():
    """The files as they are written now, and what was played."""
    return files()


def test_the_messages_are_those_in_the_folder(written):
    """Whoever changes a message reads it; `python -m tests.monitor.notify.messages` writes them anew."""
    texts, _ = written
    kept = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert sorted(kept) == sorted(texts)
    for name, text in texts.items():
        assert kept[name] == text, name


@pytest.mark.parametrize("scenario", [scenario.__name__ for scenario in SCENARIOS])
def test_services_refuse_nothing_and_no_channel_gets_more_than_three_messages(written, scenario):
    """About incidents; a judge that is down is two more about the monitor."""
    _, played = written
    _, play = played[scenario]
    services = play.services
    assert services.problems == []
    more = {"pagerduty": 1} if scenario == "judge_down" else {}
    for channel in Services().seen:
        about_the_monitor = (2 if channel != "pagerduty" else more["pagerduty"]) if more else 0
        assert 1 <= services.counted(channel) - about_the_monitor <= 3, channel
    assert play.store.waiting == []


@pytest.mark.parametrize("scenario", [scenario.__name__ for scenario in SCENARIOS])
def test_the_first_message_says_what_somebody_needs_at_night(written, scenario):
    """Severity, since when, how bad, whose it is, how to undo it, where to look."""
    _, played = written
    _, play = played[scenario]
    posts = [said for how, said in play.services.seen["webhook"] if "incident/1" in how]
    first = posts[0]
    for word in ("Severity: ", " UTC", "Owner: @support-ml", "Roll back: ", "Runbook: ", "/incidents/", "%"):
        assert word in first or (word == "%" and "points above noise" in first), word
    changed = "after helpdesk-1 → helpdesk-2" in first
    assert changed or "No change of model, prompt, parameters or judge was noticed" in first
