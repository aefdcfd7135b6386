"""Traits of ordinary answers: a change is suspected, and nothing else is."""

from __future__ import annotations

import json
import random

from evenkeel.core.answer_traits import TRAITS
from evenkeel.core.sightings import AnswerSeen
from evenkeel.monitor.detect.traits import TraitTest


def answer(number: int, chance: random.Random, *, longer: float = 0.0) -> AnswerSeen:
    """An answer to a prompt of its own, every trait drawn by chance, the first ones higher by `longer`."""
    traits = tuple(
        round(max(0.0, chance.gauss(1 + (longer if place < 4 else 0), 0.3)), 2)
        for place in range(len(TRAITS))
    )
    prompt = tuple(chance.randint(-9, 9) for _ in range(32))
    return AnswerSeen(f"x{number}", float(number), "r", "m", "m", "v", "", "", traits, prompt)


def test_answers_that_are_longer_than_before_are_suspected() -> None:
    """Four traits that rise are found within 300 answers, and named first."""
    chance = random.Random(1)
    test = TraitTest()
    assert not any(test.add(answer(one, chance)) for one in range(600))
    found = next(filter(None, (test.add(answer(one, chance, longer=0.9)) for one in range(600, 900))))
    assert 590 <= found.since <= found.at
    assert {one.name for one in found.moved[:4]} == {one.name for one in TRAITS[:4]}
    assert len(found.before) == len(found.after) == 4


def test_a_test_that_was_stored_goes_on_as_if_it_had_not_been() -> None:
    """What is read back gives the same evidence to the last bit, and takes about 100 kB."""
    chance = random.Random(2)
    test = TraitTest()
    for one in range(500):
        test.add(answer(one, chance))
    stored = json.dumps(test.to_json())
    other = TraitTest.from_json(json.loads(stored))
    assert len(stored) < 120_000
    for one in range(500, 700):
        seen = answer(one, chance, longer=0.2)
        assert test.add(seen) == other.add(seen)
        assert test.evidence_log10 == other.evidence_log10
    assert json.dumps(test.to_json()) == json.dumps(other.to_json())
