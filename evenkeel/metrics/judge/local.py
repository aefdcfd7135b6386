"""Judge without a network: an entailment model that compares two answers sentence by sentence.

Needs the extra `semantic`. It knows prose alone: of code, data, tables and tool calls it says nothing.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import threading
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from evenkeel.metrics.judge.rendering import render
from evenkeel.metrics.protocol import Rating

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.pair import Pair

# Probability from which a sentence counts as following from another text.
_ENTAILED: Final = 0.5
# Share of a side's sentences without support on the other side from which the message is another one.
_ANOTHER_MESSAGE: Final = 0.5
# Sentences of a side that are compared at most: each is compared with each of the other side.
_MOST_SENTENCES: Final = 60
# CJK full stops end a sentence without a space behind them.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=\S)|(?<=[\u3002\uff01\uff1f])")
_BULLET: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
# Code, data, tables and markup.
_NO_PROSE: Final = re.compile(r"```|^\s*[{\[<|]|^\s*\S+\(.*\)\s*$|^ {4}\S|\t", re.MULTILINE)


class LocalJudgeUnavailableError(RuntimeError):
    """Failure to load the model. The message says what is missing and what to do."""


class CrossEncoderModel:
    """Cross-encoder of sentence-transformers on the CPU, one caller at a time."""

    def __init__(self, name: str) -> None:
        """Load a model by its name or folder; takes seconds.

        Raises: LocalJudgeUnavailableError if the extra is missing, the model cannot be loaded, or its labels
            do not say which one is entailment.
        """
        local = Path(name).is_dir()
        if local:
            # Even a local model makes the hub library ask for updates otherwise.
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        os.environ.setdefault("TQDM_DISABLE", "1")
        try:
            library: Any = importlib.import_module("sentence_transformers")
        except ImportError as error:
            needed = 'judge.local needs: pip install "evenkeel-proxy[semantic]"'
            raise LocalJudgeUnavailableError(needed) from error
        try:
            self._model: Any = library.CrossEncoder(name, device="cpu", local_files_only=local)
        except Exception as error:
            raise LocalJudgeUnavailableError(
                f"the entailment model {name!r} cannot be loaded: {error}"
            ) from error
        self._label = entailment_label(self._model.config.id2label)
        self._lock = threading.Lock()

    def entailment(self, pairs: Sequence[tuple[str, str]]) -> list[float] | None:
        """Return the probability that the second text follows from the first, for each pair.

        None if a pair is longer than the model reads: nothing is cut silently.
        """
        with self._lock:
            tokens = self._model.tokenizer([pair[0] for pair in pairs], [pair[1] for pair in pairs])
            if max(map(len, tokens["input_ids"])) > self._model.max_seq_length:
                return None
            scores = self._model.predict(list(pairs), apply_softmax=True, show_progress_bar=False)
        return [float(row[self._label]) for row in scores]


def entailment_label(labels: Mapping[int, str]) -> int:
    """Return the place of "entailment" among a model's labels, which every model orders in its own way.

    Raises: LocalJudgeUnavailableError if none or several may be meant.
    """
    indices = []
    for index, label in labels.items():
        if label.lower() in {"entailment", "entail"}:
            indices.append(int(index))
    if len(indices) != 1:
        named = ", ".join(labels.values())
        raise LocalJudgeUnavailableError(
            f"the model's labels are {named}; an entailment model has one named entailment"
        )
    return indices[0]


class LocalJudge:
    """Rater that holds the sentences of each answer against those of the other one.

    A sentence has support if it follows from a sentence of the other answer, or from two neighbouring ones.
    All have it on both sides, in the same order: 3. Half of a side's have none: 1. Else: 2. What is in
    another order, no prose, too long, or more than 60 sentences is unsure, as without a judge.
    """

    name = "local_judge"
    version = 1

    def __init__(self, model: CrossEncoderModel) -> None:
        """Rate by a model that is loaded."""
        self._model = model

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the ratings in order, computed in a thread; each costs nothing."""
        return await asyncio.to_thread(lambda: [self.rate_now(pair) for pair in pairs])

    def rate_now(self, pair: Pair) -> Rating:
        """Return the rating of one pair, computed in this thread."""
        sides = []
        for answer in (pair.reference, pair.candidate):
            sides.append(sentences(render(answer)))
        has_calls = pair.reference.tool_calls or pair.candidate.tool_calls
        if has_calls or any(not side or len(side) > _MOST_SENTENCES for side in sides):
            return _unsure("Code, data, tables, tool calls and very long answers need another judge.")
        forward, backward = self._support(*sides), self._support(*reversed(sides))
        if forward is None or backward is None:
            return _unsure("A sentence is longer than the model reads.")
        missing = _without_support(sides[1], forward), _without_support(sides[0], backward)
        shares = [len(missing[0]) / len(sides[1]), len(missing[1]) / len(sides[0])]
        if not any(shares):
            if forward != sorted(forward, key=lambda place: place or 0):
                return _unsure("The same sentences in another order: the order of steps may be content.")
            return self._rating(3, "Every sentence of each answer follows from the other one.")
        first = (missing[0] or missing[1])[0]
        side = "candidate" if missing[0] else "reference"
        why = f"Of the {side}, this does not follow from the other answer: {first}"
        return self._rating(1 if max(shares) >= _ANOTHER_MESSAGE else 2, why)

    def _support(self, given: list[str], claimed: list[str]) -> list[int | None] | None:
        """Return the place of the given sentence that each claimed one follows from, None for none.

        None in place of all if the model cannot read one of them.
        """
        premises = given + [f"{sentence} {following}" for sentence, following in pairwise(given)]
        likely = self._model.entailment([(premise, claim) for claim, premise in product(claimed, premises)])
        if likely is None:
            return None
        supports: list[int | None] = []
        for number, sentence in enumerate(claimed):
            own = likely[number * len(premises) : (number + 1) * len(premises)]
            best = given.index(sentence) if sentence in given else max(range(len(own)), key=own.__getitem__)
            supported = sentence in given or own[best] >= _ENTAILED
            supports.append(best % len(given) if supported else None)
        return supports

    def _rating(self, rating: int, why: str) -> Rating:
        return Rating(rating, why, prompt_version=f"{self.name}@{self.version}")


def _without_support(claimed: list[str], supports: list[int | None]) -> list[str]:
    return [sentence for sentence, support in zip(claimed, supports, strict=True) if support is None]


def _unsure(why: str) -> Rating:
    return Rating(None, why)


def sentences(text: str) -> list[str]:
    """Return the sentences and list items of a text; none of one that is not prose alone."""
    if _NO_PROSE.search(text):
        return []
    pieces: list[str] = []
    for line in text.split("\n"):
        for piece in _SENTENCE_END.split(_BULLET.sub("", line)):
            if piece.strip():
                pieces.append(piece.strip())
    return pieces
