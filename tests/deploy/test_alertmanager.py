"""The Alertmanager example: who gets what, and what is held back."""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
import yaml

from tests.alerting import alertmanager
from tests.cases import cases
from tests.deploy.rule_files import ALERTS
from tests.house import ROOT
from tests.services import receiver, wait_for

CASES = cases(__file__)

FOLDER = ROOT / "deploy" / "alertmanager"
CONFIG = yaml.safe_load((FOLDER / "alertmanager.yml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.service("prometheus-alertmanager")


def amtool(*arguments):
    """Run it; return its output, all of which a failure shows."""
    done = subprocess.run(["amtool", *arguments], capture_output=True, text=True, check=False, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alertmanager_takes_the_configuration():
    """The check covers receivers, routes, inhibition and the templates."""
    said = amtool("check-config", "alertmanager.yml")
    assert "1 templates" in said
    assert f"{len(CONFIG['inhibit_rules'])} inhibit rules" in said


@pytest.mark.parametrize(("labels", "receivers"), CASES["receivers"])
def test_each_severity_reaches_its_people(labels, receivers):
    """Critical ones wake somebody and are seen in the chat; nothing is lost for lack of a label."""
    args = ("--config.file=alertmanager.yml", f"--verify.receivers={receivers}", *labels)
    assert amtool("config", "routes", "test", *args).strip() == receivers


def test_secrets_stand_in_files():
    """Nothing in the example is a key, a token, or an address that is one."""
    for kept in CONFIG["receivers"]:
        for pagerduty in kept.get("pagerduty_configs", []):
            assert pagerduty["routing_key_file"]
            assert "routing_key" not in pagerduty
        for slack in kept.get("slack_configs", []):
            assert slack["api_url_file"]
            assert "api_url" not in slack
        for webhook in kept.get("webhook_configs", []):
            assert webhook["http_config"]["authorization"]["credentials_file"]


def test_what_mutes_is_a_judge_or_a_pipeline_in_trouble():
    """The rules say at themselves whether they mute, by the scope of their own labels."""
    muting = [rule for rule in ALERTS if "mutes" in rule["labels"]]
    assert all(rule["labels"]["concern"] != "robustness" for rule in muting)
    assert {rule["alert"]: rule["labels"]["scope"] for rule in muting} == {
        "EvenkeelJudgeUnusable": "all",
        "EvenkeelPipelineStalled": "all",
        "EvenkeelNotMeasuring": "all",
        "EvenkeelMonitorStalled": "all",
        "EvenkeelDown": "all",
        "EvenkeelJudgeDrift": "route",
        "EvenkeelVerdictsFailing": "route",
        "EvenkeelScoresStale": "route",
    }


def test_every_alert_that_inhibition_names_exists():
    """A rule of inhibition on an alert that was renamed would hold nothing back."""
    matchers = [
        matcher
        for rule in CONFIG["inhibit_rules"]
        for matcher in (*rule["source_matchers"], *rule["target_matchers"])
        if matcher.startswith("alertname") and "Golden" not in matcher
    ]
    named = {name for matcher in matchers for name in re.findall(r"Evenkeel\w+", matcher)}
    assert len(named) >= 7
    assert named <= {rule["alert"] for rule in ALERTS}


def test_a_message_names_the_route_and_links_to_console_and_runbook(tmp_path):
    """The title of a group, and one paragraph for each alert in it."""
    alert = {
        "status": "firing",
        "labels": {"severity": "critical", "route": "chat"},
        "annotations": {
            "summary": "It fell",
            "description": "By much.",
            "console_url": "http://c/",
            "runbook_url": "http://r/",
            "owner": "@chat",
            "rollback": "",
        },
    }
    over = {**alert, "status": "resolved", "annotations": {**alert["annotations"], "summary": "It rose"}}
    data = {"status": "firing", "alerts": [alert, over], "groupLabels": {"route": "chat"}}
    file = tmp_path / "data.json"
    file.write_text(json.dumps(data))

    def rendered(name):
        text = f'{{{{ template "evenkeel.{name}" . }}}}'
        args = ("--template.glob=*.tmpl", f"--template.text={text}", f"--template.data={file}")
        return amtool("template", "render", *args)

    assert rendered("title").strip() == "[FIRING: 1] route chat: 2 alerts"
    file.write_text(json.dumps({**data, "groupLabels": {"case": "chat/1"}}))
    assert rendered("title").strip() == "[FIRING: 1] 2 incidents with one cause. It fell"
    assert rendered("text").strip() == (
        "It fell (critical)\nBy much.\nOwner: @chat\nConsole: http://c/\nRunbook: http://r/\n\n"
        "Resolved: It rose (critical)\nBy much.\nOwner: @chat\nConsole: http://c/\nRunbook: http://r/"
    )


def held_back_by(source):
    """The rules of inhibition in which an alert with these labels is the source."""
    return [
        rule
        for rule in CONFIG["inhibit_rules"]
        if all(f'{name}="{value}"' in rule["source_matchers"] for name, value in source.items())
    ]


def test_an_acknowledged_incident_is_held_back_and_no_other_one():
    """The inhibition is of the same job, route and slot; the other incidents of the route go on."""
    (rule,) = held_back_by({"alertname": "EvenkeelIncidentAcknowledged"})
    assert rule["target_matchers"] == ['alertname="EvenkeelIncident"']
    assert rule["equal"] == ["job", "route", "slot"]


@pytest.fixture
def manager(tmp_path):
    """A running Alertmanager with our routes, groups and inhibition; its address, and what it sends where."""
    # Three seconds, in which all that belongs together has been posted.
    with receiver() as (url, messages), alertmanager(tmp_path, url, wait="3s") as address:
        yield address, messages


def incident(slot, *, ends_s=None, route="support", **labels):
    """An alert as Prometheus posts it when it fires; or over since so many seconds ago.

    One that has fired for longer than `group_wait` would be sent at once, without those that come with it.
    """
    now = datetime.now(tz=UTC)
    ends = {} if ends_s is None else {"endsAt": (now - timedelta(seconds=ends_s)).isoformat()}
    own = {
        "alertname": "EvenkeelIncident",
        "severity": "critical",
        "concern": "robustness",
        "change": "model",
    }
    place = {"job": "evenkeel", "route": route, "slot": slot, "case": f"{route}/{slot}"}
    started = now if ends_s is None else now - timedelta(minutes=5)
    return {"labels": {**place, **own, **labels}, "startsAt": started.isoformat(), **ends}


def test_two_incidents_of_a_route_are_two_messages_and_an_acknowledged_one_ends_with_one(manager):
    """The acknowledged one is held back while it lasts, the other is not; when it is over that is sent."""
    address, messages = manager
    bare = {"change": "", "case": ""}
    acknowledged = {"alertname": "EvenkeelIncidentAcknowledged", "severity": "none", **bare}

    def post(*alerts):
        httpx2.post(f"{address}/api/v2/alerts", json=list(alerts)).raise_for_status()

    def sent(to, status):
        return sorted(
            message["groupLabels"]["case"]
            for message in list(messages)
            if (message["receiver"], message["status"]) == (to, status)
        )

    def held_back():
        query = {"filter": 'alertname="EvenkeelIncident"'}
        found = httpx2.get(f"{address}/api/v2/alerts", params=query).json()
        return {alert["labels"]["slot"] for alert in found if alert["status"]["inhibitedBy"]}

    post(incident("1"), incident("2", change="prompt"))
    both = ["support/1", "support/2"]
    wait_for(lambda: sent("on-call", "firing") == both)
    wait_for(lambda: sent("team-chat", "firing") == both)
    post(incident("1", **acknowledged))
    wait_for(lambda: held_back() == {"1"})
    post(incident("1", ends_s=1), incident("1", ends_s=1, **acknowledged))
    wait_for(lambda: sent("on-call", "resolved") == ["support/1"])
    assert sent("on-call", "firing") == both
    assert {message["receiver"] for message in list(messages)} == {"on-call", "team-chat"}


def test_one_swap_on_eight_routes_is_one_message_and_one_that_it_is_over(manager):
    """The message names all eight; another cause is another one. Seven that are over end nothing."""
    address, messages = manager
    eight = [f"team-{number}" for number in range(8)]

    def post(routes, **more):
        alerts = [incident("1", route=route, case="team-0/1", **more) for route in routes]
        httpx2.post(f"{address}/api/v2/alerts", json=alerts).raise_for_status()

    def sent(case, status):
        return [
            sorted(alert["labels"]["route"] for alert in message["alerts"])
            for message in list(messages)
            if (message["receiver"], message["status"]) == ("on-call", status)
            and message["groupLabels"]["case"] == case
        ]

    post(eight)
    httpx2.post(f"{address}/api/v2/alerts", json=[incident("1", route="mail")]).raise_for_status()
    wait_for(lambda: sent("mail/1", "firing") == [["mail"]])
    wait_for(lambda: sent("team-0/1", "firing") == [eight])
    post(eight[:-1], ends_s=1)
    post(eight[-1:])
    assert sent("team-0/1", "resolved") == []
    post(eight[-1:], ends_s=1)
    wait_for(lambda: len(sent("team-0/1", "resolved")) == 1)
