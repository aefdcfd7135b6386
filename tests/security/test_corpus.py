"""The corpus of the parser fuzzer: what was worth keeping is tried by every test run."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.security.parser_targets import TARGETS

CORPUS = Path(__file__).parent / "corpus"
INPUTS = sorted(CORPUS.glob("*/*"))
MUTATIONS = 10


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_corpus_breaks_no_parser(path):
    """Each input, and some that are a few bytes off, is read or refused, and every invariant holds."""
    read, data = TARGETS[path.parent.name], path.read_bytes()
    read(data)
    rng = random.Random(f"{path.parent.name}/{path.name}")
    for _ in range(MUTATIONS):
        read(mutated(data, rng))


def mutated(data, rng):
    """The data with one to four edits: a byte changed, a piece cut, doubled or put elsewhere."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((0, 1, 1, 2, 8)))
        piece = data[start:end]
        other = rng.randrange(len(data) + 1)
        data = rng.choice(
            (
                data[:start] + bytes([rng.randrange(256)]) + data[start + 1 :],
                data[:start] + data[end:],
                data[:end] + piece + data[end:],
                data[:other] + piece + data[other:],
                data[:start]
                + rng.choice((b"\r\n", b"\n", b":", b'"', b"\\u", b"\x00", b"{", b"]"))
                + data[start:],
            )
        )
    return data


def test_every_target_has_a_corpus():
    """A target without inputs would be fuzzed from nothing, and a folder without target not at all."""
    assert {path.parent.name for path in INPUTS} == set(TARGETS)
