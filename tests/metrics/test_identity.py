"""Identity of texts and data: properties, and hostile input. Pairs are in `tests/corpus/attacks.jsonl`."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.metrics.identity import plain, same_data


def test_formats_meet_where_one_was_asked_for():
    assert same_data('{"a": 1}', "a: 1", wanted="json")
    assert not same_data('{"a": 1}', "a: 1")


def test_two_fences_are_a_document():
    first, second = '```json\n{"a": 1}\n```', '```json\n{"b": 1}\n```'
    assert not same_data(f"{first}\n{second}", f"{first}\n\n{second}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, min_size=1), st.randoms(use_true_random=False))
def test_the_order_of_keys_and_the_layout_never_count(value, rng):
    members = list(value.items())
    rng.shuffle(members)
    texts = json.dumps(value), json.dumps(dict(members), indent=2, ensure_ascii=False)
    assert same_data(*texts)


@given(JSON, JSON)
def test_values_that_differ_are_never_the_same(left, right):
    texts = json.dumps([left]), json.dumps([right])
    assert same_data(*texts) is (json.dumps([left], sort_keys=True) == json.dumps([right], sort_keys=True))


@given(st.text())
def test_a_plain_text_is_plain_and_says_the_same(text):
    assert plain(plain(text)) == plain(text)
    assert plain(unicodedata.normalize("NFD", text)) == plain(unicodedata.normalize("NFC", text))
    assert "".join(plain(text).split()) == "".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60_000 + "]" * 60_000,
        '{"a":' * 30_000,
        "- " * 60_000,
        "<a>" * 60_000,
        " \t" * 100_000 + "x",
        "a: &x\n" * 20_000,
        "`" * 100_000,
        "```\n" * 40_000,
        "<!DOCTYPE r [<!ENTITY a 'x'>]><r>&a;</r>",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_are_read_or_refused(text):
    for wanted in ("json", "yaml", "xml"):
        assert not same_data(text, text[:-1] + "?", wanted=wanted)
