"""A Redis beyond this machine that anybody on the way can read, or use, is named by `check-config`."""

import pytest

from evenkeel.runtime.preflight import redis_notes
from evenkeel.settings import Settings
from tests.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("redis", "password", "said"), CASES["notes"])
def test_a_redis_elsewhere_needs_tls_and_a_password(redis, password, said, monkeypatch):
    """Prompts, answers and the spend travel there; on this machine neither is asked for."""
    monkeypatch.setenv("EVENKEEL_REDIS_PASSWORD", password)
    notes = redis_notes(
        Settings(routes=[{"upstream": "http://a.test"}], storage={"redis": redis} if redis else {})
    )
    assert len(notes) == len(said)
    for note, word in zip(notes, said, strict=True):
        assert word in note
