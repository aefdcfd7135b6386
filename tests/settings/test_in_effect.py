"""Settings in effect: what is set is told from defaults, and no credential is shown."""

from __future__ import annotations

import pytest

from evenkeel.settings import load
from evenkeel.settings.in_effect import settings_in_effect
from evenkeel.settings.types import without_credentials


def _lines(settings):
    return {
        (section.name, line.name): line for section in settings_in_effect(settings) for line in section.lines
    }


def test_what_is_set_is_told_from_defaults(tmp_path, monkeypatch):
    """The value decides, wherever it was set; required settings have no default."""
    monkeypatch.setenv("EVENKEEL_LISTEN__PORT", "8200")
    file = tmp_path / "evenkeel.yaml"
    file.write_text("routes: [{upstream: 'https://api.example/v1', sampling_rate: 0.5}]\n")
    lines = _lines(load(file, {}, {}))
    assert {("listen", "port"), ("routes[0]", "upstream"), ("routes[0]", "sampling_rate")} <= lines.keys()
    assert not {("access", "port"), ("routes[0].timeouts", "silence_s"), ("", "judge")} & lines.keys()
    assert lines["listen", "port"].value == "8200"
    assert lines["listen", "port"].meaning == "0 picks a free port."


def test_a_credential_is_set_or_not(tmp_path, monkeypatch):
    """The variable that holds it decides; its value and the variable's name are not shown."""
    monkeypatch.setenv("A_KEY", "s3cret")
    file = tmp_path / "evenkeel.yaml"
    file.write_text(
        "routes: [{upstream: 'https://a.example/v1', api_key_env: A_KEY}]\n"
        "judge: {model: m, api_key_env: NO_KEY}\n"
    )
    lines = _lines(load(file, {}, {}))
    assert lines["routes[0]", "api_key_env"].value == "set"
    assert lines["judge", "api_key_env"].value == "not set"
    assert not any("s3cret" in line.value or "A_KEY" in line.value for line in lines.values())


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("redis://user:pw@host:6379/0", "redis://host:6379/0"),
        ("https://h.example/v1?key=abc#x", "https://h.example/v1"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("careful: a:b@c", "careful: a:b@c"),
    ],
)
def test_addresses_lose_what_may_be_a_credential(given, shown):
    """User, password and query; other text stays."""
    assert without_credentials(given) == shown
