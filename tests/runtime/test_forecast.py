"""The forecast in words, what it is based on, and how the console gets it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.console import Forecast
from evenkeel.core.budget import Spend
from evenkeel.core.pair import Answer
from evenkeel.lab.forecast import FALLS, Finding, Prospect
from evenkeel.runtime import forecast
from evenkeel.runtime.forecast import ForecastKeeper, forecast_lines, forecasts
from evenkeel.runtime.stores import opened
from evenkeel.settings import Settings, load
from evenkeel.stores.archive import ArchivedExchange

ROUTE = {"name": "support", "upstream": "http://127.0.0.1:9/v1"}


@pytest.fixture
def asked(monkeypatch):
    """What the plays are asked for; each more dollar finds falls in half of the time."""
    seen = []

    def prospects(routes, budget):
        seen.append((routes, budget))
        hours = 4.0 / (budget.usd_per_day or 1)
        findings = (Finding(FALLS[0], hours / 2, hours, 3 * hours), Finding(FALLS[1], 30.0, None, None))
        return {one.name: Prospect(findings, 1.25, 1_000, limited=True) for one in routes}

    monkeypatch.setattr(forecast, "prospects", prospects)
    return seen


def settings(tmp_path, **changes):
    file = tmp_path / "evenkeel.json"
    file.write_text(json.dumps({"routes": [ROUTE], "budget": {"usd_per_day": 2}} | changes))
    return load(file, {"data_dir": tmp_path}, {})


def test_a_forecast_says_what_is_found_when_and_what_the_next_dollar_buys(tmp_path, asked):
    """Without a store everything is assumed, and it says so."""
    lines = forecast_lines(settings(tmp_path), 24_000)
    assert lines[0] == (
        "forecast of support: With $2.00 a day, a fall of one rewording by 15 points is found within 2 h "
        "in half of all cases, and in eight of ten after 1 h to 6 h."
    )
    assert "by 5 points is not found within a month in half of all cases" in lines[1]
    assert "$3.00 a day, would buy: a fall of one rewording by 15 points within 1 h" in lines[2]
    assert "costs $1.25 of trials" in lines[3]
    assert "Based on 24,000 requests a day, 10% of them sampled, and on assumed answers" in lines[4]
    [route] = asked[0][0]
    assert route.hourly == pytest.approx((100.0,) * 24)
    assert route.trial.usd > 0


def test_traffic_is_taken_from_the_archive(tmp_path, asked):
    """Sixty exchanges in an hour."""
    given = settings(tmp_path)
    with opened(given, create=True) as stores:
        for number in range(61):
            stores.archive.put(
                ArchivedExchange(
                    id=f"{number}",
                    route="support",
                    path="/chat/completions",
                    request="{}",
                    answer=Answer("fine", prompt_tokens=2_000, completion_tokens=100),
                    model="gpt-4.1",
                    received_at=1_000.0 + 60 * number,
                )
            )
        [found] = forecasts(given, stores)
    [route] = asked[0][0]
    assert route.hourly == pytest.approx((60.0,) * 24)
    assert route.trial == Spend(2_100, pytest.approx(2_000 * 2e-6 + 100 * 8e-6))
    assert "the traffic of the archive" in found.lines[-1]
    assert found.came == ()


def test_what_was_spent_stands_beside_what_was_forecast(tmp_path, asked):
    """Yesterday's dollars, as the cost tracker has them."""
    given = settings(tmp_path)
    with opened(given, create=True) as stores:
        ledger = stores.ledger
        now = ledger._clock()
        ledger._clock = lambda: now - 86_400
        ledger.settle(Spend(0, 0.0), "support", {"replay": Spend(10, 0.75)})
        ledger._clock = lambda: now
        [found] = forecasts(given, stores)
    assert found.came == (
        "How it came out: the last days cost $0.75, the latest first; today's forecast: $1.25.",
    )


def test_a_limit_on_routes_is_said(tmp_path, asked):
    """Five routes are played; that there are more is not hidden."""
    routes = [ROUTE | {"name": f"r{number}", "prefix": f"/{number}"} for number in range(7)]
    found = forecasts(settings(tmp_path, routes=routes), None)
    assert [one.route for one in found] == ["r0", "r1", "r2", "r3", "r4", ""]
    assert found[-1].lines == ("No forecast is made of 2 further routes.",)


def test_routes_on_which_nothing_is_tried_are_named(tmp_path, asked):
    """Without a rewording nothing can be found, and without traffic neither."""
    routes = [
        ROUTE | {"name": "none", "prefix": "/a", "perturbations": []},
        ROUTE | {"name": "zero", "prefix": "/b", "trials_per_exchange": 0},
        ROUTE | {"name": "idle", "prefix": "/c", "sampling_rate": 0},
    ]
    idle, rest = forecasts(settings(tmp_path, routes=routes), None)
    assert (idle.route, idle.lines[0]) == ("idle", "Nothing is sampled, so nothing is found.")
    assert rest.lines == ("Nothing is found on none and zero: no rewording is tried there.",)


def test_a_dollar_that_changes_nothing_is_said_to_buy_nothing(tmp_path, monkeypatch):
    """It is not listed with the same figures twice."""
    findings = (Finding(FALLS[0], None, None, None), Finding(FALLS[1], None, None, None))
    same = {"support": Prospect(findings, 0.0, 0.0, limited=True)}
    monkeypatch.setattr(forecast, "prospects", lambda *_: same)
    lines = forecast_lines(settings(tmp_path), None)
    assert "is not found within a month in half of all cases" in lines[0]
    assert "The next dollar would buy nothing: it is too little" in lines[2]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--requests-per-day", "5"], "--requests-per-day is of the forecast: add --forecast"),
        (["--forecast", "--requests-per-day", "nan"], "'nan' is not a valid integer range"),
        (["--forecast", "--requests-per-day", "1" + "0" * 15], "is not in the range 0<=x<=1000000000"),
    ],
)
def test_odd_numbers_of_requests_are_refused(arguments, said):
    """In words, before anything is computed."""
    done = CliRunner().invoke(main, ["check-config", "--upstream", "http://127.0.0.1:9", *arguments])
    assert (done.exit_code, said in done.output) == (2, True)


def test_settings_survive_the_way_to_another_process(tmp_path):
    """As values: what was set stays set, and what was not keeps its default."""
    given = settings(tmp_path, alert={"threshold": 0.12})
    there = Settings(**given.model_dump(exclude_unset=True))
    assert there.model_dump() == given.model_dump()
    assert there.alert.model_fields_set == {"threshold"}


def test_the_console_never_waits_for_a_forecast():
    """The first call starts one and has none; an hour later the former one stays until the next is there."""
    started, made, now = [], [], [0.0]

    def make():
        made.append(now[0])
        return (Forecast("a", (f"made at {now[0]:.0f}",)),)

    keeper = ForecastKeeper(make, lambda: now[0], started.append)
    assert keeper() is None
    assert keeper() is None
    assert len(started) == 1
    started.pop()()
    assert keeper() == (Forecast("a", ("made at 0",)),)
    assert started == []
    now[0] = 3_600.0
    assert keeper() == (Forecast("a", ("made at 0",)),)
    started.pop()()
    assert keeper() == (Forecast("a", ("made at 3600",)),)


def test_a_forecast_that_fails_leaves_the_page_without_one(caplog):
    """It is logged, and tried again an hour later."""

    def make():
        raise EOFError

    keeper = ForecastKeeper(make, lambda: 0.0, lambda run: run())
    assert keeper() is None
    assert "no forecast can be made" in caplog.text
