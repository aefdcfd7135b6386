"""The benchmark of causes, in small: what it feeds, and that it tells right from wrong."""

from __future__ import annotations

import pytest

from benchmarks.changes import ROUTES, judged, run, verdicts
from evenkeel.core.verdict import BASELINE, Verdict


@pytest.mark.parametrize(
    ("case", "cause"), [("no change", "-"), ("model swap", "model_swapped"), ("prompt edit", "prompt_edited")]
)
def test_a_short_run_names_the_cause(case, cause):
    """6,000 trials are enough for what is told from values; nothing else is reported."""
    assert judged(case, run(case, 1, 6_000)) == (cause, 0)


def test_the_log_is_of_the_form_that_the_worker_writes():
    """Offsets grow, exchanges have one resend and four trials, and every verdict survives JSON."""
    log = [logged for _, logged in verdicts("judge drift", 1, 500)]
    assert [logged.offset for logged in log] == list(range(1, 501))
    assert sum(logged.verdict.perturbation == BASELINE for logged in log) == 100
    assert {logged.verdict.route for logged in log} == set(ROUTES)
    assert all(Verdict.from_json(logged.verdict.to_json()) == logged.verdict for logged in log)


def test_the_same_seed_gives_the_same_run():
    """Reports, alerts and the delay."""
    assert run("model swap", 3, 4_000) == run("model swap", 3, 4_000)
