"""`changes show`: the report on a change as lines of text."""

from __future__ import annotations

from evenkeel.cli.changes import report_lines
from evenkeel.core.rewordings import label
from evenkeel.monitor.changes.report import reports_of
from tests.monitor.changes.tallies import MODEL, record, tally
from tests.monitor.changes.test_report import NOTHING


def test_a_report_has_what_was_noticed_measured_and_compared():
    """A swapped model of which half of the answers got worse."""
    (report,) = reports_of([record(MODEL, before=tally(200, 0.05), after=tally(200, 0.5))], NOTHING)
    lines = list(report_lines(report, report.said))
    assert lines[0] == "chat: another model"
    assert "Effect: answers got worse" in lines
    # Said once: the evidence does not repeat what coincided.
    (model,) = (line for line in lines if "“a” → “b”" in line)
    assert (
        model
        == "  - Another model (changed at that time): Returned model: “a” → “b”, at 1 Jan 1970 00:01 UTC."
    )
    assert "  - 200 exchanges before, 200 after" in lines
    (casing,) = (line for line in lines if line.startswith(f"  - {label('general.casing')}: "))
    assert "→" in casing
