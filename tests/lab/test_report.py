"""Reports of a planted log: against the console's API on the same store, and as they are written."""

import functools
import json
import random
import re

import click.testing
import pytest
from litestar import Litestar
from litestar.testing import TestClient

from evenkeel.cli.main import main
from evenkeel.console import ConsoleSources, PipelineView
from evenkeel.console.api import api_handlers
from evenkeel.core.verdict import BASELINE, Failure, QualityScore
from evenkeel.lab.period import Period, period_of
from evenkeel.lab.report import document, headline, make_report
from evenkeel.monitor.changes.book import ChangeBook
from evenkeel.monitor.measuring import Measuring
from evenkeel.monitor.monitor import Monitor, MonitorSettings
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.renderings import html as rendered
from evenkeel.runtime.stores import opened, settings_of_stores
from tests.cases import cases
from tests.console.memory_stores import other_stores
from tests.kit.pages import Page
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

CASES = cases(__file__)

T0 = 1_795_041_600.0
"""2026-11-18 22:40:00 UTC."""
NOW = T0 + 86_400
KINDS = (
    "general.spelling",
    "format.json",
    "multilingual.de",
    "crosslingual.de_to_en",
    "crosslingual.de_to_fr",
    "crosslingual.fr_to_en",
)
HOSTILE = '=1+1"<script>alert(1)</script>|`'
"""A name that a client can choose for its model."""


@functools.cache
def planted(before=120, after=100, other=60):
    """A log of two routes: on one the model is swapped for a fragile one, on the other nothing happens."""
    rng, verdicts = random.Random(7), []
    for number in range(before + after + other):
        if number < before + after:
            route, model, fragility = "support", "m-1", 0.1
            if number >= before:
                model, fragility = "m-2", 0.6
        else:
            route, model, fragility = "triage", HOSTILE, 0.1
        exchange = f"{number:08x}"
        resend = 2 if rng.random() < 0.05 else 3
        for step, kind in enumerate((BASELINE, *rng.sample(KINDS, 3))):
            rating = resend if kind == BASELINE else 2 if rng.random() < fragility else 3
            lost = kind != BASELINE and rng.random() < 0.02
            quality = rng.choice((1.0, 3.0))
            planted = altered(
                VERDICT,
                id=f"{exchange}.{step}",
                exchange_id=exchange,
                scored_at=T0 + 30 * number + step + rng.uniform(0, 40),  # several workers
                route=route,
                model=model,
                perturbation=kind,
                seed=number,
                rating=None if lost else rating,
                control_rating=resend,
                quality=(QualityScore("faithfulness", 1, 3.0, quality),) if rating < 3 and not lost else (),
                failure=Failure("replay", 1, "timeout") if lost else None,
                details={"rouge_l": 0.8, "decided_by": 2.0, "judged_again": 3.0 if step else 2.0},
                rated_by="similarity@1",
                judge_model="judge",
                tokens=100,
                cost_usd=0.001,
                prompt_version="v1",
            )
            verdicts.append(planted)
    return verdicts


COUNTERS = [
    ["exchanges_eligible", {"route": "support"}, 900],
    ["exchanges_sampled", {"route": "support"}, 250],
    ["exchanges_skipped", {"route": "support", "reason": "budget"}, 30],
    ["trials_skipped", {"route": "support", "perturbation": "format.yaml", "reason": "already_wanted"}, 4],
]


def filled(stores):
    """Write the log and let the monitor fold it; returns the monitor."""
    for verdict in planted():
        stores.verdicts.append(verdict, None)
    stores.counters.publish("worker", {"counters": COUNTERS})
    monitor = Monitor(stores.verdicts, stores.monitor, MonitorSettings(), clock=lambda: NOW)
    while monitor.step():
        pass
    return monitor


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """The folder of a filled store on SQLite."""
    folder = tmp_path_factory.mktemp("data")
    with opened(settings_of_stores(None, folder), create=True) as stores:
        filled(stores)
    return folder


@pytest.fixture(scope="module")
def made(data_dir):
    """Makes reports of the store."""
    with opened(settings_of_stores(None, data_dir)) as stores:
        yield lambda period, route=None: make_report(stores, period, route, clock=lambda: NOW, min_trials=30)


@pytest.fixture(scope="module")
def whole(made):
    """The report on everything."""
    return made(Period(T0, NOW))


def page(report):
    return rendered(document(report)).decode()


DATES = ("--since", "2026-11-18", "--until", "2026-11-19")


def command(*arguments):
    return click.testing.CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_the_numbers_are_those_of_the_api(tmp_path):
    """Every cell, roll-up, change and incident of `/api` is in the JSON of a report on all of the log."""
    data = tmp_path / "data"
    with opened(settings_of_stores(None, data), create=True) as stores:
        monitor = filled(stores)
        book = ChangeBook(monitor.change_records, stores.changes, min_trials=30, clock=lambda: NOW)
        sources = ConsoleSources(
            reports=monitor.reports,
            rollups=monitor.rollups,
            changes=monitor.changes,
            change_reports=book.reports,
            log=stores.verdicts,
            monitor_store=stores.monitor,
            exposition=lambda: b"",
            measuring=lambda: Measuring("measuring", NOW),
            pipeline=lambda: PipelineView("http://127.0.0.1:8100/v1"),
            clock=lambda: NOW,
            **other_stores(),
        )
        with TestClient(Litestar(api_handlers(sources), logging_config=None)) as client:
            cells, rollups = client.get("/api/cells").json(), client.get("/api/rollups").json()
            changes, alerts = client.get("/api/changes").json(), client.get("/api/alerts").json()
    printed = command("--data-dir", data, *DATES, "--json", "--out", tmp_path / "none")
    assert printed.exit_code == 0, printed.output
    report = json.loads(printed.stdout)
    assert not (tmp_path / "none").exists()
    made = command("--data-dir", data, *DATES, "--out", tmp_path / "out")
    assert made.exit_code == 0, made.output
    assert [file.name for file in (tmp_path / "out").iterdir()] == [
        "evenkeel-report-2026-11-18_2026-11-19.html"
    ]
    assert len(cells["cells"]) == 21
    for cell, reported in zip(cells["cells"], report["cells"], strict=True):
        for measure in ("trials", "effective", "content_delta", "quality_delta", "robustness", "excess"):
            assert reported[measure] == cell[measure]
    for rollup, reported in zip(rollups["rollups"], report["rollups"], strict=True):
        assert reported["windows"]["all"] == rollup["windows"]["all"]
    assert report["changes"] == changes["changes"]
    alerted = {event["incident"] for event in alerts["events"] if event["kind"] == "raised"}
    assert {incident["id"] for incident in report["incidents"]} == alerted


def test_a_report_says_what_was_not_measured_and_what_it_cost(whole):
    """Failures by reason, and the sum of the verdicts' costs."""
    verdicts = planted()
    failed = [verdict.route for verdict in verdicts if verdict.failure]
    text = page(whole)
    for route in set(failed):
        assert f"{route}: trials without a rating: timeout {failed.count(route)}" in text
    assert whole.costs["triage"].tokens == 100 * sum(verdict.route == "triage" for verdict in verdicts)
    assert sum(cost.usd for cost in whole.days.values()) == pytest.approx(0.001 * len(verdicts))


def test_the_page_needs_nothing_and_runs_nothing(whole):
    """No address, no script; a model's name stays text; the least robust model and the change are named."""
    text = page(whole)
    read = Page(text)
    assert read.addresses == []
    assert not {"script", "link", "img", "iframe", "object"} & read.tags
    assert not re.search(r"url\(|@import|https?:", text)
    assert HOSTILE in read.text
    assert "of 100 answers of support (m-2), the least robust of 3, keep their quality" in headline(whole)
    assert headline(whole) in read.text
    assert "another model" in text


def test_errors_say_what_there_is(data_dir, made, tmp_path):
    """An empty stretch names the log's own, a wrong route the others."""
    dates = ("--since", "2026-10-01", "--until", "2026-10-02")
    done = command("--data-dir", data_dir, *dates, "--out", tmp_path)
    assert done.exit_code == 2
    assert "from 2026-11-18 to 2026-11-19: --since 2026-11-18 --until 2026-11-19" in done.output
    with pytest.raises(InputError, match=r'support and triage \(did you mean "support"'):
        made(Period(T0, NOW), "suport")
    with (
        opened(settings_of_stores(None, tmp_path / "empty"), create=True) as stores,
        pytest.raises(InputError, match="there are no verdicts yet"),
    ):
        make_report(stores, Period(T0, NOW), None, clock=lambda: NOW, min_trials=30)
    done = command("--data-dir", data_dir, *DATES, "--out", data_dir / "evenkeel.db" / "x")
    assert done.exit_code == 2
    assert "cannot write" in done.output


def test_too_few_trials_give_no_figure(made):
    """Three minutes of traffic: trials are shown, figures are not, and the page says so."""
    report = made(Period(T0, T0 + 180))
    assert headline(report) == "Too little was measured for a figure."
    assert "Too few trials for a figure" in page(report)


def test_only_incidents_that_were_open_in_the_period_are_listed(made, whole):
    """There was none before the swap."""
    (incident,) = whole.incidents
    assert made(Period(T0, incident.opened_at)).incidents == []
    assert made(Period(T0, incident.opened_at + 1)).incidents == [incident]


NOON = 1_795_003_200.0
"""2026-11-18 12:00:00 UTC."""


@pytest.mark.parametrize(("since", "until", "start_h", "end_h", "words"), CASES["periods"])
def test_a_period_is_read_and_said(since, until, start_h, end_h, words):
    """Dates are UTC days, the last one as a whole; times may have a zone; "36h" counts back from now."""
    period = Period(NOON + 3600 * start_h, NOON + 3600 * end_h)
    assert period_of(since, until, NOON) == period
    assert period.words == words


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", "7y", "", "2026-11-19"])
def test_a_period_that_is_none_is_refused(since):
    """Words, wrong dates, unknown units; and one that ends before it starts."""
    with pytest.raises(InputError, match="--since"):
        period_of(since or " ", "2026-11-17", NOON)
