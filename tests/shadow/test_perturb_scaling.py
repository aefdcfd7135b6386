"""Runs of marks, each of another length than the one before, are read in proportion to their length."""

from __future__ import annotations

import pytest

from tests.kit.hostile import SHAPES, grown_too_fast, subjects

KINDS = ("general.punctuation", "general.tone", "format.free", "format.xml", "positional.mixed")
SUBJECTS = [subject for subject in subjects() if subject.name in KINDS]
LARGEST = 8_000


@pytest.mark.parametrize("shape", [name for name in SHAPES if name.startswith("runs of")])
def test_every_reader_is_linear_in_runs_of_marks(shape):
    """Twice as many fences, tags, brackets, labels or line ends take at most 2.5 times the work."""
    slow = {subject.name: grown_too_fast(subject, shape, LARGEST) for subject in SUBJECTS}
    assert len(slow) == len(KINDS)
    assert not any(slow.values()), slow
