"""Alerts for programs: the file of them, and the verdicts behind one."""

from __future__ import annotations

from evenkeel.console.alerts import alerts_table
from evenkeel.monitor.incidents import verdicts_behind
from tests.kit.records import altered
from tests.monitor.notify.scene import FOUND, SPELLING, TONE, incidents_of, over


def test_the_file_lists_alerts_that_are_up_first():
    """Each with its incident, times in seconds, and figures with plain spaces."""
    held = altered(TONE, clients={"3f9a": 40})
    table = alerts_table(incidents_of([SPELLING, held, over(SPELLING)]))
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["state"], row["perturbation"]) for row in rows] == [
        ("up", "general.tone"),
        ("over", "general.spelling"),
    ]
    assert {row["incident"] for row in rows} == {"cafe"}
    assert (rows[0]["since"], rows[0]["until"], rows[0]["clients"]) == (
        1010.0, None, "All 40 trials come from client 3f9a",
    )  # fmt: skip
    assert rows[0]["summary"].startswith("Answers are fragile for general.tone on support (helpdesk-2): ")
    assert (rows[1]["until"], rows[1]["reason"]) == (2000.0, "reversed")


def test_an_alert_on_a_silent_change_has_no_verdicts_behind_it():
    """It rests on answers and references: no log is searched, and none is needed."""
    assert verdicts_behind(None, FOUND) == []
