"""Prices of tiers: as published, as configured, and never below what was asked for."""

import json
from dataclasses import replace

import pytest

from evenkeel.core.pair import Answer
from evenkeel.llm.price import ModelPrice, Prices, Quote, prompt_bound
from tests.cases import cases

CASES = cases(__file__)

LISTED = Prices()
DOLLARS = Prices({"m": ModelPrice(1.0, 2.0)})


@pytest.mark.parametrize(("model", "tier", "usd"), CASES["tiers"])
def test_a_tier_costs_what_is_published(model, tier, usd):
    """A model without a price for a tier costs its usual one there."""
    prices = Prices({"own": ModelPrice(1.0, 3.0)})
    assert prices.dearest([model], 10_000, 10_000, tier) == pytest.approx(usd / 100)


def test_an_answer_from_another_tier_counts_at_that_tier_s_price():
    """Asked for at half of the price of o3, $2 in and $8 out, and answered at the whole."""
    quote = Quote(LISTED, ["o3"], b'{"max_tokens": 1000}', 100, 5, "flex")
    answer = Answer("hi", model="o3", prompt_tokens=100, completion_tokens=300)
    assert quote.estimate.usd == pytest.approx(((200 + 256) * 2 + 1000 * 8) * 1e-6 / 2)
    assert quote.proven(answer).usd == pytest.approx((100 * 2 + 300 * 8) * 1e-6 / 2)
    assert quote.proven(answer, "standard").usd == pytest.approx((100 * 2 + 300 * 8) * 1e-6)


@pytest.mark.parametrize(
    ("model", "usd"),
    [
        # Of a million tokens in, 900,000 of them cached; source: the public list of genai-prices.
        ("gpt-4o", 0.1 * 2.5 + 0.9 * 1.25),
        ("claude-sonnet-4-5", 0.1 * 3.0 + 0.9 * 0.3),
        ("gpt-4-turbo", 10.0),  # nothing is published
        ("own", 2.0),
    ],
)
def test_tokens_from_the_cache_cost_what_is_published(model, usd):
    """A price of the settings holds for them too."""
    prices = Prices({"own": ModelPrice(2.0, 9.0)})
    cost = prices.dearest([model], 100_000, 0, cached_tokens=90_000)
    assert cost == pytest.approx(usd / 10)
    assert prices.usd(model, 100_000, 0, "standard", 90_000) == pytest.approx(usd / 10)


def test_a_quote_counts_on_no_cache_and_takes_off_what_came_from_it():
    """Writing to the cache still costs a quarter more; more cached tokens than sent are none."""
    bodies = (b"{}", b'{"cache_control": {}}')
    plain, writing = [Quote(LISTED, ["claude-sonnet-4-5"], body, 1000, 5) for body in bodies]
    answer = Answer("hi", prompt_tokens=1000, completion_tokens=0, cached_tokens=800)
    # $3 per million tokens in, 30 cents from the cache.
    assert plain.proven(answer).usd == pytest.approx((200 * 3 + 800 * 0.3) * 1e-6)
    assert writing.proven(answer).usd == pytest.approx((200 * 3 * 1.25 + 800 * 0.3) * 1e-6)
    odd = Answer("hi", prompt_tokens=1000, completion_tokens=0, cached_tokens=10**12)
    assert plain.proven(odd) == (1000, pytest.approx(300e-6))
    # For an hour twice as much as nothing: 1,000 tokens at a dollar a million.
    hour = Quote(DOLLARS, ["m"], b'{"cache_control": {"ttl": "1h"}}', None, 6)
    assert hour.proven(Answer("", prompt_tokens=1000, completion_tokens=0)).usd == pytest.approx(0.002)


def test_what_the_endpoint_kept_in_its_cache_costs_a_quarter_more():
    """OpenAI keeps prompts unasked and says how much of each."""
    answer = Answer("hi", prompt_tokens=1000, completion_tokens=0, cached_tokens=200, cache_write_tokens=600)
    assert Quote(DOLLARS, ["m"], b"{}", 1000, 5).proven(answer).usd == pytest.approx(1150e-6)
    asked = Quote(DOLLARS, ["m"], b'{"cache_control": {}}', 1000, 5)
    assert asked.proven(answer).usd == pytest.approx(1150e-6)
    near = Quote(DOLLARS, ["m"], b'{"inference_geo": "us"}', 1000, 5)
    assert near.proven(answer).usd == pytest.approx(1.1 * 1150e-6)
    odd = replace(answer, cache_write_tokens=10**7)
    assert asked.proven(odd).usd == pytest.approx(1250e-6)


@pytest.mark.parametrize(("body", "prompt", "estimate", "limit"), CASES["bounds"])
def test_a_quote_is_a_bound(body, prompt, estimate, limit):
    """A token a byte or twice the earlier prompt; the greatest limit stated, else three times 6 and 1,024."""
    quote = Quote(DOLLARS, ["m"], body.encode(), prompt, 6)
    assert (quote.estimate.tokens, quote.limit_tokens) == (sum(estimate), limit)


PICTURE = "A" * 700_000
TEXT = "What is on it?"


@pytest.mark.parametrize("part", CASES["pictures"])
def test_a_picture_is_no_text(part):
    """A picture counts the tokens that it took before, else a stated constant: not one for each byte."""
    part = json.loads(json.dumps(part).replace("PICTURE", PICTURE))
    body = json.dumps({"messages": [{"role": "user", "content": [{"type": "text", "text": TEXT}, part]}]})
    members = json.loads(body)
    text = prompt_bound(members, len(body), None) - 50_000
    assert len(PICTURE) <= len(body) - text <= len(PICTURE) + 22
    assert prompt_bound(members, len(body), 1100) == max(text + 1100, 2200)
    small = {"messages": [{"content": [{"type": "image", "source": {"data": "A" * 3_000}}]}]}
    assert prompt_bound(small, 4_000, None) == 4_000


def test_sound_and_files_count_by_their_bytes_until_the_endpoint_says_more():
    """Their tokens are unknown; text that only looks like a picture is text."""
    sound = {"type": "input_audio", "input_audio": {"data": "A" * 90_000, "format": "wav"}}
    sent = {"messages": [{"content": [sound, {"type": "text", "text": "A" * 9_000}]}]}
    film = {"inlineData": {"mimeType": "video/mp4", "data": "A" * 90_000}}
    for members in (sent, {"contents": [{"parts": [film, {"text": "A" * 9_000}]}]}):
        assert prompt_bound(members, 100_000, None) == 100_000
        assert prompt_bound(members, 100_000, 900) == 10_900
    odd = [{"type": ["image"], "image": PICTURE}, {"type": {}}]
    poem = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "a rose " * 100}}
    for part in (odd, [poem]):
        assert prompt_bound({"messages": [{"content": part}]}, 800_000, None) == 800_000
        assert prompt_bound({"messages": [{"content": part}]}, 800_000, 900) == 800_000
