"""Backtests: alerts, variants, the report and its JSON, on logs whose truth is planted."""

import json

import pytest

from evenkeel.core.cells import Limit
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.backtest import SettingsVariant, backtest, grid, read_lines, sweep
from evenkeel.lab.backtest.report import document
from evenkeel.monitor.detect import Measure
from evenkeel.monitor.fold import MonitorSettings
from tests.kit.commands import run_command
from tests.kit.pages import Page

QUIET = 400
STEP_S = 60


def rows(trials=QUIET, *, broken_from=None, perturbation="general.typos", route="default"):
    """Trials of which none shifts, or from one on two of three."""
    return [
        {
            "time": 1_793_527_200 + STEP_S * place,
            "exchange": f"{route}{place}",
            "route": route,
            "perturbation": perturbation,
            "rating": 1 if broken_from is not None and place >= broken_from and place % 3 else 3,
            "control_rating": 3,
        }
        for place in range(trials)
    ]


def verdicts(found):
    """The rows as verdicts: a control and a trial each."""
    return list(read_lines([json.dumps(row) for row in found], "log.jsonl"))


BROKEN = rows(broken_from=200)


def test_a_quiet_log_raises_nothing():
    """Every trial is counted in its cell."""
    found = backtest(verdicts(rows()))
    assert (found.trials, found.alerts, found.trials_between_alerts) == (2 * QUIET, (), None)
    assert {cell.key.perturbation: cell.counts.trials for cell in found.cells} == {
        BASELINE: QUIET,
        "general.typos": QUIET,
    }


def test_variants_are_compared_on_one_reading():
    """A smaller share takes a part of the trials, and alerts keep their numbers in the log."""
    variants = grid(MonitorSettings(), thresholds=[0.1, 0.9], shares=[1.0, 0.5])
    found = sweep(iter(verdicts(BROKEN)), variants)
    assert [(run.variant.settings.threshold, run.variant.share) for run in found] == [
        (0.1, 1.0), (0.9, 1.0), (0.1, 0.5), (0.9, 0.5),
    ]  # fmt: skip
    assert found[0].trials == 2 * QUIET
    assert QUIET * 0.8 < found[2].trials < QUIET * 1.2
    excess = [[alert for alert in each.raised if alert.what == "excess"] for each in found]
    assert excess[0]
    assert excess[1] == []
    assert all(alert.offset > 2 * 200 for alert in excess[2])
    assert found[0].trials_between_alerts == found[0].trials / len(found[0].raised)


def test_a_limit_that_is_given_wins_over_calibrated_ones():
    """Limits change on all routes; other measures keep theirs."""
    calibrated = {"": {Measure.CONTENT: Limit(0.2, "calibrated"), Measure.SIMILARITY: Limit(0.03)}}
    settings = MonitorSettings(limits=calibrated, tolerances={"": Limit(0.2)})
    kept, changed = grid(settings), grid(settings, thresholds=[0.05], tolerances=[0.01])
    assert kept[0].settings.limits_of("chat")[Measure.CONTENT].value == 0.2
    assert kept[0].settings.tolerance_of("chat").value == 0.2
    limits = changed[0].settings.limits_of("chat")
    assert [limits[measure].value for measure in (Measure.CONTENT, Measure.SIMILARITY)] == [0.05, 0.03]
    assert changed[0].settings.tolerance_of("chat").value == 0.01


def test_a_variant_takes_only_some_cells():
    """Patterns choose them; controls are always taken."""
    log = verdicts([*rows(10), *rows(10, perturbation="general.casing"), *rows(10, route="support")])
    only = backtest(log, SettingsVariant(only=("*.casing",)))
    assert {cell.key.perturbation for cell in only.cells} == {BASELINE, "general.casing"}
    routed = backtest(log, SettingsVariant(routes=("supp*",)))
    assert {cell.key.route for cell in routed.cells} == {"support"}
    later = backtest(log, SettingsVariant(since=1_793_527_200 + 5 * STEP_S))
    assert later.trials == sum(verdict.scored_at >= 1_793_527_200 + 5 * STEP_S for verdict in log)


def run(tmp_path, log, *arguments, code=0):
    """Return what the command prints."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in log))
    result = run_command("backtest", path, *arguments, code=code)
    return result.stdout if code == 0 else result.output


def test_the_json_has_what_the_page_describes(tmp_path):
    """Alerts with trial and time, cells with estimates, and a row for each variant."""
    said = json.loads(run(tmp_path, BROKEN, "--json", "--threshold", 0.1, "--threshold", 0.2))
    assert said.keys() == {
        "source", "settings", "trials", "first_at", "last_at", "trials_between_alerts", "alerts", "cells",
        "changes", "variants",
    }  # fmt: skip
    alert = said["alerts"][0]
    assert {"time", "trial", "kind", "what", "direction", "route", "model", "perturbation", "summary"} <= (
        alert.keys()
    )
    assert alert["trial"] > 400
    assert said["settings"]["threshold"] == 0.1
    cell = next(cell for cell in said["cells"] if cell["perturbation"] == "general.typos")
    assert cell["estimates"]["content_delta"]["value"] == 133 / 400
    assert cell["estimates"]["excess"].keys() == {"value", "lower", "upper", "n"}
    assert [variant["settings"]["threshold"] for variant in said["variants"]] == [0.1, 0.2]
    assert said["variants"][0]["first_alert"] == alert


def test_a_cell_within_its_limit_names_the_language_that_is_not():
    """Every tenth request is German, and every second answer to those moves; French ones have no control."""
    log = []
    for number, row in enumerate(rows(1_500)):
        german = number % 10 == 0
        moved = german and number % 20 == 0
        log.append(row | {"prompt_language": "de" if german else "en", "rating": 2 if moved else 3})
        french = row | {"route": "fr", "exchange": f"fr{number}", "control_rating": None}
        log.append(french)
    report = document([backtest(verdicts(log))], "log")
    table = next(section for section in report.sections if section.title == "Cells").blocks[0]
    said = {cells[0]: cells for cells in table.rows}
    assert said["typos on default"][-1].startswith("within its limit, worst language de: 50 [")
    assert said["typos on default"][-1].endswith("points in 150 trials")
    assert said["typos on default"][-2].value == 1
    assert said["typos on fr"][-2:] == (None, "unmeasured (no rated control)")


def test_the_page_draws_every_cell_and_marks_its_alerts(tmp_path):
    """The page is one file that needs nothing else."""
    said = run(tmp_path, BROKEN, "--plot", tmp_path / "page.html")
    assert "Variants" not in said
    page = Page((tmp_path / "page.html").read_text())
    assert page.addresses == []
    drawn = [attributes for tag, attributes in page.elements if tag == "svg"]
    assert len(drawn) == 2
    assert any("rule limit" in (attributes.get("class") or "") for _, attributes in page.elements)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threshold", "2"], "Invalid value for '--threshold'"),
        (["--data-dir", "x"], "name a file or the folder of a store"),
        (["--from", "then"], '--from "then" is no date'),
        (["--only", "nothing"], "--only nothing: does not occur in the log; it has general.typos"),
        (["--route", "nowhere"], "--route nowhere: does not occur in the log; it has default"),
        (["--plot", "none/page.html"], "there is no folder none"),
        ([f"--threshold={number / 100}" for number in range(1, 60)], "59 combinations are more than 48"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, arguments, said):
    """Exit code 2, as for a log that cannot be read."""
    assert said in run(tmp_path, rows(1), *arguments, code=2)
