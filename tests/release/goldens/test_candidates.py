"""Which exchanges to approve, and what they become."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer
from evenkeel.release.goldens.candidates import golden_of, spread
from evenkeel.release.goldens.prompts import prompt_text
from evenkeel.stores.archive import ArchivedExchange
from evenkeel.stores.goldens import GoldenError

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("body", "text"), CASES["prompts"])
def test_a_request_is_shown_as_its_conversation(body, text):
    """Of every API; what is not text is noted."""
    assert prompt_text(json.dumps(body)) == text


json_values = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["messages", "input", "role", "content", "text", "type", "tool_calls", "function"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_any_body_can_be_shown(body):
    """Whatever a client sent."""
    assert isinstance(prompt_text(json.dumps(body)), str)


def test_the_spread_takes_what_differs_most():
    """By hand: with the first of three drawn, the two of other words follow, the near one never."""
    texts = [
        "red green blue",
        "one two three four",
        "red green blue",
        "alpha beta gamma",
        "one two three five",
    ]
    for seed in range(8):
        places = spread(texts, 9, Random(seed))
        words = {texts[place].split()[0] for place in places[:3]}
        assert words == {"red", "one", "alpha"}
        # "one two three four" and "… five" share 3 of 5 sets members: {one, one two, two three}.
        assert sorted(texts[place] for place in places[3:]) == [
            text
            for text in sorted(texts)
            if text.startswith("one") and text not in {texts[p] for p in places[:3]}
        ]


def test_scripts_without_spaces_are_compared_by_character():
    """A changed sign is a near-duplicate in Japanese too."""
    long = "荷物が届くまでの日数を教えてください返品の方法も知りたいです"
    assert len(spread([long, f"{long}か", "請求書の宛名を変更したい"], 3, Random(0))) == 2


@given(st.lists(st.text(alphabet="ab c", max_size=12), max_size=12), st.integers(0, 12), st.integers(0, 3))
def test_a_spread_has_no_two_alike(texts, count, seed):
    """Places are distinct, as many as asked for at most, the same for the same seed, never twice one text."""
    places = spread(texts, count, Random(seed))
    assert places == spread(texts, count, Random(seed))
    assert len(places) == len(set(places)) <= min(count, len(texts))
    assert len({texts[place] for place in places}) == len(places)
    assert bool(places) == bool(texts and count)


EXCHANGE = ArchivedExchange(
    id="00000000000000aa",
    route="shop",
    path="/v1/chat/completions",
    request='{\n "messages" : [{"role": "user", "content": "\\u00fc"}],\n "temperature": 0.10 }',
    answer=Answer("Four days.", model="m-1"),
    model="m-1",
    prompt_version="p1",
    task="chat",
    received_at=5.0,
)


def test_an_exchange_becomes_a_golden():
    """Under its own id or a name; the request in the form that files give back."""
    golden = golden_of(EXCHANGE, note=" checked ")
    assert golden.id == EXCHANGE.id
    assert golden.request == '{"messages":[{"role":"user","content":"ü"}],"temperature":0.1}'
    assert (golden.route, golden.task, golden.model, golden.prompt_version) == ("shop", "chat", "m-1", "p1")
    assert (golden.answer, golden.note, golden.version) == (EXCHANGE.answer, "checked", 1)
    assert golden_of(EXCHANGE, name=" delivery ").id == "delivery"


@pytest.mark.parametrize(
    "request_text", ["{", '{"messages": [{}], "t": NaN}', "[" * 100_000], ids=["cut", "nan", "deep"]
)
def test_a_request_that_cannot_be_repeated_is_refused(request_text):
    """The error names the exchange."""
    with pytest.raises(GoldenError, match=r"exchange 00000000000000aa .*approve another"):
        golden_of(replace(EXCHANGE, request=request_text))
