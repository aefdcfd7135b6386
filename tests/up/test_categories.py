"""Every category of perturbation, whole: real processes, a SIMULATED model, rewriter and judge."""

from __future__ import annotations

import httpx2
import pytest

from evenkeel.lab.simulated_apis import APIS
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, make_prompt

pytestmark = pytest.mark.system

SETTINGS = """\
routes:
  - name: qna
    upstream: {url}
    sampling_rate: 1
    task: question_answering
    trials:
      per_exchange: 6
      perturbations: [general.tone, positional.reordering, format.yaml, multilingual.de,
                      crosslingual.fr_to_ja, compound.typos]
replays: {{rewriter: {{base_url: "{url}/v1", model: simulated-rewriter}}}}
judge: {{base_url: "{url}/v1", model: simulated-judge}}
alerts: {{min_trials: 1}}
telemetry: {{metrics_detail: true}}
simulated: true
"""
CATEGORIES = ("baseline", "general", "positional", "format", "multilingual", "crosslingual", "compound")
TASK = "question_answering"
WARM_UP = 12
"""Requests after which the template of a route is known."""


@pytest.fixture
def simulation():
    """A model that answers every prompt well: no kind's robustness may be 0 by chance."""
    return Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True), apis=APIS)


def test_every_category_produces_verdicts_gauges_and_a_place_on_the_page(start, upstream, tmp_path):
    """After the template is learned, kinds of all seven categories are rated, exported and shown."""
    config = tmp_path / "evenkeel.yaml"
    config.write_text(SETTINGS.format(url=upstream))
    with start("--config", str(config)) as running:
        running.ask(range(WARM_UP), TASK)
        running.settle()
        running.ask(range(WARM_UP, WARM_UP + 4), TASK)
        running.settle()
        cells = running.get("/api/cells")["cells"]
        rated = {cell["perturbation"].partition(".")[0] for cell in cells if cell["trials"]}
        assert rated == set(CATEGORIES)
        page = running.page("/")
        for cell in cells:
            name = cell["perturbation"]
            if cell["trials"]:
                assert running.metric("evenkeel_window_robustness_ratio", perturbation=name) > 0, name
            assert name.partition(".")[2] in page
        assert all(cell["scorer"] == "judge" for cell in cells)
        assert running.metric("evenkeel_rewrites_total", outcome="accepted") > 0
        assert running.metric("evenkeel_worker_errors_total") == 0


def test_other_apis_are_replayed_too(start, upstream):
    """An exchange of each captured API gets its baseline and perturbed trials."""
    prompt = "\n\n".join(message["content"] for message in make_prompt("case_summary", 1))
    bodies = {
        "responses": {"model": "simulated-1", "input": prompt},
        "completions": {"model": "simulated-1", "prompt": prompt},
        "messages": {
            "model": "simulated-1",
            "max_tokens": 500,
            "messages": [{"role": "user", "content": prompt}],
        },
    }
    with start("--upstream", upstream, "--sampling-rate", "1") as running:
        for number, (path, body) in enumerate(bodies.items(), 1):
            answer = httpx2.post(f"{running.url}/v1/{path}", json=body, timeout=240)
            assert answer.status_code == 200
            running.requests += 1
            running.settle()
            assert running.metric("evenkeel_exchanges_scored_total", route="default") == number, path
            trials = sum(cell["trials"] for cell in running.get("/api/cells")["cells"])
            assert trials >= 2 * number, path
