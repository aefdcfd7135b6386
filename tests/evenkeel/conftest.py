"""`evenkeel up` as a user starts it, in front of a simulated model."""

from __future__ import annotations

import contextlib
from functools import partial

import pytest

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.kit.relaying import running


@contextlib.contextmanager
def up(folder, *arguments, environment=None, **options):
    """Start `evenkeel up` without embeddings: loading an encoder takes longer than most of these tests."""
    variables = {"EVENKEEL_SCORING__EMBEDDINGS": "false", **(environment or {})}
    with running("up", folder, *arguments, admin=True, environment=variables, **options) as started:
        yield started
    assert "Fatal Python error" not in started.log.read_text()
    started.check_log()


@pytest.fixture
def start(tmp_path):
    """Starts `evenkeel up` with the given arguments."""
    return partial(up, tmp_path)


@pytest.fixture
def simulation():
    """A simulated model with answers that depend on the request alone."""
    return Simulation([ModelState("simulated-1", fragility=0.3)], SimulationSettings(deterministic=True))


@pytest.fixture
def upstream(simulation):
    """Its address."""
    with serving(simulation) as url:
        yield url
