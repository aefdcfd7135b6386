"""A real Prometheus, filled by a real run: `up` with all planes, a SIMULATED model, judge and rewriter."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import time
from typing import TYPE_CHECKING, NamedTuple

import httpx2
import yaml

from evenkeel.core.verdict import JUDGED_AGAIN, JUDGED_SWAPPED
from evenkeel.simulate import JUDGE_MODEL, REWRITER_MODEL, ModelState, Simulation, serving
from evenkeel.stores.keys import METRICS_TOKEN
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.deploy.rule_files import RULE_FILES
from tests.grafana.scene import Scene
from tests.kit.commands import run_command
from tests.kit.records import altered
from tests.kit.simulated_prompts import make_prompt
from tests.monitor.planted_verdicts import VERDICT
from tests.otlp_receiver import collecting
from tests.services import prometheus, wait_for
from tests.stores.examples import exchange
from tests.up.starting import up

if TYPE_CHECKING:
    from tests.kit.relaying import Running

SCRAPE_S = 3
"""Between two scrapes, and as long as one may take: what a busy machine is late with leaves panels empty."""
NOBODY = "http://127.0.0.1:9"
"""Nothing listens there."""
MODEL = "simulated-1"
ROUTES = {
    "support": ("case_summary", ["general.casing", "general.paraphrase", "format.json", "format.yaml"]),
    "answers": ("question_answering", ["general.spelling", "format.html", "multilingual.de"]),
}
BEFORE, AFTER = 24, 26
"""Exchanges of each route; it settles with 20, and takes what eight of the next have for a change."""


class Filled(NamedTuple):
    """Programs that ran, while they still do."""

    scene: Scene
    running: Running


@contextlib.contextmanager
def filled(folder):
    """Run everything: traffic, a model swap in its middle, faults; then give what Prometheus has of it."""
    simulation = Simulation([ModelState(MODEL, fragility=0.05, noise=0.05)])
    variables = {
        "EVENKEEL_JUDGE_API_KEY": "k",
        "EVENKEEL_REWRITER_API_KEY": "k",
    }
    began = time.time()
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(serving(simulation))
        variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = stack.enter_context(collecting()).url
        config = folder / "evenkeel.yaml"
        config.write_text(yaml.safe_dump(_settings(url)))
        running = stack.enter_context(up(folder, "--config", str(config), environment=variables))
        seen = stack.enter_context(scraped(folder, running))
        _send(running, range(BEFORE))
        running.planted += _plant_faults(folder / "data" / DATABASE_FILE)
        running.settle()
        _approve_goldens(folder / "data")
        simulation.change(MODEL, {"fragility": 0.9, "returned_name": "simulated-2"})
        _send(running, range(BEFORE, BEFORE + AFTER))
        httpx2.post(f"{running.url}/gone/v1/chat/completions", json={})
        running.settle()
        # All of them may have a score of 0.
        wait_for(lambda: "evenkeel_goldens_score_ratio{" in running.page("/metrics"), "goldens asked again")
        _wait_for_rules(seen)
        yield Filled(Scene(seen, began, time.time(), SCRAPE_S, steps=60), running)


def _settings(url):
    routes = [
        {
            "name": name,
            "match": {"prefix": f"/{name}"},
            "upstream": url,
            "sampling_rate": 1,
            "task": task,
            "trials": {"perturbations": kinds, "per_exchange": len(kinds)},
        }
        for name, (task, kinds) in ROUTES.items()
    ]
    routes.append({"name": "gone", "match": {"prefix": "/gone"}, "upstream": NOBODY, "sampling_rate": 1})
    price = {"input_usd": 1, "output_usd": 2}
    return {
        "routes": routes,
        "judge": {"base_url": f"{url}/v1", "model": JUDGE_MODEL},
        # A judge that errs by chance may reject the translation of an instruction that all prompts share,
        # for good: then the language has no trial in the whole run.
        "replays": {"rewriter": {"base_url": f"{url}/v1", "model": REWRITER_MODEL}},
        "budget": {
            "prices": dict.fromkeys((MODEL, "simulated-2", JUDGE_MODEL, REWRITER_MODEL), price),
        },
        "alerts": {"min_trials": 2, "mean_trials_between_false_alarms": 50},
        "telemetry": {"traces": True},
        "simulated": True,
    }


@contextlib.contextmanager
def scraped(folder, running, *, scrape_s=SCRAPE_S):
    """A Prometheus with the project's rules that scrapes one evenkeel; its address."""
    config = folder / "prometheus.yml"
    every = {"scrape_interval": f"{scrape_s}s", "evaluation_interval": f"{scrape_s}s"}
    targets = [running.admin.removeprefix("http://")]
    token = {"credentials_file": str(running.data / METRICS_TOKEN)}
    job = {"job_name": "evenkeel", "static_configs": [{"targets": targets}], "authorization": token}
    files = [str(path) for path in RULE_FILES]
    config.write_text(yaml.safe_dump({"global": every, "rule_files": files, "scrape_configs": [job]}))
    with prometheus(folder, config) as url:
        yield url


def _wait_for_rules(url):
    """Wait until everything was scraped as it is now, and every rule has looked at that."""
    now = time.time()
    query = {"query": f"timestamp(evenkeel_build_info) > {now}"}
    result = wait_for(
        lambda: httpx2.get(f"{url}/api/v1/query", params=query).json()["data"]["result"], "for a scrape"
    )
    scraped_at = float(result[0]["value"][1])

    def looked():
        groups = httpx2.get(f"{url}/api/v1/rules").json()["data"]["groups"]
        times = [dt.datetime.fromisoformat(group["lastEvaluation"]).timestamp() for group in groups]
        return min(times) > scraped_at

    wait_for(looked, "for the rules")


def _send(running, seeds):
    for route, (task, _) in ROUTES.items():
        running.ask(seeds, task, route=f"/{route}", authorization="Bearer k")


def _plant_faults(path):
    """Queue an exchange of a route that is not in the settings, and on each one whose replays are refused.

    Log two trials that the judge has rated twice.

    Planted and not left to an error rate: a panel must have what it shows in every run. Returns: how many.
    """
    # The simulation takes no temperature in words; whoever answered this did.
    asked = {"model": MODEL, "messages": make_prompt("question_answering", 0), "temperature": "warm"}
    answer = {"role": "assistant", "content": "The certificate had expired."}
    answered = {"model": MODEL, "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
    database = Database(path)
    bodies = {"request_body": json.dumps(asked).encode(), "response_body": json.dumps(answered).encode()}
    planted = [
        exchange(number, route=route, received_at=time.time(), response_headers=(), task=None, **bodies)
        for number, route in enumerate(("removed", "answers", "support"), start=0xAA)
    ]
    put = SqliteExchangeQueue(database, time.time).put(planted)
    # The judge is asked twice about one pair in fifty: in a short run perhaps about none.
    twice = dict.fromkeys((JUDGED_AGAIN, JUDGED_SWAPPED), 3.0)
    for name in ("twice-1", "twice-2"):
        trial = altered(VERDICT, id=name, exchange_id=name, scored_at=time.time(), model=MODEL, details=twice)
        SqliteVerdictLog(database).append(altered(trial, route="answers"), None)
    database.close()
    return put


def _approve_goldens(data):
    for route in ROUTES:
        choice = ["--route", route, "--sample", "3", "--yes", "--by", "test", "--data-dir", str(data)]
        run_command("goldens", "approve", *choice)
