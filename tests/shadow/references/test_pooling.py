"""All references compared at once: what is found, what is left out, how seldom chance looks like a change."""

import functools
import random
from dataclasses import replace

import pytest

from evenkeel.core.pair import Answer
from evenkeel.shadow.references.pooling import pooled
from evenkeel.shadow.references.ranking import alike
from evenkeel.stores.references import KeptAnswer, Reference

LEVEL = 10_000.0
OLD = ("alpha beta gamma.", "alpha gamma beta.", "beta alpha gamma.", "gamma beta alpha.")
NEW = ("alpha beta delta.", "delta gamma beta.", "beta alpha delta.", "gamma delta alpha.")


def reference(number, answers, *, version="p1", source="asked"):
    """A reference whose answers came one a second, from a time of its own."""
    kept = tuple(
        KeptAnswer(Answer(text, system_fingerprint="fp"), 100.0 * place + number, "m-1", source)
        for place, text in enumerate(answers)
    )
    return Reference(
        id=f"x{number:02}", route="shop", requested_model="m", prompt_version=version, path="/v1/x",
        request="{}", taken_at=0.0, answers=kept,
    )  # fmt: skip


def drawn(chance, before, after=0):
    return [chance.choice(OLD) for _ in range(before)] + [chance.choice(NEW) for _ in range(after)]


def test_a_change_that_no_single_answer_shows_is_found():
    """24 references with four answers before and two after, which share two words of three."""
    chance = random.Random(1)
    kept = [reference(number, drawn(chance, 4, 2), version=f"p{number % 2}") for number in range(24)]
    found = pooled(kept, LEVEL)
    assert pooled(kept, LEVEL) == found  # draws follow from what is compared
    assert found.p_value == pytest.approx(3 / (1 + 20_000))
    assert (found.calls, found.since, found.after) == (48, 400.0, 200.0)
    assert found.likeness < found.own
    assert (found.models, found.fingerprints) == (("m-1",), ("fp",))
    assert len(found.references) == 8


def test_too_little_is_not_compared():
    """Few references, few calls, or answers of one side only."""
    chance = random.Random(3)
    assert pooled([], LEVEL) is None
    assert pooled([reference(number, drawn(chance, 4, 2)) for number in range(5)], LEVEL) is None
    assert (
        pooled([reference(number, drawn(chance, 4), source="resend") for number in range(30)], LEVEL) is None
    )


def test_the_answer_to_the_application_is_left_out():
    """The application asked otherwise: streamed, with another credential, perhaps before redaction."""
    chance = random.Random(4)
    first = KeptAnswer(Answer("Something else entirely!"), 0.0, "m-1", "original")
    kept = []
    for number in range(24):
        asked = reference(number, drawn(chance, 5))
        kept.append(replace(asked, answers=(first, *asked.answers)))
    assert pooled(kept, LEVEL).p_value > 0.01


def test_chance_seldom_looks_like_a_change():
    """A p-value of 1/100 comes once on average in 100 looks without a change."""
    chance = random.Random(5)
    small = 0
    remembered = functools.cache(alike)
    for _ in range(100):
        kept = [reference(number, drawn(chance, 8)) for number in range(12)]
        small += pooled(kept, 500.0, remembered).p_value <= 1 / 100
    assert small <= 3
