"""Which language a text is written in.

The model (97 languages, in the py3langid package) is read once, at the first question; reading it
takes about half a second, an answer 0.1 ms per thousand characters.
"""

from __future__ import annotations

import threading
from functools import cache, lru_cache
from typing import Final

from py3langid.langid import MODEL_FILE, LanguageIdentifier

_LEAST_CONFIDENCE: Final = 0.5
"""Below it short or mixed texts are guessed at: the answer is "unknown" then."""
_READ_CHARACTERS: Final = 2000
"""What stands behind them hardly ever changes the answer, and it costs time."""

_loading: Final = threading.Lock()


def language_of(text: str) -> str | None:
    """The base tag ("de", never "de-AT") of the language most of a text is in; None if unknown.

    Only the first 2,000 characters are read, so let the text begin with prose. A handful of words is
    mostly unknown. The same text gets the same answer in every thread and process.
    """
    return _language_of(text[:_READ_CHARACTERS])


def identifiable() -> frozenset[str]:
    """The tags that `language_of` can give."""
    return frozenset(map(str, _identifier().labels))


@lru_cache(maxsize=256)  # several kinds ask about the same text
def _language_of(text: str) -> str | None:
    if not any(map(str.isalpha, text)):
        return None
    language, confidence = _identifier().classify(text)
    return str(language) if confidence >= _LEAST_CONFIDENCE else None


def _identifier() -> LanguageIdentifier:
    # Only reading the model is guarded: classifying changes nothing.
    with _loading:
        return _read_model()


@cache
def _read_model() -> LanguageIdentifier:
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
