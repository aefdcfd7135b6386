"""Limits in effect: what is set wins over what was calibrated, and that over the usual."""

import pytest

from evenkeel.monitor.detect import Limit, Measure
from evenkeel.release.calibration.limits import RouteLimit, limits_to_json
from evenkeel.runtime import choices
from evenkeel.runtime.limits import limit_lines, monitor_settings
from evenkeel.settings import Settings, SettingsError

SOURCE = "calibrated on 2,410 quiet trials, 2026-11-20"


def calibrated(tmp_path, **alert):
    """Settings with limits for route "support" in a file, and one route without any."""
    path = tmp_path / "limits.json"
    rates = {"content": 0.06, "similarity": 0.03, "drift": 0.08}
    path.write_text(
        limits_to_json(
            RouteLimit(
                route="support", measure=name, value=value, source=SOURCE, trials_between_false_alerts=10_000
            )
            for name, value in rates.items()
        )
    )
    routes = [
        {"name": "support", "upstream": "http://h/v1"},
        {"name": "other", "match": {"prefix": "/o"}, "upstream": "http://h/v1"},
    ]
    return Settings(routes=routes, alerts={"limits": path, **alert})


def test_calibrated_limits_are_those_of_their_route(tmp_path):
    """Other routes have the usual ones, and each limit says where it comes from."""
    found = monitor_settings(calibrated(tmp_path))
    limits = found.limits_of("support")
    assert limits[Measure.CONTENT] == Limit(0.06, SOURCE)
    assert limits[Measure.SIMILARITY] == Limit(0.03, SOURCE)
    assert limits[Measure.INVALID] == Limit(0.1, "default")
    assert found.tolerance_of("support") == Limit(0.08, SOURCE)
    assert found.rules("support").limits == limits
    assert found.drift("support").tolerance == 0.08
    assert found.limits_of("other")[Measure.CONTENT] == Limit(0.1, "default")
    assert found.tolerance_of("other") == Limit(0.05, "default")


def test_what_is_set_wins(tmp_path):
    """The rule is for every route, and even where the value is the usual one."""
    limits = monitor_settings(calibrated(tmp_path, threshold=0.1, quality_loss=0.2))
    assert limits.limits_of("support")[Measure.CONTENT] == Limit(0.1, "settings")
    assert limits.limits_of("support")[Measure.SIMILARITY] == Limit(0.03, SOURCE)
    assert limits.limits_of("other")[Measure.QUALITY] == Limit(0.2, "settings")


def test_lines_name_every_limit_once(tmp_path):
    assert next(limit_lines(calibrated(tmp_path, quality_loss=0.07))).startswith(
        f"limits of support: content 0.06 ({SOURCE}), similarity 0.03 ({SOURCE}), quality 0.07 (settings)"
    )
    assert len(list(limit_lines(calibrated(tmp_path)))) == 2


def test_a_file_that_cannot_be_read_is_an_error_of_the_settings(tmp_path):
    """The message names the setting and what is wrong."""
    settings = calibrated(tmp_path)
    settings.alerts.limits.write_text("{}")
    with pytest.raises(SettingsError, match=r"evenkeel.yaml: alerts.limits: .*limits.json: version: "):
        choices.check(settings, "evenkeel.yaml")
    settings.alerts.limits.unlink()
    with pytest.raises(SettingsError, match="cannot be read"):
        choices.check(settings, "evenkeel.yaml")
