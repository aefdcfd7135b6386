"""Settings in effect: what is set is told from defaults, and no credential is shown."""

from __future__ import annotations

import pytest
import yaml

from evenkeel.settings import load
from evenkeel.settings.settings import settings_in_effect
from evenkeel.settings.types import without_credentials


def test_what_is_set_is_told_from_defaults(tmp_path, monkeypatch):
    """The value decides, wherever it was set; required settings have no default."""
    monkeypatch.setenv("EVENKEEL_LISTEN__PORT", "8200")
    file = tmp_path / "evenkeel.yaml"
    file.write_text("routes: [{upstream: 'https://api.example/v1', sampling_rate: 0.5}]\n")
    shown = yaml.safe_load(settings_in_effect(load(file, {}, {})))
    route = {"upstream": "https://api.example/v1", "sampling_rate": 0.5}
    assert (shown["listen"], shown["routes"]) == ({"port": 8200}, [route])
    assert not {"access", "judge"} & shown.keys()


def test_a_credential_is_set_or_not(tmp_path, monkeypatch):
    """The variable that holds it decides; its value and the variable's name are not shown."""
    monkeypatch.setenv("A_KEY", "s3cret")
    file = tmp_path / "evenkeel.yaml"
    file.write_text(
        "routes: [{upstream: 'https://a.example/v1', api_key_env: A_KEY, "
        "match: {headers: {x-key: s3cret}}}]\n"
        "judge: {model: m, api_key_env: NO_KEY}\n"
        "alerts: {webhook: 'https://hooks.example/s3cret', notify: [A_KEY, NO_KEY]}\n"
    )
    text = settings_in_effect(load(file, {}, {}))
    shown = yaml.safe_load(text)
    assert shown["routes"][0]["api_key_env"] == shown["routes"][0]["match"]["headers"]["x-key"] == "set"
    assert shown["judge"]["api_key_env"] == "not set"
    assert shown["alerts"] == {"webhook": "set", "notify": ["set", "not set"]}
    assert "s3cret" not in text
    assert "_KEY" not in text


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
