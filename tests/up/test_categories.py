"""Every category of perturbation, whole: real processes, a SIMULATED model, rewriter and judge."""

import httpx2
import pytest

from evenkeel.core.verdict import BASELINE
from evenkeel.lab.simulated_apis import APIS
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.kit.relaying import settings_file, total
from tests.kit.simulated_prompts import make_prompt
from tests.up.starting import up

pytestmark = pytest.mark.system

CATEGORIES = ("baseline", "general", "positional", "format", "multilingual", "crosslingual", "compound")
TASK = "question_answering"
WARM_UP = 12
"""Requests after which the template of a route is known."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """An evenkeel with a rewriter and a judge, and a route of its own for the other APIs."""
    folder = tmp_path_factory.mktemp("categories")
    # A model that answers every prompt well: no kind's robustness may be 0 by chance.
    model = Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True), apis=APIS)
    kinds = [
        "general.tone", "positional.reordering", "format.yaml", "multilingual.de", "crosslingual.fr_to_ja",
        "compound.typos",
    ]  # fmt: skip
    with serving(model) as url:
        trials = {"per_exchange": 6, "perturbations": kinds}
        asked = {"name": "qna", "upstream": url, "sampling_rate": 1, "task": TASK, "trials": trials}
        others = {"name": "apis", "match": {"prefix": "/apis"}, "upstream": url, "sampling_rate": 1}
        config = settings_file(
            folder,
            routes=[asked, others],
            replays={"rewriter": {"base_url": f"{url}/v1", "model": "simulated-rewriter"}},
            judge={"base_url": f"{url}/v1", "model": "simulated-judge"},
            alerts={"min_trials": 1},
            simulated=True,
        )
        with up(folder, "--config", str(config)) as started:
            yield started


def test_every_category_produces_verdicts_gauges_and_a_place_on_the_page(running):
    """After the template is learned, kinds of all seven categories are rated, exported and shown."""
    running.ask(range(WARM_UP), TASK)
    running.settle()
    running.ask(range(WARM_UP, WARM_UP + 4), TASK)
    running.settle()
    cells = [cell for cell in running.get("/api/cells")["cells"] if cell["route"] == "qna"]
    rated = {cell["perturbation"].partition(".")[0] for cell in cells if cell["trials"]}
    assert rated == set(CATEGORIES)
    page, metrics = running.page("/"), running.page("/metrics")
    for cell in cells:
        name = cell["perturbation"]
        if cell["trials"] and name != BASELINE:
            assert f'perturbation="{name}"' in metrics
        assert name.partition(".")[2] in page
    assert all(cell["scorer"] == "judge" for cell in cells)
    assert total(metrics, "evenkeel_rewrites_total", outcome="accepted") > 0
    assert total(metrics, "evenkeel_worker_errors_total") == 0


def test_other_apis_are_replayed_too(running):
    """An exchange of each captured API gets its baseline and perturbed trials."""
    prompt = "\n\n".join(message["content"] for message in make_prompt("case_summary", 1))
    message = {"max_tokens": 500, "messages": [{"role": "user", "content": prompt}]}
    bodies = {"responses": {"input": prompt}, "completions": {"prompt": prompt}, "messages": message}
    for number, (path, body) in enumerate(bodies.items(), 1):
        answer = httpx2.post(f"{running.url}/apis/v1/{path}", json={"model": "simulated-1", **body})
        assert answer.status_code == 200
        running.requests += 1
        running.settle()
        assert running.metric("evenkeel_exchanges_scored_total", route="apis") == number, path
        cells = [cell for cell in running.get("/api/cells")["cells"] if cell["route"] == "apis"]
        assert sum(cell["trials"] for cell in cells) >= 2 * number, path
