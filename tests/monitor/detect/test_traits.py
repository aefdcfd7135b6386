"""Traits of ordinary answers: a change is suspected, and nothing else is."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from evenkeel.core.answer_traits import TRAITS, VERSION
from evenkeel.core.sightings import AnswerSeen
from evenkeel.monitor.detect.traits import TraitTest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.monitor.detect.traits import TraitEvidence

KINDS = [tuple(random.Random(kind).choices(range(-9, 10), k=32)) for kind in range(3)]
"""What three kinds of prompts have in common."""


class Traffic:
    """Answers to prompts of three kinds, one a second; what is drawn follows from the seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.numbers = count()

    def answer(self, *, kind: int | None = None, longer: float = 0.0, version: str = "v") -> AnswerSeen:
        """Traits around those of the kind, the first four higher by `longer`."""
        number = next(self.numbers)
        kind = self.chance.randrange(3) if kind is None else kind
        around = [1.0 + 0.5 * kind + (longer if place < 4 else 0.0) for place in range(len(TRAITS))]
        traits = tuple(round(max(0.0, self.chance.gauss(one, 0.3)), 2) for one in around)
        prompt = tuple(one + self.chance.randint(-3, 3) for one in KINDS[kind])
        return AnswerSeen(f"x{number}", float(number), "r", "m", "m", version, "", "", traits, prompt)

    def answers(self, number: int, *, longer: float = 0.0) -> list[AnswerSeen]:
        """So many of them."""
        return [self.answer(longer=longer) for _ in range(number)]


def alarms(test: TraitTest, answers: Iterable[AnswerSeen]) -> list[TraitEvidence]:
    """What the test finds in them."""
    return [found for found in map(test.add, answers) if found is not None]


def test_answers_that_are_longer_than_before_are_suspected_once() -> None:
    """Four traits that rise by one and a half deviations are found within 200 answers, named and dated."""
    traffic, test = Traffic(1), TraitTest()
    assert not alarms(test, traffic.answers(600))
    [found] = alarms(test, traffic.answers(600, longer=0.45))
    assert found.at < 800
    assert 560 < found.since < 640
    assert {one.name for one in found.moved[:4]} == {one.name for one in TRAITS[:4]}
    assert len(found.before) == len(found.after) == 4
    assert all(int(one[1:]) < 600 for one in found.before)
    assert all(int(one[1:]) >= 600 for one in found.after)
    assert found.evidence_log10 >= 7
    assert test.evidence_log10 < 7


def test_nothing_is_suspected_while_only_what_is_asked_changes() -> None:
    """Kinds of prompts whose answers differ by far come in blocks, one after the other."""
    traffic, test = Traffic(3), TraitTest()
    asked = [traffic.answer(kind=number // 150 % 3) for number in range(3000)]
    assert not alarms(test, asked)


def test_a_burst_of_equal_prompts_feeds_nothing() -> None:
    """After three, a request that is repeated neither goes to the reserve nor makes a pair."""
    traffic, test = Traffic(4), TraitTest()
    alarms(test, traffic.answers(400))
    repeated = traffic.answer()
    for number in range(3):
        test.add(replace(repeated, exchange_id=f"r{number}"))
    before = test.evidence_log10, test.reserve
    assert not alarms(test, (replace(repeated, exchange_id=f"s{number}") for number in range(50)))
    assert (test.evidence_log10, test.reserve) == before


def test_answers_of_another_prompt_version_are_not_compared() -> None:
    """Another prompt, with other answers, is no other model."""
    traffic, test = Traffic(5), TraitTest()
    alarms(test, traffic.answers(600))
    later = [traffic.answer(longer=0.9, version="w") for _ in range(600)]
    assert not alarms(test, later)


def test_more_groups_than_there_is_room_for_make_room() -> None:
    """Of forty prompt versions the last 32 are remembered; the first one's answers leave the reserve."""
    traffic, test = Traffic(6), TraitTest()
    for version in range(40):
        for _ in range(4):
            test.add(traffic.answer(version=f"v{version}"))
    assert test.reserve <= 32 * 4
    assert len(test.to_json()["groups"]) == 32


@pytest.mark.parametrize(
    "change",
    [
        {"traits_version": VERSION + 1},
        {"traits": (1.0,)},
        {"prompt": (1,)},
        {"prompt": (1000,) * 32},
    ],
)
def test_what_cannot_be_compared_is_passed_over(change) -> None:
    """A note of another version, or of another length, changes nothing."""
    test = TraitTest()
    assert test.add(replace(Traffic(7).answer(), **change)) is None
    assert test.reserve == 0


def test_what_is_forgotten_is_not_compared_with() -> None:
    """After a change that was stated, answers of before are gone."""
    traffic, test = Traffic(9), TraitTest()
    alarms(test, traffic.answers(600))
    test.forget()
    assert (test.reserve, test.evidence_log10) == (0, 0)
    assert not alarms(test, traffic.answers(600, longer=0.9))


def test_a_state_of_another_version_of_the_traits_is_forgotten() -> None:
    """Vectors of two versions cannot be compared."""
    traffic, test = Traffic(10), TraitTest()
    alarms(test, traffic.answers(100))
    assert TraitTest.from_json({**test.to_json(), "version": VERSION + 1}).reserve == 0
