"""The admin token."""

from __future__ import annotations

import base64

import pytest
from litestar import Litestar, get
from litestar.testing import TestClient

from evenkeel.console.access import TokenGuard


@get(["/", "/healthz"], sync_to_thread=False)
def _page() -> str:
    return "content"


def _client(token):
    return TestClient(TokenGuard(Litestar([_page]), token), base_url="http://127.0.0.1:8101")


def _basic(text):
    return {"authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}


def test_without_a_token_everything_passes():
    """On loopback the port is open."""
    with _client(None) as client:
        assert client.get("/").text == "content"


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        _basic("admin:wrong"),
        {"authorization": "Basic !!"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer s3cret x"},
    ],
)
def test_a_wrong_token_is_refused(headers):
    """The answer asks for the token and says nothing else."""
    with _client("s3cret") as client:
        response = client.get("/", headers=headers)
    assert response.status_code == 401
    assert "content" not in response.text
    assert response.headers["www-authenticate"].startswith("Basic")


@pytest.mark.parametrize("headers", [{"authorization": "Bearer s3cret"}, _basic("anyone:s3cret")])
def test_the_token_opens(headers):
    """As bearer for scrapers, as password for browsers."""
    with _client("s3cret") as client:
        assert client.get("/", headers=headers).text == "content"


def test_probes_need_no_token():
    """An orchestrator may ask whether the process lives."""
    with _client("s3cret") as client:
        assert client.get("/healthz").status_code == 200
