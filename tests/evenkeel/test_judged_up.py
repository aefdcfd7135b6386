"""`evenkeel up` with the simulated judge, in front of the simulated model: what is planted is measured."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from math import sqrt

import openai
import pytest

from evenkeel.simulate import (
    JUDGE_MODEL,
    ModelState,
    Simulation,
    TaskName,
    make_prompt,
    planted,
    serving,
)

pytestmark = pytest.mark.system

TASKS = list(TaskName)


def test_judged_gauges_show_the_planted_deltas(start):
    """Over all tasks, baseline and perturbed rates lie around the planted ones, quality changes too."""
    truth, total = planted(0.25, 0.1, 0.5), 80
    simulation = Simulation([ModelState("simulated-1", fragility=0.25, noise=0.1)])
    with (
        serving(simulation) as url,
        start(
            *("--upstream", url, "--sampling-rate", "1"),
            *("--judge-model", JUDGE_MODEL, "--judge-url", f"{url}/v1"),
            environment={"EVENKEEL_JUDGE_API_KEY": "any", "EVENKEEL_ALERT__MIN_TRIALS": "1"},
        ) as running,
    ):
        client = openai.OpenAI(base_url=f"{running.proxy}/v1", api_key="any", max_retries=0, timeout=30)

        def ask(seed):
            messages = make_prompt(TASKS[seed % len(TASKS)], seed)
            return client.chat.completions.create(model="simulated-1", messages=messages)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(total)))
        running.settle()
        cells = running.get("/api/cells")["cells"]
    arms = {
        "baseline": [cell for cell in cells if cell["perturbation"].startswith("baseline.")],
        "perturbed": [cell for cell in cells if not cell["perturbation"].startswith("baseline.")],
    }
    for arm, content, change in (
        ("baseline", truth.baseline_content_delta, truth.baseline_quality_change),
        ("perturbed", truth.perturbed_content_delta, truth.perturbed_quality_change),
    ):
        trials = sum(cell["trials"] for cell in arms[arm])
        assert trials >= total
        for name, expected in (("content_delta", content), ("robustness", 1 - change)):
            seen = sum(cell[name]["value"] * cell["trials"] for cell in arms[arm]) / trials
            # Variants of one exchange share their original, so the exchanges are what counts.
            assert abs(seen - expected) <= 4 * sqrt(expected * (1 - expected) / total)
