"""The Alertmanager example: who gets what, and what is held back."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
import yaml

from tests.deploy.rule_files import ALERTS
from tests.house import ROOT

FOLDER = ROOT / "deploy" / "alertmanager"
CONFIG = yaml.safe_load((FOLDER / "alertmanager.yml").read_text(encoding="utf-8"))

pytestmark = pytest.mark.service("prometheus-alertmanager")


def amtool(*arguments):
    """Its output; a failure shows all of it."""
    done = subprocess.run(["amtool", *arguments], capture_output=True, text=True, check=False, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_alertmanager_takes_the_configuration():
    """The check covers receivers, routes, inhibition and the templates."""
    said = amtool("check-config", "alertmanager.yml")
    assert "1 templates" in said
    assert f"{len(CONFIG['inhibit_rules'])} inhibit rules" in said


@pytest.mark.parametrize(
    ("labels", "receivers"),
    [
        (["severity=critical", "concern=robustness", "route=chat"], "on-call,team-chat"),
        (["severity=warning", "concern=judge"], "team-chat"),
        (["severity=info", "concern=pipeline"], "journal"),
        (["severity=none", "alertname=EvenkeelIncidentAcknowledged"], "nobody"),
        (["alertname=SomethingElse"], "team-chat"),
    ],
)
def test_each_severity_reaches_its_people(labels, receivers):
    """Critical ones wake somebody and are seen in the chat; nothing is lost for lack of a label."""
    args = ("--config.file=alertmanager.yml", f"--verify.receivers={receivers}", *labels)
    assert amtool("config", "routes", "test", *args).strip() == receivers


def test_alerts_are_grouped_by_incident_and_others_by_route_throughout():
    """What is no incident has no slot; no branch has a grouping of its own."""
    assert CONFIG["route"]["group_by"] == ["job", "route", "slot"]
    assert not any("group_by" in branch for branch in CONFIG["route"]["routes"])


def test_secrets_stand_in_files():
    """Nothing in the example is a key, a token, or an address that is one."""
    for receiver in CONFIG["receivers"]:
        for pagerduty in receiver.get("pagerduty_configs", []):
            assert pagerduty["routing_key_file"]
            assert "routing_key" not in pagerduty
        for slack in receiver.get("slack_configs", []):
            assert slack["api_url_file"]
            assert "api_url" not in slack
        for webhook in receiver.get("webhook_configs", []):
            assert webhook["http_config"]["authorization"]["credentials_file"]


def test_what_mutes_is_a_judge_or_a_pipeline_in_trouble():
    """The rules say at themselves whether they mute, by the scope of their own labels."""
    muting = [rule for rule in ALERTS if "mutes" in rule["labels"]]
    assert all(rule["labels"]["concern"] != "robustness" for rule in muting)
    assert {rule["alert"]: rule["labels"]["scope"] for rule in muting} == {
        "EvenkeelJudgeUnusable": "all",
        "EvenkeelPipelineStalled": "all",
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


def test_one_fault_does_not_page_twice():
    """Only incidents page about answers: the objective is an info that waits for their end."""
    about = [rule for rule in ALERTS if rule["labels"]["concern"] in {"robustness", "provider"}]
    assert {rule["alert"] for rule in about if rule["labels"]["severity"] not in {"info", "none"}} == {
        "EvenkeelIncident"
    }
    (objective,) = [rule for rule in about if rule["alert"] == "EvenkeelObjectiveMissed"]
    assert "unless on (job, route)" in objective["expr"]
    assert "evenkeel_route_incidents[6h]" in objective["expr"]
