"""Which exchanges to approve, and what they become."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer
from evenkeel.release.goldens.candidates import golden_of, prompt_text, spread
from evenkeel.stores.goldens import GoldenError
from tests.stores.examples import ARCHIVED

CASES = yaml.safe_load(Path(__file__).with_name("cases.yaml").read_text("utf-8"))


@pytest.mark.parametrize(("body", "text"), CASES["prompts"])
def test_a_request_is_shown_as_its_conversation(body, text):
    """Requests of every API are shown; what is not text is noted."""
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
    """A client may have sent anything."""
    assert isinstance(prompt_text(json.dumps(body)), str)


def test_a_spread_takes_no_two_that_share_half_of_their_words():
    """Worked by hand: four of five words in common are near, none are not; digits tell nothing."""
    texts = [
        "one two three four",
        "red green blue",
        "one two three five",
        "red green blue 7",
        "荷物が届く日数",
    ]
    for seed in range(8):
        first = [texts[place].split()[0] for place in spread(texts, 9, Random(seed))]
        assert sorted(first) == ["one", "red", "荷物が届く日数"]
    assert len(spread(texts, 2, Random(0))) == 2
    assert spread(texts, 2, Random(0)) == spread(texts, 2, Random(0))
    assert spread([], 2, Random(0)) == []


EXCHANGE = replace(
    ARCHIVED,
    request='{\n "messages" : [{"role": "user", "content": "\\u00fc"}],\n "temperature": 0.10 }',
    answer=Answer("Four days.", model="m-1"),
    model="m-1",
    prompt_version="p1",
)


def test_an_exchange_becomes_a_golden():
    """Candidates keep their own id or get a name; the request is in the form that files give back."""
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
