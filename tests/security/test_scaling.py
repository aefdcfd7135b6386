"""Twice the text takes at most two and a half times the work, whatever the text: nothing is quadratic."""

import gc

import pytest

from tests.kit.hostile import EVERYWHERE, SHAPES, grown_too_fast, subjects

SUBJECTS = {subject.name: subject for subject in subjects()}
OF_FURTHER_PAIRS = ("distinct words", "names", "tables", "ideographs")
LARGEST = 2_000


@pytest.fixture(scope="module", autouse=True)
def no_collections():
    """The garbage collector would count what other tests have left as work."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", SUBJECTS)
def test_work_grows_in_proportion_to_the_text(name):
    """Every reader, perturbation, metric and pattern takes at most 2.5 times as long for twice the text."""
    subject = SUBJECTS[name]
    # Other pairs of answers for the same metric.
    shapes = OF_FURTHER_PAIRS if ", " in name else EVERYWHERE
    slow = {shape: grown_too_fast(subject, shape, LARGEST) for shape in subject.shapes(shapes)}
    assert not any(slow.values()), slow


SLOW_ONCE = {
    "gate of a paraphrase": ("blanks and line ends", "addends", "fence and blank lines", "assent and blanks"),
    "gate of a translation": ("digit and a long word", "months"),
    "protected spans": ("comments", "nested fences", "opening quotes", "calls", "statements", "quoted lines"),
    "structure": ("comments", "unclosed tags"),
    "placeholders": ("addresses", "key headers", "tokens"),
    "pattern 5 (email)": ("addresses",),
    "replay": ("bare code fences",),
    "rouge_l, unlike": ("ideographs", "digits and separators"),
    "credentials in a query": ("names of keys", "bearer"),
}
RUNS = tuple(shape for shape in SHAPES if shape.startswith("runs of"))
"""Fences, tags, brackets, labels and line ends, each run of another length than the one before."""
for kind in ("general.punctuation", "general.tone", "format.free", "format.xml", "positional.mixed"):
    SLOW_ONCE[kind] = RUNS


@pytest.mark.parametrize("name", SLOW_ONCE)
def test_what_was_slow_once_stays_proportional(name):
    """Texts that took time in the square of their length no longer do."""
    slow = {shape: grown_too_fast(SUBJECTS[name], shape, 16 * LARGEST) for shape in SLOW_ONCE[name]}
    assert not any(slow.values()), slow
