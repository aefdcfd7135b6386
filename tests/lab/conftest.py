"""Clients of the endpoints that the lab serves; a module says at which `url`."""

import httpx2
import openai
import pytest


@pytest.fixture
def sdk(url):
    """The SDK without retries."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="right", max_retries=0, timeout=240) as client:
        yield client


@pytest.fixture
def http(url):
    """A plain client with the key in Anthropic's header."""
    with httpx2.Client(base_url=url, timeout=240, headers={"x-api-key": "right"}) as client:
        yield client
