"""Settings of the Redis: what it takes to get in, and never a secret among them."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.runtime.stores import RedisStores, checkpoint_name
from evenkeel.settings import SettingsError, load
from evenkeel.stores.redis.connection import Host

UPSTREAM = {"upstream": "http://127.0.0.1:9/v1"}


def given(**redis):
    return load(None, {"redis": redis}, UPSTREAM)


def test_without_it_everything_is_in_the_data_folder():
    """SQLite stays the default."""
    assert load(None, {}, UPSTREAM).redis is None


def test_everything_that_leads_to_a_redis(monkeypatch):
    """Names of variables stand in the settings, what they hold does not."""
    monkeypatch.setenv("KEEL_PW", "s3cret")
    monkeypatch.setenv("KEEL_SENTINEL_PW", "other")
    settings = given(
        url="rediss:///3",
        username="keel",
        password_env="KEEL_PW",
        sentinels=["one:26379", "[::1]:26380"],
        sentinel_master="main",
        sentinel_password_env="KEEL_SENTINEL_PW",
        ca_file="/etc/ca.pem",
        prefix="prod",
    )
    place = RedisStores(settings)._store.place
    assert (place.username, place.password, place.sentinel_password) == ("keel", "s3cret", "other")
    assert place.sentinels == (Host("one", 26379), Host("::1", 26380))
    assert (place.sentinel_master, place.ca_file, place.prefix) == ("main", "/etc/ca.pem", "prod")
    for shown in (json.dumps(settings.model_dump(mode="json")), repr(settings), repr(place), str(place)):
        assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("redis", "message"),
    [
        ({"url": "http://a"}, r"redis\.url: http://… is not a redis"),
        ({"url": "redis://:hunter2@a"}, "carries a password"),
        ({"url": "redis://a?password=hunter2"}, "carries a password"),
        ({"url": "redis://a", "sentinels": ["a:1"]}, "sentinels and sentinel_master go together"),
        (
            {"url": "redis://a", "cluster": True, "sentinels": ["a:1"], "sentinel_master": "m"},
            "set cluster or sentinels, not both",
        ),
        ({"url": "redis://a", "cert_file": "a"}, "cert_file and key_file go together"),
        ({"url": "redis://a", "prefix": "a{b}"}, r"redis\.prefix"),
        ({"url": "redis://a", "sentinels": ["a"], "sentinel_master": "m"}, r"redis\.sentinels\[0\]"),
    ],
)
def test_what_cannot_be_is_one_line(redis, message):
    """And a password is never repeated."""
    with pytest.raises(SettingsError, match=message) as caught:
        given(**redis)
    assert "hunter2" not in str(caught.value)


def test_a_monitor_that_watches_other_routes_has_another_checkpoint():
    """Its state would not fit the routes it had before."""
    one = load(None, {"monitor": {"name": "a"}}, UPSTREAM)
    other = load(None, {"monitor": {"name": "a", "routes": ["y", "x"]}}, UPSTREAM)
    assert checkpoint_name(one) == "a"
    assert checkpoint_name(other) == "a/x/y"


def test_check_config_tells_of_a_redis_that_is_not_there(tmp_path):
    """Like everything else that would be found out only later."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text("routes: [{upstream: 'http://127.0.0.1:9'}]\nredis: {url: 'redis://127.0.0.1:9/0'}\n")
    result = CliRunner().invoke(main, ["check-config", "--config", str(path)])
    assert result.exit_code == 1
    assert "cannot use the Redis redis://127.0.0.1:9/0" in result.output
