"""The messages of every scenario, as files: how many, and what they say."""

from dataclasses import replace
from functools import partial

import pytest

from evenkeel.monitor.notify import Contact
from tests.monitor.notify.messages import FOLDER, SCENARIOS, Play, files
from tests.monitor.notify.scene import SPELLING, Store
from tests.monitor.notify.services import Services


@pytest.fixture(scope="module")
def written():
    """The files as they are written now, and what was played."""
    return files()


def test_the_messages_are_those_in_the_folder(written):
    """People who change a message read it; `python -m tests.monitor.notify.messages` writes them anew."""
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


def test_one_cause_on_two_hundred_routes_is_a_message_that_every_service_takes(monkeypatch):
    """Each with an owner of its own: twelve are named, and the list of incidents has all."""
    routes = [f"customer-support-team-{number}" for number in range(200)]
    contacts = {
        route: Contact(f"@{route}", f"https://wiki.example/{route}", f"undo {route}") for route in routes
    }
    monkeypatch.setattr("tests.monitor.notify.messages.CONTACTS", contacts)
    play = Play()
    play.store.incidents = partial(Store.incidents, play.store)
    play.store.add(
        *(
            replace(SPELLING, id=f"e-{route}", route=route, incident=f"i-{route}", change=f"i-{route}")
            for route in routes
        )
    )
    play.wait(240)
    assert play.services.problems == []
    for channel in play.services.seen:
        assert play.services.counted(channel) == 1
    [(_, said)] = play.services.seen["slack"]
    assert "customer-support-team-108 and 188 more" in said
    assert "@customer-support-team-108 (customer-support-team-108); 188 more" in said
    assert "<https://keel.example/incidents|Open all>" in said
