"""The console's pages, in the order in which the navigation names them."""

from __future__ import annotations

from typing import NamedTuple


class PageLink(NamedTuple):
    """One entry of the navigation."""

    href: str
    label: str


OVERVIEW = PageLink("/", "Overview")
TRIALS = PageLink("/trials", "Trials")
ALERTS = PageLink("/alerts", "Alerts")
CHANGES = PageLink("/changes", "Changes")
GOLDENS = PageLink("/goldens", "Goldens")
JUDGE = PageLink("/judge", "Judge")
CALIBRATION = PageLink("/calibration", "Calibration")
PIPELINE = PageLink("/pipeline", "Pipeline")
SETTINGS = PageLink("/settings", "Settings")
ACTIONS = PageLink("/actions", "Actions")
