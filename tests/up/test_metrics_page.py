"""The metrics page against a running evenkeel, and its PromQL against the gauges."""

import contextlib
import re
import subprocess
from functools import partial

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

from docs.generate.metrics import documented
from evenkeel.settings.replay import BudgetSettings
from evenkeel.simulate import JUDGE_MODEL, ModelState, Simulation, SimulationSettings, serving
from tests.grafana.filled_prometheus import scraped
from tests.house import ROOT
from tests.kit.relaying import settings_file
from tests.services import wait_for

pytestmark = pytest.mark.system

PAGE = ROOT / "docs" / "reference" / "metrics.md"


def answers(url, expression):
    """Return what a Prometheus answers, by route and model."""
    answer = httpx2.get(f"{url}/api/v1/query", params={"query": expression}).json()
    assert answer["status"] == "success", answer
    return {
        tuple(sample["metric"].get(label) for label in ("route", "model")): float(sample["value"][1])
        for sample in answer["data"]["result"]
    }


def recipes():
    """The page's PromQL, by the first words of the paragraph before it."""
    pairs = re.findall(
        r"^([A-Z][^\n]*):\n\n```promql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return {said.split(",")[0]: query for said, query in pairs}


@pytest.mark.service("prometheus", "promtool")
def test_traffic_becomes_the_series_of_the_page_and_counters_give_the_gauges(start, tmp_path):
    """Every stage counts; names, types and labels agree both ways; each recipe gives its gauge's numbers."""
    simulation = Simulation(
        [ModelState("simulated-1", fragility=0.8, noise=0.1)], SimulationSettings(deterministic=True)
    )
    judge = {"EVENKEEL_JUDGE_API_KEY": "any", "EVENKEEL_ALERTS__MIN_TRIALS": "10"}

    # The cases are documents: without `inputs` the general kinds would leave them alone. Four kinds share 120
    # trials: each has enough for every gauge.
    kinds = ["general.casing", "general.punctuation", "general.whitespace", "general.spelling"]
    # Counters know no weights, which trials of the adaptive plan have.
    trials = {"perturbations": kinds, "inputs": ["typed", "documents"], "plan": "uniform"}

    def settings(url):
        route = {"upstream": url, "sampling_rate": 1, "trials": trials}
        return str(settings_file(tmp_path, routes=[route]))

    with (
        contextlib.ExitStack() as stack,
        serving(simulation) as url,
        start(
            *("--config", settings(url), "--judge", JUDGE_MODEL, "--judge-url", f"{url}/v1"),
            environment=judge,
        ) as running,
    ):
        running.ask(range(60))
        running.settle()
        for stage in ("eligible", "sampled", "queued", "scored"):
            assert running.metric(f"evenkeel_exchanges_{stage}_total", route="default") == 60
        assert sum(cell["trials"] for cell in running.get("/api/cells")["cells"]) == 60 * 3
        for suffix in ("", "_lower", "_upper"):
            assert 0 < running.metric(f"evenkeel_robustness{suffix}_ratio", route="default") <= 1
        text = running.page("/metrics")
        query = partial(answers, stack.enter_context(scraped(tmp_path, running, scrape_s=5)))
        wait_for(lambda: query("evenkeel_build_info"))
        for said, gauge in (
            ("Content delta", "content_delta"),
            ("Quality worse", "quality_worse"),
            ("Robustness", "robustness"),
        ):
            shown, counted = query(f"evenkeel_{gauge}_ratio"), query(recipes()[said])
            assert shown, gauge
            for model, value in shown.items():
                assert value == pytest.approx(counted[model], abs=1e-9), (gauge, model)
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")
    known = {series.name: series for series in documented()}
    seen = {}
    for family in text_string_to_metric_families(text):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert name in known, f"{name} is exposed and not documented"
        assert family.type == known[name].kind, name
        for sample in family.samples:
            assert set(sample.labels) - {"le"} == set(known[name].labels), name
            seen[name] = sample
    missing = {name for name, series in known.items() if name not in seen and not series.optional}
    assert not missing, "documented as always there, and not exposed"
    assert len(seen) > 70
    assert seen["evenkeel_judge_up"].value == 1
    assert seen["evenkeel_budget_usd_per_day"].value == BudgetSettings().usd_per_day
