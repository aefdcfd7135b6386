"""The judge that nobody had to choose: the small model of the upstream's provider."""

import pytest

from evenkeel.llm.price import Prices
from evenkeel.llm.providers import SMALL_MODELS
from evenkeel.settings import Settings, SettingsError, load
from tests.cases import cases

CASES = cases(__file__)

OPENAI = "https://api.openai.com/v1"
OWN = "http://127.0.0.1:8000/v1"


def judge_of(upstream, **sections):
    """The judge; a process that gets its settings from another has the same one, or none."""
    settings = Settings(routes=[{"upstream": upstream}], **sections)
    judge = Settings(**settings.model_dump(mode="json")).judge
    assert judge == settings.judge
    return judge and [judge.base_url, judge.model, judge.api_key_env]


@pytest.mark.parametrize(("upstream", "sections", "expected"), CASES["judges"])
def test_a_judge_is_filled_in_where_the_provider_is_known(upstream, sections, expected):
    """Endpoint, model and key are the upstream's own; an endpoint that nobody knows brings none by itself."""
    assert judge_of(upstream, **sections) == expected


def test_of_several_routes_the_first_with_a_known_provider_counts(monkeypatch):
    """A key goes to the origin it belongs to: that route's own."""
    monkeypatch.setenv("ROUTE_KEY", "k")
    routes = [
        {"name": "own", "upstream": OWN, "match": {"prefix": "/own"}},
        {"name": "openai", "upstream": OPENAI, "replay_key_env": "ROUTE_KEY"},
    ]
    judge = Settings(routes=routes).judge
    assert (judge.base_url, judge.api_key_env) == (OPENAI, "ROUTE_KEY")
    named = Settings(routes=routes, judge={"model": "m"}).judge
    assert (named.base_url, named.api_key_env) == (OWN, "EVENKEEL_JUDGE_API_KEY")


def test_a_judge_without_a_model_is_an_error_where_no_provider_is_known():
    """The message says what is missing and where."""
    with pytest.raises(SettingsError, match=r"judge\.model: is missing; no small model is known at 127"):
        load(None, {"judge": {"tier": "standard"}}, {"upstream": OWN})


def test_every_small_model_has_a_public_price():
    """The price of judging can be stated before anything is sent."""
    assert all(Prices().knows(small.model) for small in SMALL_MODELS.values())


def test_a_key_named_for_the_judge_stays_at_its_endpoint(monkeypatch, tmp_path):
    """An option that names another endpoint needs another key."""
    monkeypatch.setenv("K", "secret")
    config = tmp_path / "evenkeel.yaml"
    config.write_text(f"routes: [{{upstream: '{OPENAI}'}}]\njudge: {{api_key_env: K}}\n")
    for overrides, route in (({"judge": {"base_url": OWN}}, {}), ({}, {"upstream": OWN})):
        with pytest.raises(SettingsError, match="would send it the key in K"):
            load(config, overrides, route)


def test_a_judge_on_this_machine_needs_no_endpoint(monkeypatch):
    """The model names the judge; an endpoint beside it is a slip."""
    monkeypatch.setattr("evenkeel.settings.scoring.check_extra", lambda *_: None)
    judge = Settings(routes=[{"upstream": OPENAI}], judge={"local": "nli"}).judge
    assert (judge.title, judge.base_url) == ("nli", "")
    with pytest.raises(SettingsError, match="local judges without an endpoint"):
        load(None, {"judge": {"local": "nli", "model": "m"}}, {"upstream": OPENAI})
