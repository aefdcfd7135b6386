"""A simulated server, and clients that ask it."""

from __future__ import annotations

import httpx2
import openai
import pytest

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving


@pytest.fixture(scope="module")
def simulated_url():
    """The base URL of a server with a sound model."""
    models = (ModelState("sound"),)
    with serving(Simulation(models, SimulationSettings(deterministic=True))) as url:
        yield url


@pytest.fixture
def simulated_sdk(simulated_url):
    with openai.OpenAI(base_url=f"{simulated_url}/v1", api_key="any", max_retries=0, timeout=240) as sdk:
        yield sdk


@pytest.fixture
def simulated_http(simulated_url):
    with httpx2.Client(base_url=simulated_url, timeout=240) as plain:
        yield plain
