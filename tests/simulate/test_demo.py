"""The demo's verdict on itself."""

import asyncio
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from rich.console import Console

from evenkeel.simulate import ModelState, Simulation, serving
from evenkeel.simulate.comparison import CellFigure, TruthComparison, compare
from evenkeel.simulate.demo import Addresses, DemoError, DemoOutcome, _Story, wait_for
from tests.cases import cases

TRUTH = {
    "baseline_content_delta": 0.05,
    "perturbed_content_delta": 0.4,
    "baseline_quality_delta": None,
    "perturbed_quality_delta": 0.5,
    "baseline_robustness": 0.97,
    "perturbed_robustness": 0.8,
    "excess": 0.35,
}


def estimate(value, lower, upper):
    return {"value": value, "lower": lower, "upper": upper, "n": 100}


def cell(perturbation="general.spelling", **estimates):
    empty = dict.fromkeys(("content_delta", "quality_delta", "robustness", "excess"))
    return {"route": "r", "model": "m", "perturbation": perturbation, **empty, **estimates}


def test_each_estimate_is_held_against_the_truth_of_its_arm():
    """The baseline has a truth of its own; what was not measured or has no truth is left out."""
    comparison = compare(
        [
            cell(
                "baseline.identical",
                content_delta=estimate(0.06, 0.01, 0.1),
                quality_delta=estimate(0.5, 0.1, 0.9),
            ),
            cell(content_delta=estimate(0.5, 0.41, 0.6), excess=estimate(0.3, 0.2, 0.5)),
        ],
        {"m": TRUTH},
    )
    seen = [(row.cell[2], row.quantity, row.planted, row.covered) for row in comparison.rows]
    assert seen == [
        ("baseline.identical", "content_delta", 0.05, True),
        ("general.spelling", "content_delta", 0.4, False),
        ("general.spelling", "excess", 0.35, True),
    ]
    assert (comparison.cells, comparison.missed) == (2, 1)


def row(number, *, covered):
    return CellFigure(
        ("r", "m", f"p{number}"), "content_delta", 0.5, estimate(0.5, 0.4 if covered else 0.51, 0.6)
    )


@pytest.mark.parametrize(
    ("cells", "missed", "good"), [(15, 2, True), (15, 3, False), (6, 1, False), (0, 0, False)]
)
def test_two_cells_of_fifteen_may_miss(cells, missed, good):
    """A demo fails if more than 15 % miss, or if nothing was measured."""
    rows = tuple(row(number, covered=number >= missed) for number in range(cells))
    assert TruthComparison(rows).good is good


OVER = {"state": "resolved", "ending": "reversed"}


def outcome(**changes):
    good = {
        "comparison": TruthComparison(tuple(row(number, covered=True) for number in range(10))),
        "sent": 100,
        "failed_requests": 0,
        "scored": 100,
        "early_incidents": 0,
        "incidents": (OVER,),
        "messages": ({"phase": "opened"}, {"phase": "resolved"}),
        "swapped_at": 1.0,
    }
    return DemoOutcome(**{**good, **changes})


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        *cases(__file__)["problems"],
        ({"comparison": TruthComparison(())}, "outside the interval in 0 of 0 cells"),
    ],
)
def test_every_fault_fails_the_demo(changes, problem):
    """Failed requests, lost exchanges, early, missing or lasting incidents, a missed truth: each counts."""
    (line,) = outcome(**changes).problems
    assert problem in line


def test_requests_of_somebody_else_do_not_count():
    """Whoever tries the proxy of the demo with a model of their own changes none of its figures."""
    cells = [{"model": "helpdesk-2"}, {"model": "gpt-4.1"}]
    story = _Story(Addresses("http://proxy", "http://admin", Path()), Simulation(), Console(), [])
    reply = httpx2.Response(200, json={"cells": cells})
    story._admin = httpx2.AsyncClient(
        base_url="http://admin", transport=httpx2.MockTransport(lambda _: reply)
    )
    assert asyncio.run(story._cells()) == cells[:1]


def test_an_answer_of_somebody_else_does_not_count(tmp_path):
    """A process that ends without its banner has failed, though another answers on its port."""
    log = tmp_path / "log"
    log.write_text("cannot listen on 127.0.0.1:8102: Address already in use", encoding="utf-8")
    with (
        serving(Simulation([ModelState("m")])) as url,
        subprocess.Popen([sys.executable, "-c", ""]) as ended,
    ):
        ended.wait()
        with pytest.raises(DemoError, match=r"ended while starting; try again(.|\n)*Address already in use"):
            wait_for(f"{url}/healthz", ended, log, f"{url}/v1")
        log.write_text(f"listening on {url}/v1", encoding="utf-8")
        wait_for(f"{url}/healthz", ended, log, f"{url}/v1")
