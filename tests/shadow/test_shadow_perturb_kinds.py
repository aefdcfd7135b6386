"""The kinds that change texts: deterministic, on input only, around protected spans, as strong as asked."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.perturbations import BUILTIN, NotApplicable, by_name
from evenkeel.shadow.prompt import PromptView
from tests.shadow.changed_texts import CASE, FRAGMENTS, SEVERITIES, variant, view_of
from tests.shadow.pretended_rewriter import survives

TEXT_KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])


@pytest.mark.parametrize("perturbation", TEXT_KINDS, ids=lambda one: one.name)
@pytest.mark.parametrize("severity", SEVERITIES)
def test_protected_spans_survive(perturbation, severity) -> None:
    """Code, numbers, addresses, JSON and quotations stand in every variant as they were."""
    for seed in range(20):
        changed = perturbation.apply(view_of(CASE), severity, random.Random(seed))
        assert isinstance(changed, PromptView)
        assert changed.input_text != CASE
        assert survives(CASE, changed.input_text), changed.input_text


@given(
    st.lists(FRAGMENTS, min_size=1, max_size=25).map("".join),
    st.sampled_from(TEXT_KINDS),
    st.sampled_from(SEVERITIES),
    st.integers(0, 2**53),
)
def test_any_text_keeps_its_protected_spans_and_changes(text, perturbation, severity, seed) -> None:
    """For any text a variant differs and keeps the spans, or says why there is none."""
    result = perturbation.apply(view_of(text), severity, random.Random(seed))
    if isinstance(result, NotApplicable):
        assert result.reason == ("nothing_to_change" if text.strip() else "no_input")
    else:
        assert result.input_text != text
        assert survives(text, result.input_text)
        assert len(result.input_text.split()) >= 1


@given(st.text(max_size=200), st.sampled_from(TEXT_KINDS), st.sampled_from(SEVERITIES), st.integers(0, 9))
def test_the_same_seed_gives_the_same_bytes(text, perturbation, severity, seed) -> None:
    """A replay can be repeated exactly."""
    first = perturbation.apply(view_of(text), severity, random.Random(seed))
    again = perturbation.apply(view_of(text), severity, random.Random(seed))
    assert first == again


@pytest.mark.parametrize("perturbation", TEXT_KINDS, ids=lambda one: one.name)
def test_different_seeds_mostly_differ(perturbation) -> None:
    """Twenty seeds give at least fifteen different variants of a case."""
    made = {perturbation.apply(view_of(CASE), 0.3, random.Random(seed)).body() for seed in range(20)}
    assert len(made) >= 15


# A change of these needs a higher version of the kind, or the log could not tell variants apart.
ASKED = "Tell me, please, where the order is? It has not come - weeks late. Thanks"
PINNED = {
    "general.whitespace": "Tell  me, please,  where the order is?  It has not come  - weeks late. Thanks",
    "general.punctuation": "Tell me, please where the order is? It has not come – weeks late. Thanks",
    "general.casing": "Tell me, please, Where the order is? It has not Come - WEEKS late. Thanks",
    "general.spelling": "Tell me, please, wher the oder is? It has not come - weeks late. Thanks",
}


def test_the_same_bytes_on_every_platform() -> None:
    """Variants made on another machine, written down: nothing depends on hash seeds or platform."""
    assert {kind.name: variant(kind.name, ASKED, 0.3, 7) for kind in TEXT_KINDS} == PINNED


@pytest.mark.parametrize("perturbation", TEXT_KINDS, ids=lambda one: one.name)
def test_only_input_changes(perturbation) -> None:
    """System, assistant and tool messages stay byte for byte."""
    others = [
        {"role": "system", "content": "Please summarise the case, briefly. Be kind."},
        {"role": "user", "content": "Another customer said hello, and left again."},
        {"role": "assistant", "content": "The customer greeted us, then left."},
        {"role": "tool", "tool_call_id": "1", "content": "weather: it is raining, again."},
    ]
    view = view_of(CASE, *others)
    for seed in range(10):
        changed = perturbation.apply(view, 1.0, random.Random(seed))
        assert [one.text for one in changed.segments if one.kind != "input"] == [
            one["content"] for one in others if one["role"] != "user"
        ]
        assert all(
            one.text != old.text
            for one, old in zip(changed.segments, view.segments, strict=True)
            if one.kind == "input"
        )


@pytest.mark.parametrize("perturbation", TEXT_KINDS, ids=lambda one: one.name)
def test_without_input_a_kind_does_not_apply(perturbation) -> None:
    """A prompt without any text of a user is not applicable, with the reason."""
    view = PromptView.parse(
        b'{"messages":[{"role":"system","content":"Hi there."},{"role":"user","content":" "}]}'
    )
    result = perturbation.apply(view, 0.5, random.Random(1))
    assert isinstance(result, NotApplicable)
    assert result.reason == "no_input"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("general.punctuation", "[1]"),
        ("general.casing", "お客様は返金を希望しています。"),
        ("general.spelling", "why is it so?"),
        ("general.punctuation", "see foo_bar. Then `it`, 7"),
        ("general.casing", "NATO 42 x"),
        ("general.casing", "ĸĸĸĸ"),
        ("general.spelling", "`some code here` 4711"),
    ],
)
def test_with_nothing_eligible_a_kind_does_not_apply(name: str, text: str) -> None:
    """Where every place is protected or out of a kind's reach the reason says so."""
    result = by_name([name])[0].apply(view_of(text), 1.0, random.Random(1))
    assert isinstance(result, NotApplicable)
    assert result.reason == "nothing_to_change"


@pytest.mark.parametrize("perturbation", TEXT_KINDS, ids=lambda one: one.name)
def test_severity_zero_changes_nothing_and_out_of_range_is_an_error(perturbation) -> None:
    """Severity is a share: 0 leaves nothing to do and numbers beyond [0, 1] are refused."""
    assert isinstance(perturbation.apply(view_of(CASE), 0.0, random.Random(1)), NotApplicable)
    for wrong in (-0.1, 1.1):
        with pytest.raises(ValueError, match="not between 0 and 1"):
            perturbation.apply(view_of(CASE), wrong, random.Random(1))


def test_baseline_resends_the_view_itself() -> None:
    """The baseline is byte-identical at any severity and seed."""
    view = view_of(CASE)
    assert BUILTIN[0].name == "baseline.identical"
    assert BUILTIN[0].apply(view, 0.0, random.Random(1)) is view
