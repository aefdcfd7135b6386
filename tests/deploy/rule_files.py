"""The rules of Prometheus as the tests read them."""

import yaml

from tests.house import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULE_FILES = sorted((PROMETHEUS / "rules").glob("*.yaml"))


def rules(kind):
    """All rules of a kind, "alert" or "record"."""
    return [
        rule
        for file in RULE_FILES
        for group in yaml.safe_load(file.read_text(encoding="utf-8"))["groups"]
        for rule in group["rules"]
        if kind in rule
    ]


ALERTS = rules("alert")
TOLD = [rule for rule in ALERTS if rule["labels"]["severity"] != "none"]
"""Rules that reach somebody; the others hold back alerts."""
RECORDED = {rule["record"] for rule in rules("record")}
NAMES = sorted({rule["alert"] for rule in TOLD})
