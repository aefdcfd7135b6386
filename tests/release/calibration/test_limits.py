"""Limits of the live alert: where they are placed, and their file."""

import json
import random
from datetime import date

import pytest
from click.testing import CliRunner

from evenkeel.cli.lab.calibrate import calibrate
from evenkeel.core.records import to_json
from evenkeel.core.verdict import BASELINE, Control, Failure
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.release.calibration.limits import (
    GRID,
    LimitsError,
    QuietTraffic,
    RouteLimit,
    limits_to_json,
    lines_of,
    place_all,
    quiet_routes,
    read_limits,
)
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

RESEND = altered(
    VERDICT, route="support", perturbation=BASELINE, severity=0.0, seed=0, rating=None, control=Control()
)


def _rating(similarity):
    return 1 if similarity < 0.4 else 3


def quiet_log(trials, rng, *, floor=0.2, excess=0.0, kinds=4, burst=0.0, since=0):
    """A resend and a variant for each of so many exchanges.

    Args:
        trials: Exchanges.
        rng: Draws everything.
        floor: Share of resends that moved; easy and hard prompts differ in it, those of a burst do not.
        excess: By how much more often variants move, on average over the kinds; the first has none of it.
        kinds: Of perturbation.
        burst: Share of exchanges in bursts of twenty.
        since: Number of the first exchange.
    """
    verdicts = []
    number = since
    while number < since + trials:
        size = 20 if rng.random() < burst / 20 else 1
        hard = rng.betavariate(2, 8) / 0.2
        for _ in range(min(size, since + trials - number)):
            kind = rng.randrange(kinds)
            share = 0.5 if kinds == 1 else kind / (kinds - 1)
            alike = [
                0.3 if rng.random() < hard * (floor + more) else 0.85 + 0.15 * rng.random()
                for more in (0, 2 * excess * share)
            ]
            resend = altered(
                RESEND, id=f"c{number}", exchange_id=f"e{number}", scored_at=float(number),
                rating=_rating(alike[0]), similarity=alike[0],
            )  # fmt: skip
            variant = altered(
                resend, id=f"v{number}", perturbation=f"general.kind{kind}", severity=0.3,
                rating=_rating(alike[1]), similarity=alike[1],
                control_rating=_rating(alike[0]), control_similarity=alike[0],
            )  # fmt: skip
            verdicts += [resend, variant]
            number += 1
    return verdicts


TODAY = date(2026, 11, 20)
SIMILARITY = RouteLimit(
    route="support", measure="similarity", value=0.04, source="here", trials_between_false_alerts=10_000
)


def placed(quiet, *, rate=10_000, route=None):
    """The limits of the only route."""
    (found,) = place_all(quiet, route=route, trials_between_false_alerts=rate, today=TODAY)
    return found


def values(found):
    """Limits by measure."""
    return {limit.measure: limit.value for limit in found.limits}


def quiet(verdicts, *, alert=False):
    """Traffic of the route that is quiet."""
    traffic = QuietTraffic(alert=alert)
    for verdict in verdicts:
        traffic.add(verdict)
    return {"support": traffic}


def test_a_limit_lies_above_what_quiet_traffic_loses():
    """Kinds lose up to 0.08 more than the resend: no cell is above the limit, however small the mean."""
    rng = random.Random(1)
    found = values(placed(quiet(quiet_log(4_000, rng, excess=0.04, burst=0.2))))
    assert set(found) == {"content", "similarity", "quality"}
    assert 0.08 <= found["content"] <= 0.15
    assert found["similarity"] <= found["content"]
    assert set(found.values()) <= set(GRID)


def test_a_judge_that_fails_where_answers_differ_places_no_lower_limit():
    """What it missed may have moved, so the limit is at least the one with all of them rated."""
    log = quiet_log(4_000, random.Random(1), excess=0.04)
    failed = Failure("judge", 1, "judge_timeout")
    missed = []
    for number, verdict in enumerate(log):
        fails = verdict.rating == 1 and not verdict.is_control and number % 4 == 1
        missed.append(altered(verdict, rating=None, failure=failed) if fails else verdict)
    assert values(placed(quiet(missed)))["content"] >= values(placed(quiet(log)))["content"]


def test_too_little_traffic_places_nothing():
    """The message says how much there is and how much is needed."""
    found = placed(quiet(quiet_log(100, random.Random(4))))
    assert found.limits == ()
    assert list(lines_of(found)) == [
        "route support: no limits",
        "  100 trials are quiet; 300 are needed for limits",
    ]


def test_traffic_under_an_alert_is_not_quiet():
    """Nothing is placed until the alert is over or somebody says from when on traffic is quiet."""
    found = placed(quiet(quiet_log(2_000, random.Random(5)), alert=True))
    assert found.limits == ()
    assert "an alert is up" in found.notes[0]


def test_the_fold_finds_what_is_quiet():
    """Traffic counts from the last change on, and none of it while an alert is up."""
    rng = random.Random(9)
    before = quiet_log(600, rng, floor=0.1)
    after = [altered(verdict, model="n") for verdict in quiet_log(800, rng, floor=0.1, since=600)]
    found = quiet_routes([*before, *after], MonitorSettings())["support"]
    assert not found.alert
    assert 0 < found.trials <= 800
    broken = quiet_log(800, rng, floor=0.1, excess=0.4, kinds=1, since=600)
    assert quiet_routes([*before, *broken], MonitorSettings())["support"].alert
    named = quiet_routes([*before, *broken], MonitorSettings(), since=900.0)["support"]
    assert not named.alert
    # Nothing before 900, and after it only what came since the last change that was found.
    assert 0 < named.trials <= 500


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "the file: invalid json"),
        ('{"version": 2, "limits": []}', "version: must be 1, not 2"),
        ('{"version": 1, "limits": [{"route": "a"}]}', "limits.0"),
        (limits_to_json([SIMILARITY]).replace("0.04", "4"), "limits.0.value: input should be less than 1"),
        (limits_to_json([SIMILARITY, SIMILARITY]), "similarity of route support occurs 2 times"),
        (json.dumps(json.loads(limits_to_json([SIMILARITY])) | {"more": 1}), "more: "),
    ],
)
def test_a_file_that_is_wrong_says_where(text, said):
    """Field and remedy in one line."""
    with pytest.raises(LimitsError, match=said):
        read_limits(text)


def test_the_command_writes_the_file_and_keeps_other_routes(tmp_path):
    """Limits come from a log; those of a route that is not calibrated stay."""
    log, out = tmp_path / "verdicts.jsonl", tmp_path / "limits.json"
    log.write_text("".join(f"{to_json(verdict)}\n" for verdict in quiet_log(500, random.Random(11))))
    other = altered(SIMILARITY, route="other")
    out.write_text(limits_to_json([other]))
    arguments = ["--limits", str(out), "--verdicts", str(log), "--route", "support"]
    done = CliRunner().invoke(calibrate, arguments)
    assert done.exit_code == 0, done.output
    assert "route support: content 0." in done.output
    assert "500 quiet trials" in done.output
    found = read_limits(out.read_text())
    assert other in found
    assert {limit.route for limit in found} == {"other", "support"}


def test_the_command_says_why_nothing_was_placed(tmp_path):
    """Exit code 1, and the file is left alone; options of the other calibration are refused."""
    log, out = tmp_path / "verdicts.jsonl", tmp_path / "limits.json"
    log.write_text("".join(f"{to_json(verdict)}\n" for verdict in quiet_log(50, random.Random(12))))
    done = CliRunner().invoke(calibrate, ["--limits", str(out), "--verdicts", str(log)])
    assert done.exit_code == 1
    assert str(done.exception) == "no limit was placed, nothing was written"
    log.write_text("")
    done = CliRunner().invoke(calibrate, ["--limits", str(out), "--verdicts", str(log)])
    assert str(done.exception) == "there is no trial to place limits by, nothing was written"
    assert not out.exists()
    refused = CliRunner().invoke(calibrate, ["--limits", str(out), "--verdicts", str(log), "--published"])
    assert "--published has nothing to do with --limits" in str(refused.exception)
