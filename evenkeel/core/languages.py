"""Languages: identification, tags and names, and requests for an answer in a language.

The model that identifies 97 languages, of the py3langid package, is loaded on first use. Loading takes about
half a second, a text 0.1 ms per thousand characters. Names and requests are in `languages.toml`.
"""

from __future__ import annotations

import re
import threading
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from py3langid.langid import LanguageIdentifier

LanguageOf: TypeAlias = "Callable[[str], str | None]"
"""Function that returns the base tag ("de", never "de-AT") of a text's language; None if it is uncertain."""

# Lowest confidence that is accepted. Below it, the language of short or mixed texts would be a guess.
_LEAST_CONFIDENCE: Final = 0.5
# Number of characters read. Later ones rarely change the answer and cost time.
_READ_CHARACTERS: Final = 2000

# Corrections of the model: it takes short Chinese texts for Wu Chinese, which is rarely written.
_READ_AS: Final = {"wuu": "zh"}

_loading: Final = threading.Lock()


def language_of(text: str) -> str | None:
    """Return the base tag ("de", never "de-AT") of the main language of a text; None if unknown.

    Only the first 2,000 characters are read, so let the text begin with prose. For a handful of words the
    result is mostly None. The same text gets the same result in every thread and process.
    """
    return _language_of(text[:_READ_CHARACTERS])


def load_languages() -> None:
    """Load the model now, in half a second of CPU time, so that it blocks nothing later."""
    language_of("The languages are loaded before the first text is read.")


# Groups of languages so similar that short texts do not tell them apart.
_ALIKE: Final = (
    frozenset({"en", "pcm"}),
    frozenset({"de", "lb"}),
    frozenset({"nl", "af"}),
    frozenset({"pt", "gl"}),
    frozenset({"es", "an", "ext", "gl"}),
    frozenset({"it", "vec", "lij"}),
    frozenset({"no", "nn", "da"}),
    frozenset({"hr", "bs", "sr"}),
    frozenset({"id", "ms"}),
    frozenset({"zh", "yue"}),
)


def identifiable() -> frozenset[str]:
    """Return the tags that `language_of` can give."""
    return frozenset(map(str, _identifier().labels)) - _READ_AS.keys()


def told_apart(language: str, other: str) -> bool:
    """Return whether a text identified as one language is certainly not in the other.

    Args:
        language: Base tag that `language_of` gave.
        other: Base tag of any language; one that cannot be identified is told from none.
    """
    if language == other or any({language, other} <= group for group in _ALIKE):
        return False
    return other in identifiable()


@lru_cache(maxsize=256)  # several perturbations ask about the same text
def _language_of(text: str) -> str | None:
    if not any(map(str.isalpha, text)):
        return None
    language, confidence = _identifier().classify(text)
    return _READ_AS.get(language, str(language)) if confidence >= _LEAST_CONFIDENCE else None


def _identifier() -> LanguageIdentifier:
    # Only loading the model needs the lock: classifying changes no state.
    with _loading:
        return _read_model()


@cache
def _read_model() -> LanguageIdentifier:
    # Imported on demand: most callers need a language's name and identify no text.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


BUILTIN_TAGS: Final = ("es", "fr", "fr-CA", "de", "nl", "it", "ja", "pt-BR")
"""Target languages that need no configuration."""

_TABLES: Final = tomllib.loads(files(__package__).joinpath("languages.toml").read_text("utf-8"))
_ENGLISH_NAMES: Final[dict[str, str]] = _TABLES["names"]
_REQUESTS: Final[dict[str, str]] = _TABLES["requests"]

_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*")


def canonical_tag(tag: str) -> str:
    """Return the tag in its usual casing: "PT-br" → "pt-BR", "zh-hant" → "zh-Hant".

    Raises: ValueError if it is not shaped like a BCP 47 tag of a language.
    """
    if not _TAG.fullmatch(tag):
        raise ValueError(f"{tag!r} is not a language tag such as 'fr' or 'pt-BR' (BCP 47)")
    first, *others = tag.split("-")
    casing = {2: str.upper, 4: str.title}
    return "-".join((first.lower(), *(casing.get(len(tag), str.lower)(tag) for tag in others)))


# Tags that people use for languages to which the model gives another one.
_ALSO_CALLED: Final = {"nb": "no", "fil": "tl", "iw": "he", "in": "id", "cmn": "zh"}


def base_tag(tag: str) -> str:
    """Return the language without region or script: "fr-CA" and "fr_CA" → "fr", "nb-NO" → "no"."""
    base = tag.replace("_", "-").partition("-")[0].lower()
    return _ALSO_CALLED.get(base, base)


def english_name(tag: str) -> str:
    """Return the language's name in English; for a language without an entry, a phrase with its tag."""
    name = _ENGLISH_NAMES.get(tag)
    if name:
        return name
    base = _ENGLISH_NAMES.get(base_tag(tag))
    return f"{base} (language tag {tag})" if base else f"the language with the BCP 47 tag {tag}"


def english_request(tag: str) -> str:
    """Return an English sentence that asks for an answer in the language."""
    return f"Write the whole answer in {english_name(tag)}."


def native_request(tag: str) -> str:
    """Return the request in the language itself for the builtin tags, else in English."""
    return _REQUESTS.get(tag) or english_request(tag)
