"""Wiring of the worker: where replays go."""

import pytest

from evenkeel.runtime.replays import replay_target
from evenkeel.settings import load
from tests.cases import cases
from tests.stores.examples import exchange as example

CASES = cases(__file__)
PATH = "/v1/chat/completions?api-version=7"


@pytest.fixture
def target(monkeypatch):
    """The replay target of an exchange under a route's settings."""
    for name in ("EVENKEEL_SHADOW_API_KEY", "UPSTREAM_KEY"):
        monkeypatch.delenv(name, raising=False)

    def find(route, *, environment=None, **exchange):
        for name, value in (environment or {}).items():
            monkeypatch.setenv(name, value)
        settings = load(None, {}, route)
        return replay_target(settings)(example(1, **{"path": PATH, "request_headers": ()} | exchange))

    return find


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_replay_goes_where_the_original_went(target, case):
    """The path is as the data plane maps it, with no further query."""
    replay = target(case["route"], **case["exchange"])
    assert (replay.url, replay.headers, replay.unix_path) == (case["url"], (), None)


def test_replays_use_their_own_credential_before_the_routes(target):
    """The shadow key wins over the injected one; without either nothing is sent."""
    route = {"upstream": "http://a/v1", "api_key_env": "UPSTREAM_KEY", "api_key_header": "api-key"}
    assert target(route, environment={"UPSTREAM_KEY": "u"}).headers == (("api-key", "u"),)
    shadow = target(route, environment={"EVENKEEL_SHADOW_API_KEY": "s"})
    assert shadow.headers == (("api-key", "s"),)


def test_a_replay_states_the_version_and_betas_that_the_client_did(target):
    """The messages API refuses requests without its version, and members of a beta without its name."""
    stated = (("anthropic-version", "2023-06-01"), ("anthropic-beta", "structured-outputs-2025-11-13"))
    sent = (("content-type", "application/json"), *stated, ("traceparent", "00"))
    replay = target(
        {"upstream": "http://a/v1"}, environment={"EVENKEEL_SHADOW_API_KEY": "s"}, request_headers=sent
    )
    assert replay.headers == (*stated, ("authorization", "Bearer s"))


def test_a_replay_reaches_a_unix_socket(target):
    """The socket's path goes beside the URL."""
    replay = target({"upstream": "http+unix://%2Frun%2Fmodel.sock/v1"})
    assert replay.unix_path == "/run/model.sock"
    assert replay.url == "http://localhost/v1/chat/completions?api-version=7"
