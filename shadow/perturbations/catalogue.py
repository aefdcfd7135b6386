"""Every perturbation there is, and how settings name them."""

from __future__ import annotations

import difflib
import fnmatch
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import BUILTIN_TAGS, canonical_tag
from evenkeel.shadow.perturbations.casing import Casing
from evenkeel.shadow.perturbations.compound import Compound, builtin_compounds
from evenkeel.shadow.perturbations.control import Identical
from evenkeel.shadow.perturbations.crosslingual import crosslingual_pairs
from evenkeel.shadow.perturbations.format import FORMATS
from evenkeel.shadow.perturbations.multilingual import Multilingual
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.positional import POSITIONAL
from evenkeel.shadow.perturbations.punctuation import Punctuation
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.perturbations.whitespace import Whitespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.shadow.perturbations.protocol import Perturbation


def catalogue(
    *,
    languages: Sequence[str] = (),
    compounds: Mapping[str, Sequence[str]] | None = None,
    rewriter: bool = False,
) -> tuple[Perturbation, ...]:
    """Every perturbation there is; the baseline first.

    Args:
        languages: Further target languages, as BCP 47 tags.
        compounds: Further compound kinds: name → the kinds they apply, one after another.
        rewriter: Whether kinds that work by rule or by a model are to use the model.

    Raises: ValueError if a language is no tag, or a compound names an unknown kind, or kinds that
        exclude each other.
    """
    tags = tuple(dict.fromkeys((*BUILTIN_TAGS, *map(canonical_tag, languages))))
    simple: tuple[Perturbation, ...] = (
        Identical(),
        Whitespace(),
        Punctuation(),
        Casing(),
        Spelling(),
        Tone(by="rewriter" if rewriter else "rule"),
        Paraphrase(),
        *POSITIONAL,
        *FORMATS,
        *(Multilingual(tag) for tag in tags),
        *crosslingual_pairs(),
    )
    known: dict[str, Perturbation] = {one.name: one for one in (*simple, *builtin_compounds())}
    for name, parts in (compounds or {}).items():
        compound = Compound(name, by_name(parts, simple))
        if compound.name in known:
            raise ValueError(f"compound {name!r} exists already; choose another name")
        known[compound.name] = compound
    return tuple(known.values())


def by_name(patterns: Iterable[str], known: Iterable[Perturbation] | None = None) -> tuple[Perturbation, ...]:
    """The perturbations of the given names, in that order, each once.

    Args:
        patterns: Names ("general.spelling"), categories ("format") or patterns ("crosslingual.*_to_en").
        known: What there is to choose from; `BUILTIN` if not given.

    Raises: ValueError for one that names nothing, with names near to it.
    """
    names = {perturbation.name: perturbation for perturbation in (BUILTIN if known is None else known)}
    chosen: dict[str, Perturbation] = {}
    for pattern in patterns:
        wanted = pattern if "." in pattern or "*" in pattern else f"{pattern}.*"
        found = [name for name in names if fnmatch.fnmatchcase(name, wanted)]
        if not found:
            raise ValueError(f"unknown perturbation {pattern!r}: {_hint(pattern, names)}")
        chosen.update((name, names[name]) for name in found)
    return tuple(chosen.values())


def _hint(name: str, known: Iterable[str]) -> str:
    names = tuple(known)
    categories = dict.fromkeys(one.partition(".")[0] for one in names)
    full = {form: one for one in names for form in (one, one.partition(".")[2])}
    full |= {category: category for category in categories}
    near = dict.fromkeys(full[form] for form in difflib.get_close_matches(name.lower(), full, n=3))
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are the categories {', '.join(categories)} and their kinds, such as general.spelling"


BUILTIN: Final[tuple[Perturbation, ...]] = catalogue()
"""Every perturbation there is without any settings."""
