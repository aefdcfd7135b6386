"""`evenkeel up` in front of a simulated model that changes: each change is named by its cause."""

import itertools

import pytest

from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.runtime.stores import connect, settings_of_stores
from evenkeel.simulate import JUDGE_MODEL, ModelState, Simulation, SimulationSettings, serving
from tests.kit.commands import run_command
from tests.kit.relaying import settings_file
from tests.services import wait_for

pytestmark = pytest.mark.system

MODEL = "simulated-1"


def ask(running, numbers, task="case_summary", *, version="p1", **more):
    """Put cases to the proxy under a version of the prompt."""
    running.ask(numbers, task, x_evenkeel_prompt_version=version, **more)


def command(*arguments):
    """Output of a command that ends well."""
    return run_command(*arguments).output


def config(folder, url, **route):
    """Write settings with one route and scoring without a judge."""
    trials = {"perturbations": ["general.casing"], "per_exchange": 1}
    desk = {"name": "desk", "upstream": url, "sampling_rate": 1.0, "trials": trials, **route}
    budget = {"tokens_per_day": None, "usd_per_day": None}
    return str(settings_file(folder, routes=[desk], budget=budget))


@pytest.fixture
def simulation():
    """A model that answers some prompts badly, the same ones each time."""
    return Simulation([ModelState(MODEL, fragility=0.05)], SimulationSettings(deterministic=True))


def test_a_model_swap_is_named_sampled_more_and_held_against_the_goldens(
    start, upstream, simulation, tmp_path
):
    """A model worse on nine prompts of ten: cause, burst, replay, page, command line, gauges."""
    simulation.change("simulated-2", {"fragility": 0.9, "worse_share": 1.0})
    with start("--config", config(tmp_path, upstream, sampling_rate=0.6)) as running:
        ask(running, range(90))
        running.settle()
        data = ("--data-dir", str(tmp_path / "data"))
        command("goldens", "approve", "--sample", "45", "--yes", "--by", "ann", *data)
        ask(running, range(100, 132), model="simulated-2")
        running.settle()
        (report,) = wait_for(lambda: running.get("/api/changes")["changes"], "for a change")
        assert report["cause"] == "model"
        assert {mark["kind"] for mark in report["marks"]} == {"model", "requested_model"}
        numbers = itertools.count(200)

        def all_sampled():
            """Of 15 requests, which six in ten would bring about once in two thousand times."""
            before = running.metric("evenkeel_exchanges_sampled_total", route="desk")
            ask(running, itertools.islice(numbers, 15), model="simulated-2")
            running.settle()
            return running.metric("evenkeel_exchanges_sampled_total", route="desk") == before + 15

        wait_for(all_sampled, "for the data plane to hear of the burst")
        wait_for(lambda: running.get("/api/changes")["changes"][0]["goldens"], "for goldens")
        (report,) = running.get("/api/changes")["changes"]
        assert report["goldens"]["verdict"] == "regression"
        assert report["effect"] == "different"  # only a judge can say that an answer is worse
        score = {"model": "simulated-2", "metric": "similarity"}
        # Exported a moment after it is in the store.
        wait_for(lambda: "evenkeel_goldens_score_ratio{" in running.page("/metrics"))
        assert running.metric("evenkeel_goldens_score_ratio", **score) < 1
        page = running.page(f"/changes/{report['id']}")
        assert "Another model" in page
        assert "desk: another model" in command("changes", "show", report["id"], *data)


def test_a_judge_that_drifts_is_named(start, tmp_path):
    """The model stays as it is; the judge begins to flip nine in ten ratings, also those of its panel."""
    simulation = Simulation(
        [ModelState(MODEL, fragility=0.5), ModelState(JUDGE_MODEL)], SimulationSettings(deterministic=True)
    )
    with serving(simulation) as url:
        path = config(
            tmp_path, url, trials={"perturbations": ["general.casing", "general.spelling"], "per_exchange": 2}
        )
        with start(
            *("--config", path, "--judge", JUDGE_MODEL, "--judge-url", f"{url}/v1"),
            environment={"EVENKEEL_JUDGE_API_KEY": "any"},
        ) as running:
            ask(running, range(100))
            running.settle()
            panels = connect(settings_of_stores(None, tmp_path / "data")).panels
            judge = f"{JUDGE_MODEL} {SIMILARITY.prompt_version}"
            wait_for(lambda: panels.days(judge).rated_at, "for the panel's first rounds")
            simulation.change(JUDGE_MODEL, {"judge_noise": 0.9})
            # It takes as much evidence as chance will have it: traffic goes on meanwhile.
            numbers = itertools.count(300)
            while not running.get("/api/changes")["changes"]:
                ask(running, itertools.islice(numbers, 20))
                running.settle()

            def blamed():
                (report,) = running.get("/api/changes")["changes"]
                return report["cause"] == "judge"

            wait_for(blamed, "for a round of the panel")
