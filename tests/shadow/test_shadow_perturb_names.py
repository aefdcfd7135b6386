"""Names of perturbations, and the seeds of trials."""

from __future__ import annotations

import re

import pytest

from evenkeel.shadow.perturbations import BUILTIN, by_name, seed_for


def test_names_are_found_and_near_ones_suggested() -> None:
    """Unknown names are refused with the name that was probably meant."""
    assert [one.name for one in by_name(["general.casing", "baseline.identical"])] == [
        "general.casing",
        "baseline.identical",
    ]
    with pytest.raises(ValueError, match=r"'general.speling'.*general\.spelling"):
        by_name(["general.speling"])
    with pytest.raises(ValueError, match=r"did you mean general\.whitespace\?"):
        by_name(["whitespace"])
    with pytest.raises(ValueError, match=r"known are .*general"):
        by_name(["zzz"])


def test_a_category_is_named_before_its_kinds():
    """A slip in the name of a category is most likely that."""
    with pytest.raises(ValueError, match=r"'genral': did you mean general or "):
        by_name(["genral"])


def test_builtin_names_are_unique_and_well_formed() -> None:
    """Names are `category.kind` and versions count from 1."""
    names = [one.name for one in BUILTIN]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z]+\.[A-Za-z0-9_>\-]+", name) for name in names)
    assert all(one.version >= 1 for one in BUILTIN)


def test_seeds_are_fixed_and_depend_on_every_part() -> None:
    """A seed is the same everywhere (written down here) and another for any other trial."""
    first = seed_for("00f1", "general.casing", 0.3, 1)
    assert first == seed_for("00f1", "general.casing", 0.30000000001, 1)
    others = {
        seed_for("00f2", "general.casing", 0.3, 1),
        seed_for("00f1", "general.spelling", 0.3, 1),
        seed_for("00f1", "general.casing", 0.5, 1),
        seed_for("00f1", "general.casing", 0.3, 2),
    }
    assert len(others | {first}) == 5
    assert all(0 <= seed < 2**53 for seed in others | {first})
    assert first == 2_227_256_918_980_195
