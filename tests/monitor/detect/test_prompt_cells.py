"""Cells of like prompts: which prompts are compared, and which are repeats."""

from __future__ import annotations

import json
import random

import pytest

from evenkeel.monitor.detect.prompt_cells import PromptCells, Sketch

KINDS = [tuple(random.Random(kind).choices(range(-9, 10), k=32)) for kind in range(4)]


def prompt(kind: int, chance: random.Random) -> Sketch:
    """A prompt of a kind."""
    found = Sketch.of(tuple(one + chance.randint(-3, 3) for one in KINDS[kind]))
    assert found is not None
    return found


def learnt(prompts: int = 300, kinds: int = 3) -> tuple[PromptCells, random.Random]:
    """Cells of so many prompts of the first kinds."""
    chance = random.Random(1)
    cells = PromptCells()
    for number in range(prompts):
        cells.is_repeat(prompt(number % kinds, chance), 0)
    return cells, chance


def test_two_kinds_of_prompts_share_no_cell() -> None:
    """A kind may have several cells, but none with another kind."""
    cells, chance = learnt()
    of = [{cells.cell(prompt(kind, chance)) for _ in range(50)} for kind in range(3)]
    assert not of[0] & of[1]
    assert not of[0] & of[2]
    assert not of[1] & of[2]


def test_a_kind_that_was_never_seen_is_odd_until_it_is_seen_often() -> None:
    """It is not taken for the kind it is least unlike; with time it has a cell of its own."""
    cells, chance = learnt()
    strange = prompt(3, chance)
    assert cells.is_odd(strange, cells.cell(strange))
    for _ in range(600):
        cells.is_repeat(prompt(3, chance), 0)
    often = [prompt(3, chance) for _ in range(100)]
    assert sum(cells.is_odd(one, cells.cell(one)) for one in often) < 30


def test_the_fourth_equal_prompt_is_a_repeat_in_its_group_until_others_came() -> None:
    """Three are admitted among the last two hundred; another group has its own three."""
    cells, chance = learnt()
    one = prompt(0, chance)
    assert [cells.is_repeat(one, 0) for _ in range(5)] == [False, False, False, True, True]
    assert not cells.is_repeat(one, 1)
    for number in range(200):
        cells.is_repeat(prompt(number % 3, chance), 0)
    assert not cells.is_repeat(one, 0)


def test_cells_that_were_stored_are_the_same() -> None:
    """Every answer is the same after reading."""
    cells, chance = learnt()
    other = PromptCells()
    other.read(json.loads(json.dumps(cells.to_json())))
    for number in range(300):
        one = prompt(number % 4, chance)
        assert cells.is_repeat(one, 0) == other.is_repeat(one, 0)
        cell = cells.cell(one)
        assert cell == other.cell(one)
        assert cells.is_odd(one, cell) == other.is_odd(one, cell)
        assert cells.share(0, cell) == other.share(0, cell)


@pytest.mark.parametrize("numbers", [(), (1,) * 31, (1,) * 33, (128,) * 32, (-128,) * 32])
def test_other_numbers_are_no_sketch(numbers) -> None:
    """There are 32 of them, each in [-127, 127]."""
    assert Sketch.of(numbers) is None
