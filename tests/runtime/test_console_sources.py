"""Sources of the console about settings and spend."""

from evenkeel.runtime.roles.monitor import judge_setup
from evenkeel.settings import Settings


def test_the_judge_s_address_holds_no_credential():
    """None without a judge."""
    routes = [{"upstream": "https://a.example/v1"}]
    judge = {"model": "m", "base_url": "https://user:pw@judge.example/v1"}
    assert judge_setup(Settings(routes=routes, judge=judge)).endpoint == "https://judge.example/v1"
    assert judge_setup(Settings(routes=routes)) is None
