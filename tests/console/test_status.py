from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.console import PipelineView
from evenkeel.console.incidents import incident_lines, next_step
from evenkeel.console.situation import Situation
from evenkeel.console.status import coverage, status
from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.measuring import Measuring
from evenkeel.monitor.notify import Contact, Writer
from tests.console.memory_stores import MemoryMonitorStore
from tests.kit.cells import with_figures
from tests.monitor.notify.scene import BILLING, FOUND, SPELLING, TONE, decided, incidents_of, over

NOW = 1_786_544_400.0
FINE = Measuring("measuring", NOW)
VIEW = PipelineView(base_url="http://127.0.0.1:8080/v1")


def situation(*events, reports=()):
    """What the pages agree on after these events."""
    return Situation(MemoryMonitorStore(list(events)), lambda: list(reports))


def plain(text):
    """With ordinary spaces."""
    return text.replace("\u202f", " ").replace("\u00a0", " ")


def test_too_few_trials_mean_collecting(make_cell):
    """Without a single number nothing is called steady; how far the first figure is off is said."""
    found = status([make_cell("r", "m", "general.casing", trials=12)], VIEW, NOW, FINE)
    assert found.state == "collecting"
    assert "needs 30 trials with a rated control; the one with the most trials has 12." in found.summary


def test_while_no_trial_is_rated_the_reasons_stand_there(make_cell):
    """Nobody is told to wait for numbers that cannot come; refused replays name the variable of their key."""
    cell = make_cell("r", "m", "general.casing", trials=0)
    reports = [
        with_figures(cell, failures={"unauthorized": 2, "timeout": 9}),
        with_figures(cell, failures={"unauthorized": 1}),
    ]
    found = status(reports, VIEW, NOW, FINE).summary
    assert found.startswith("No trial could be rated yet: timeout 9, unauthorized 3.")
    assert "EVENKEEL_SHADOW_API_KEY" in found
    assert (
        "EVENKEEL_SHADOW"
        not in status([with_figures(cell, failures={"timeout": 9})], VIEW, NOW, FINE).summary
    )
    judge = replace(VIEW, notices=("The judge has no key.",))
    assert "EVENKEEL_SHADOW" not in status(reports, judge, NOW, FINE).summary


def test_steady_names_the_cell_nearest_to_an_incident(make_cell):
    """The most points above noise, with the limit they have to be seen against."""
    reports = [
        make_cell("a", "m", "general.casing", moved=0.05),
        make_cell("b", "m", "general.spelling", moved=0.10),
    ]
    found = status(reports, VIEW, NOW, FINE)
    assert found.state == "steady"
    assert plain(found.summary) == (
        "Largest: 6 [3, 9] points above noise in 214 trials for misspellings on b (limit 10). "
        "Last trial 14:19 UTC."
    )


def test_how_much_is_watched_is_counted(make_cell):
    """Cells that see nothing, fail or collect are never left out of the count."""
    blind = with_figures(make_cell("a", "m", "general.tone"), blind=("content",))
    failing = with_figures(make_cell("b", "m", "general.casing", trials=3), failures={"timeout": 9})
    cells = [
        make_cell("a", "m", "general.casing"),
        blind,
        failing,
        make_cell("b", "m", "general.tone", trials=4),
    ]
    assert coverage(cells) == (
        "4 cells on 2 routes, 2 with a figure; 1 still collecting trials; 1 blind: their noise "
        "hides any change; 1 failing: most trials have no rating (timeout 9)."
    )
    behind = with_figures(cells[0], failures={"model_changed": 900})
    assert coverage([behind]) == (
        "1 cell on 1 route, 1 with a figure; 1 failing: most trials have no rating (model changed 900)."
    )
    assert coverage([]) == ""


def test_an_open_incident_is_the_headline(make_cell):
    """However many alerts it has; answers that only got steadier are none."""
    calmer = replace(BILLING, what="drift", direction="fallen", measure="drift")
    lines = incident_lines(situation(SPELLING, TONE, FOUND, calmer).going(), Writer())
    found = status([make_cell("support", "helpdesk-2", "general.tone")], VIEW, NOW, FINE, lines)
    assert (found.state, len(found.going)) == ("incident", 1)
    assert "after helpdesk-1 → helpdesk-2" in found.announcement
    assert found.summary == ""


def test_a_model_that_was_rolled_back_is_not_the_largest(make_cell):
    """It is gone with the rollback; steady must not name 41 points over a limit of 10."""
    gone = replace(make_cell("support", "helpdesk-2", "general.spelling", moved=0.5), retired=True)
    now = make_cell("support", "helpdesk-1", "general.spelling", moved=0.05)
    seen = situation(SPELLING, over(SPELLING), reports=[gone, now])
    lately = incident_lines(seen.board.all(), Writer())
    assert lately[0].incident.closed_at == 2_000
    assert "Largest: 1 [" in status(seen.cells(), VIEW, NOW, FINE, (), lately).summary


@pytest.mark.parametrize("ending", ["accepted", "rolled_back", "false_alarm"])
def test_what_a_person_has_resolved_alerts_no_more(make_cell, ending):
    """Though the detector's alert is still up."""
    cell = make_cell("support", "helpdesk-2", "general.spelling", alert=True)
    assert [one.detection.alert for one in situation(SPELLING, reports=[cell]).cells()] == [True]
    closed = situation(SPELLING, decided("closed", reason=ending), reports=[cell])
    assert (closed.count(), [one.detection.alert for one in closed.cells()]) == (0, [False])


@pytest.mark.parametrize(
    ("event", "contact", "said"),
    [
        (SPELLING, Contact(rollback="helm rollback support"), "Roll back: helm rollback support"),
        (SPELLING, Contact(), "If the answers are worse, go back to helpdesk-1."),
        (
            replace(SPELLING, marks=(ChangeMark("prompt_version", "a", "b", 990.0, 5),)),
            Contact(),
            "If the answers are worse, undo the change: prompt version.",
        ),
        (BILLING, Contact(), "If the answers are worse, pin the model's version or ask the provider."),
    ],
)
def test_the_next_step_fits_the_cause(event, contact, said):
    """A command of the team first, else what follows from what changed."""
    (incident,) = incidents_of([replace(event, marks=() if event is FOUND else event.marks)])
    assert said in next_step(incident, contact)


def test_a_stuck_queue_is_said_aloud(make_cell):
    """Silence must not look like health."""
    view = replace(VIEW, oldest_s=600.0, notices=("x",))
    notices = status([make_cell("r", "m", "general.casing")], view, NOW, FINE).notices
    assert notices[0] == "x"
    assert "oldest exchange has waited 10 min" in notices[1]
