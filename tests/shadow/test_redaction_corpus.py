"""Redaction on a corpus of its own: what is found, what is left alone, and how it scales."""

import re

import pytest

from evenkeel.shadow.protection import BUILTIN
from evenkeel.shadow.protection.redaction import redact_json
from tests.kit.redaction_corpus import corpus, is_replaced

SAMPLES = corpus()


@pytest.mark.parametrize("kind", sorted({sample.kind for sample in SAMPLES}))
def test_values_are_found_and_near_misses_left_alone(kind):
    """Every kind at 98 % recall and 95 % precision at least; docs/protection.md has the figures."""
    of_kind = [sample for sample in SAMPLES if sample.kind == kind]
    found = [is_replaced(sample) for sample in of_kind if sample.value is not None]
    mistaken = [is_replaced(sample) for sample in of_kind if sample.value is None]
    assert sum(found) / len(found) >= 0.98
    assert sum(found) / (sum(found) + sum(mistaken)) >= 0.95


@pytest.mark.parametrize("sample", SAMPLES[:10], ids=lambda sample: sample.kind)
def test_texts_written_by_hand_are_told_apart(sample):
    """Fields of tables, groups with a code behind them, credentials in addresses, and near misses."""
    assert is_replaced(sample) == (sample.value is not None)


@pytest.mark.parametrize("name", ["type", "status", "model", "role"])
def test_a_key_is_taken_out_of_any_member(name):
    """A value that looks like a key is no word of the API, wherever it stands."""
    body = '{"%s": "sk-proj-%s"}' % (name, "a1" * 20)  # noqa: UP031 - braces
    assert redact_json(body, lambda _: "[API_KEY_1]") == '{"%s": "[API_KEY_1]"}' % name  # noqa: UP031 - braces


HOSTILE = ("4", "4 ", "+4", "a:", "://a:", "basic ", "DE11", "a@", "1.", "0-", "eyJ", "sk-", "bearer a")


@pytest.mark.parametrize("pattern", BUILTIN, ids=lambda pattern: pattern.kind)
def test_no_repetition_of_a_pattern_is_unbounded(pattern):
    """Each `*` or `+` could read a text in time that grows with its square; only bounds may stand there."""
    bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern.look.pattern)
    assert not re.search(r"[x)][*+]", bare)
    for unit in HOSTILE:
        assert all(span.start < span.end for span in pattern.find(unit * 2_000))
