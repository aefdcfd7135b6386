"""What is different about one series or column."""

from __future__ import annotations

from grafana_foundation_sdk.models import dashboard


def value(name: str, value: object) -> dashboard.DynamicConfigValue:
    """One property."""
    return dashboard.DynamicConfigValue(name, value)


def colour(name: str) -> dashboard.DynamicConfigValue:
    """One colour whatever the value."""
    return value("color", {"mode": "fixed", "fixedColor": name})
