"""Notifications as the settings ask for them, and what holds them back."""

import asyncio
import re

import pytest

from evenkeel.core.trouble import JudgeTrouble
from evenkeel.core.verdict import Failure
from evenkeel.llm.limits import Breaker
from evenkeel.runtime.choices import addresses, check
from evenkeel.runtime.instruments import JudgeHealth
from evenkeel.runtime.notifications import sinks
from evenkeel.settings import Settings, SettingsError
from tests.cases import cases
from tests.kit.commands import run_command

CASES = cases(__file__)


def alerting(**alerts):
    return Settings(routes=[{"upstream": "http://127.0.0.1:9"}], alerts=alerts)


class Part:
    """A judge, set by hand."""

    model = "j"
    pause_left_s = 0.0


@pytest.mark.parametrize(("alerts", "message"), CASES["empty"])
def test_an_empty_variable_is_found_before_the_start(monkeypatch, alerts, message):
    pytest.importorskip("apprise")
    monkeypatch.setenv("CHAT", "")
    with pytest.raises(SettingsError) as caught:
        check(alerting(**alerts), "evenkeel.yaml")
    assert str(caught.value).startswith(f"evenkeel.yaml: {message}")


def test_check_config_finds_an_address_that_apprise_does_not_know(monkeypatch, tmp_path):
    """The message names the variable and does not show what is in it."""
    pytest.importorskip("apprise")
    config = tmp_path / "evenkeel.yaml"
    config.write_text("routes: [{upstream: 'http://127.0.0.1:9'}]\nalerts: {notify: [CHAT]}\n")
    done = run_command("check-config", "--config", str(config), code=1, env={"CHAT": "secret-word"})
    assert "evenkeel: alerts.notify: CHAT holds no address that apprise knows." in done.output
    assert "secret-word" not in done.output


def test_a_running_evenkeel_goes_on_without_notifications(monkeypatch):
    """Faults that are found later are told, once."""
    monkeypatch.delenv("CHAT", raising=False)
    lines = []
    assert list(sinks(alerting(notify=["CHAT"]), lines.append)) == []
    (line,) = lines
    assert line == (
        "[evenkeel] no notifications by apprise: the variable CHAT is empty; it must hold the address of a "
        "service; everything else goes on"
    )


def test_every_service_that_is_set_is_a_channel(monkeypatch):
    """Webhook, Slack, Teams, PagerDuty, and each of apprise, which is loaded when it is needed."""
    pytest.importorskip("apprise")
    own = ("EVENKEEL_SLACK_TOKEN", "EVENKEEL_TEAMS_URL", "EVENKEEL_PAGERDUTY_KEY")
    for name in (*own, "CHAT", "MAIL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/x")
    asked = alerting(
        webhook="http://127.0.0.1:9/hook",
        slack_channel="#llm",
        notify=["CHAT", "MAIL"],
    )
    assert list(addresses(asked)) == ["CHAT", "MAIL"]
    assert len(list(sinks(asked, [].append))) == 6


def test_whether_the_judge_can_be_used_is_a_gauge():
    """1 while it works, 0 while its breaker is open or it wants a pause, and no gauge without a judge."""
    breaker = Breaker(failures=1)
    judge = Part()
    health = JudgeHealth(judge, breaker, "KEY")
    assert (health.snapshot(), health.trouble()) == ({"gauges": [["judge_up", {}, 1]]}, None)
    judge.pause_left_s = 5.1
    assert health.snapshot() == {"gauges": [["judge_up", {}, 0]]}
    assert health.trouble() == JudgeTrouble(
        "",
        "The judge j fails again and again, or wants a pause",
        "Check the judge's endpoint and its limits.",
    )
    judge.pause_left_s = 5.0
    breaker.record(ok=False)
    assert health.snapshot() == {"gauges": [["judge_up", {}, 0]]}
    assert JudgeHealth(None, Breaker(), "KEY").snapshot() == {"gauges": []}


def test_each_trouble_of_a_judge_is_logged_once_until_it_works_again(monkeypatch, caplog):
    """A detail that changes, such as the seconds left of a pause, is no news; the probe has the latest."""
    monkeypatch.setattr("evenkeel.runtime.instruments._CHECK_AGAIN_S", 0)
    monkeypatch.setattr("evenkeel.runtime.instruments._WATCH_S", 0)
    faults = ("rate_limited", "60 s"), ("rate_limited", "45 s"), ("timeout", "15 s"), ("rate_limited", "30 s")
    outcomes = [*(Failure("j", 1, *fault) for fault in faults), None, Failure("j", 1, *faults[0]), None]
    judge, stop, shown = Part(), asyncio.Event(), []
    judge.pause_left_s = 6.0  # so that it is asked again though it works
    health = JudgeHealth(judge, Breaker(), "KEY")

    async def check():
        shown.append(health.problem)
        if len(outcomes) == 1:
            stop.set()
        return outcomes.pop(0)

    judge.check = check
    with caplog.at_level("INFO", logger="evenkeel.judge"):
        asyncio.run(health.run(stop, announced=True))
    lines = [re.search(r"\(.*: .* s\)|works again", message)[0] for message in caplog.messages]
    first = "(rate_limited: 60 s)"
    assert lines == [first, "(timeout: 15 s)", "works again", first]
    assert [problem and re.search(r"\d+ s", problem)[0] for problem in shown] == [
        *(None, "60 s", "45 s", "15 s", "30 s", None, "60 s")
    ]
