"""The reference of the alerts against the rules."""

from __future__ import annotations

from evenkeel.reference.pages import RULES, alerts_page
from tests.deploy.rule_files import ALERTS
from tests.docs.documentation import ROOT

ONE_RULE = """
groups:
  - name: things
    rules:
      - record: evenkeel:rate
        expr: sum(x)
      - alert: EvenkeelThing
        expr: |
          x > 1
        for: 5m
        labels: {severity: warning, concern: pipeline}
        annotations:
          summary: "{{ $labels.route }} has {{ $value | humanize }} things."
"""


def test_every_alert_of_every_rule_file_is_on_the_page():
    """None is left out, also not one of two with the same name."""
    page = alerts_page(ROOT / RULES)
    assert all(rule["expr"].strip() in page for rule in ALERTS)
    assert page.count("\n### ") == len(ALERTS) > 20


def test_a_rule_is_shown_with_its_labels_named(tmp_path):
    """Templates become the names of their labels; recording rules are not alerts."""
    (tmp_path / "one.yaml").write_text(ONE_RULE, encoding="utf-8")
    assert alerts_page(tmp_path).endswith(
        "\n## things\n\n### EvenkeelThing (warning)\n\n"
        "*route* has … things. [Runbook](../runbooks/EvenkeelThing.md)\n\n"
        "Concern: pipeline. Has to hold for: 5m.\n\n```promql\nx > 1\n```\n"
    )
