"""Names of several rewordings at once: "together.3_general" is three of the category `general`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from evenkeel.core.rewordings import Category, Rewording, publish

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_T = TypeVar("_T")
# Count and category; then the number of the group among those of its category.
_NAMED: Final = re.compile(r"([0-9]+_.+?)(?:_([0-9]))?$")


# Names for people of the groups of a category, by their number: letters, since the number before them already
# counts rewordings.
_SETS: Final = "0ABCDEFGHI"


def _kind(name: str) -> str:
    match = _NAMED.fullmatch(name)
    if match is None:
        return name.replace("_", " ")
    several, part = match.groups()
    words = several.replace("_", " ")
    return f"set {_SETS[int(part)]} of {words}" if part else words


TOGETHER: Final = Category(
    "together",
    "Several rewordings in one replay, to save calls. Where the answer changes, each is tried by itself.",
    order=70,
    phrase="{kind} rewordings together",
    kind=_kind,
    graded=True,
)


# Largest number of digits in a count. Names come from the log, so they may hold anything.
_DIGITS: Final = 2


def together_name(category: str, count: int, part: str = "") -> str:
    """Return the name of a group of rewordings.

    Args:
        category: Category of all of them.
        count: Number of rewordings, two or more.
        part: Distinguishes groups of one category.
    """
    name = f"{TOGETHER.name}.{count}_{category}"
    return f"{name}_{part}" if part else name


def together_count(perturbation: str) -> int:
    """Return the number of rewordings in a perturbation; 1 unless it is a group."""
    group, _, kinds = perturbation.partition(".")
    count = kinds.partition("_")[0]
    is_group = group == TOGETHER.name and count.isdecimal() and len(count) <= _DIGITS
    return max(1, int(count)) if is_group else 1


def by_themselves(items: Iterable[_T], perturbation: Callable[[_T], str]) -> list[_T]:
    """Return the items about single rewordings; the items about groups if there are no others.

    A group shifts if any of its rewordings does, so it adds nothing to results of single rewordings.

    Args:
        items: Items to choose from.
        perturbation: Returns the perturbation of an item.
    """
    everything = list(items)
    singles = []
    for item in everything:
        if together_count(perturbation(item)) == 1:
            singles.append(item)
    return singles or everything


publish([(TOGETHER.name, Rewording(TOGETHER))])
