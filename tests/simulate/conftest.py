"""A simulated server, and clients that ask it."""

from __future__ import annotations

import random

import httpx2
import openai
import pytest

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving


@pytest.fixture(scope="module")
def simulated_url():
    """The base URL of a server with one sound model and a few bad ones."""
    simulation = Simulation(
        (
            ModelState("sound"),
            ModelState("always-worse", fragility=1, worse_share=1),
            ModelState("always-different", fragility=1, worse_share=0),
            ModelState("broken", error_rate=1),
            ModelState("slow", latency_s=30),
            ModelState("brisk", latency_s=0.2),
        ),
        SimulationSettings(deterministic=True),
        rng=random.Random(1),
    )
    with serving(simulation) as url:
        yield url


@pytest.fixture
def simulated_sdk(simulated_url):
    """The SDK without retries."""
    with openai.OpenAI(base_url=f"{simulated_url}/v1", api_key="any", max_retries=0, timeout=240) as sdk:
        yield sdk


@pytest.fixture
def simulated_http(simulated_url):
    """A plain client."""
    with httpx2.Client(base_url=simulated_url, timeout=240) as plain:
        yield plain
