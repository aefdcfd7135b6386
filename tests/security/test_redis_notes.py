"""A Redis beyond this machine that anybody on the way can read, or use, is named by `check-config`."""

from __future__ import annotations

import pytest

from evenkeel.runtime.preflight import redis_notes
from evenkeel.settings import Settings

PLAIN, OPEN = "unencrypted", "no password"


@pytest.mark.parametrize(
    ("redis", "password", "said"),
    [
        (None, "", ()),  # the embedded store has no way to protect
        ({"url": "redis://127.0.0.1:6379/0"}, "", ()),
        ({"url": "redis://localhost:6379/0"}, "", ()),
        ({"url": "redis://[::1]:6379/0"}, "", ()),
        ({"url": "unix:///run/redis.sock"}, "", ()),
        ({"url": "redis://10.0.0.7:6379/0"}, "", (PLAIN, OPEN)),
        ({"url": "redis://redis:6379/0"}, "secret", (PLAIN,)),
        ({"url": "redis://127.0.0.1.evil.test:6379/0"}, "secret", (PLAIN,)),
        ({"url": "rediss://redis.test:6379/0"}, "", (OPEN,)),
        ({"url": "rediss://redis.test:6379/0"}, "secret", ()),
        ({"url": "redis://x/0", "sentinels": ["s.test:26379"], "sentinel_master": "m"}, "s", (PLAIN,)),
        (
            {"url": "redis://127.0.0.1/0", "sentinels": ["s.test:26379"], "sentinel_master": "m"},
            "s",
            (PLAIN,),
        ),
        ({"url": "redis://x/0", "sentinels": ["localhost:26379"], "sentinel_master": "m"}, "", ()),
    ],
)
def test_a_redis_elsewhere_needs_tls_and_a_password(redis, password, said, monkeypatch):
    """Prompts, answers and the spend travel there; on this machine neither is asked for."""
    monkeypatch.setenv("EVENKEEL_REDIS_PASSWORD", password)
    notes = redis_notes(
        Settings(routes=[{"upstream": "http://a.test"}], storage={"redis": redis} if redis else {})
    )
    assert len(notes) == len(said)
    for note, word in zip(notes, said, strict=True):
        assert word in note
