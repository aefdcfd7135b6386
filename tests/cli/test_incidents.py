"""`evenkeel incidents` and `evenkeel changes`: what happened, since when, and what to do."""

from click.testing import CliRunner

from evenkeel.cli.changes import report_lines
from evenkeel.cli.main import main
from evenkeel.core.cells import ChangeMark
from evenkeel.core.rewordings import label
from evenkeel.core.verdict import Scoring
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.changes.report import reports_of
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.stores.monitor_state import AlertEvent, IncidentRow
from tests.monitor.changes.tallies import MODEL, record, tally
from tests.monitor.changes.test_report import NOTHING
from tests.monitor.notify.scene import incidents_of
from tests.stores.examples import verdict

SETTINGS = """
data_dir: {folder}
routes:
  - name: support
    upstream: https://api.example.com/v1
    contact: {{owner: "@support-ml", rollback: helm rollback support}}
alerts: {{console_url: "https://evenkeel.example.com"}}
"""


def test_an_incident_says_whom_to_call_how_to_roll_back_and_where_to_look(tmp_path):
    """Headline with its cause, time, state, owner, rollback, link, and its alerts."""
    config = tmp_path / "evenkeel.yaml"
    config.write_text(SETTINGS.format(folder=tmp_path / "data"))
    swap = ChangeMark(kinds.MODEL, "helpdesk-1", "helpdesk-2", 100.0, 7)
    event = AlertEvent(
        "e", 160.0, "raised", "support", "helpdesk-2", "general.tone", 1, 40, 0.4, incident="0123456789ab",
        measure="content", value=0.4, limit=0.1, marks=(swap,),
    )  # fmt: skip
    (incident,) = incidents_of([event])
    with opened(settings_of_stores(config, None), create=True) as stores:
        row = IncidentRow(incident.id, 1, incident.to_bytes())
        stores.monitor.commit(b"", 1, [event], [], incidents=[row])
        stores.verdicts.append(verdict(1, scoring=Scoring("metrics")), None)

    done = CliRunner().invoke(main, ["incidents", "show", incident.id, "--config", str(config)])

    assert done.exit_code == 0, done.output
    for command in (["incidents", "list"], ["changes", "list"]):
        listed = CliRunner().invoke(main, [*command, "--config", str(config)])
        assert "judge: none, contradictions cannot be seen; similarity only" in listed.stderr
    for text in (
        "helpdesk-1 → helpdesk-2",
        "State: open; opened 1 Jan 1970 00:02 UTC",
        "Owner: @support-ml",
        "Roll back: helm rollback support",
        f"Open: https://evenkeel.example.com/incidents/{incident.id}",
        "- up: ",
    ):
        assert text in done.output


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
