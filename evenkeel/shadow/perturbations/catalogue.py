"""Catalogue of all perturbations, and their names in settings."""

from __future__ import annotations

import difflib
import fnmatch
import logging
import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.extensions import ExtensionError, extensions
from evenkeel.core.rewordings import Rewording, publish
from evenkeel.shadow.perturbations.casing import Casing
from evenkeel.shadow.perturbations.compound import COMPOUNDS
from evenkeel.shadow.perturbations.contrast import CONTRASTS
from evenkeel.shadow.perturbations.control import IdenticalResend
from evenkeel.shadow.perturbations.format import FORMATS
from evenkeel.shadow.perturbations.paraphrase import Paraphrase
from evenkeel.shadow.perturbations.positional.moves import LISTED, POSITIONAL
from evenkeel.shadow.perturbations.punctuation import Punctuation
from evenkeel.shadow.perturbations.spelling import Spelling
from evenkeel.shadow.perturbations.tone import Tone
from evenkeel.shadow.perturbations.tools import TOOLS
from evenkeel.shadow.perturbations.translation import CROSSLINGUAL, MULTILINGUAL, Multilingual, pairs
from evenkeel.shadow.perturbations.whitespace import Whitespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.core.extensions import Extension
    from evenkeel.shadow.perturbations.protocol import Perturbation


log = logging.getLogger("evenkeel")

BUILTIN: Final[tuple[Perturbation, ...]] = (
    IdenticalResend(),
    Whitespace(),
    Punctuation(),
    Casing(),
    Spelling(),
    Tone(),
    Paraphrase(),
    *POSITIONAL,
    *FORMATS,
    *TOOLS,
    *MULTILINGUAL,
    *CROSSLINGUAL,
    *COMPOUNDS,
)
"""Built-in rewordings that need no settings; the control first. `CONTRASTS` are apart: they move answers."""

ENTRY_POINTS: Final = "evenkeel.perturbations"
"""Entry-point group in which other packages offer perturbations, one or a list per entry point."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*\.[A-Za-z0-9][\w>-]*")


def catalogue(
    *,
    languages: Sequence[str] = (),
    rewriter: bool = False,
) -> tuple[Perturbation, ...]:
    """Every perturbation there is, by category; the control first. Publishes their words for people.

    Those of other packages are included. A broken package is left out, and so is a perturbation whose
    name is taken; both are logged as errors.

    Args:
        languages: Further languages, as BCP 47 tags: each gets its multilingual kind, and crosslingual ones
            with every other language.
        rewriter: Whether perturbations that work by rule or by a model are to use the model.

    Raises: ValueError if a language is no tag.
    """
    by_names = {}
    for perturbation in (*BUILTIN, *CONTRASTS):
        by_names[perturbation.name] = perturbation
    if rewriter:
        by_rewriter: tuple[Perturbation, ...] = (Tone(by="rewriter"), *LISTED)
        by_names |= {kind.name: kind for kind in by_rewriter}
    more: list[Perturbation] = [*map(Multilingual, languages), *(pairs(languages) if languages else ())]
    for kind in more:
        by_names.setdefault(kind.name, kind)
    for extension in extensions(ENTRY_POINTS):
        for offered in _offered(extension):
            if offered.name in by_names:
                log.error("%s offers %s, a name that is taken: it is left out", extension, offered.name)
            else:
                by_names[offered.name] = offered
    ordered = sorted(by_names.values(), key=lambda kind: kind.rewording.category.order)
    publish((kind.name, kind.rewording) for kind in ordered)
    return tuple(ordered)


def _offered(extension: Extension) -> tuple[Perturbation, ...]:
    """Return the perturbations of an entry point. A broken one gives none, and an error in the log."""
    try:
        loaded = extension.load()
        offered = (loaded,) if hasattr(loaded, "apply") else tuple(loaded)
        for kind in offered:
            _check(kind)
    except ExtensionError as error:
        log.error("perturbations are missing: %s", error)  # noqa: TRY400 - the message names the package
        return ()
    except (AttributeError, TypeError, ValueError) as error:
        log.error("perturbations are missing: %s: %s", extension, error)  # noqa: TRY400 - as above
        return ()
    return offered


def _check(offered: Perturbation) -> None:
    """Raises: AttributeError, TypeError or ValueError if this is no perturbation."""
    if not _NAME.fullmatch(offered.name):
        raise ValueError(f"{offered.name!r} is no name of the form category.kind")
    if not isinstance(offered.rewording, Rewording):
        raise TypeError(f"{offered.name}.rewording is no Rewording")
    if isinstance(offered, type) or not callable(offered.apply):
        raise TypeError(f"{offered.name} is a class; offer an instance of it")
    for member in ("version", "graded", "requires", "wanted"):
        getattr(offered, member)


def by_name(
    patterns: Iterable[str], available: Iterable[Perturbation] | None = None
) -> tuple[Perturbation, ...]:
    """Return the perturbations of the given names, in that order, without duplicates.

    Args:
        patterns: Names ("general.spelling"), categories ("format") or patterns ("crosslingual.*_to_en").
        available: What there is to choose from; `BUILTIN` if not given.

    Raises: ValueError for one that names nothing, with names near to it.
    """
    names = {}
    for perturbation in BUILTIN if available is None else available:
        names[perturbation.name] = perturbation
    chosen: dict[str, Perturbation] = {}
    for pattern in patterns:
        wanted = pattern if "." in pattern or "*" in pattern else f"{pattern}.*"
        is_known = False
        for name, perturbation in names.items():
            if fnmatch.fnmatchcase(name, wanted):
                chosen[name] = perturbation
                is_known = True
        if not is_known:
            raise ValueError(f"unknown perturbation {pattern!r}: {_hint(pattern, names)}")
    return tuple(chosen.values())


def _hint(name: str, available: Iterable[str]) -> str:
    full: dict[str, str] = {}
    categories: dict[str, str] = {}
    for offered in available:
        category, _, short = offered.partition(".")
        categories[category] = category
        full |= {offered: offered, short: offered}
    # A category comes before a perturbation of the same name.
    full |= categories
    near = dict.fromkeys(full[form] for form in difflib.get_close_matches(name.lower(), full, n=3))
    if near:
        return f"did you mean {' or '.join(near)}?"
    return (
        f"known are the categories {', '.join(categories)} and their perturbations, such as general.spelling"
    )


publish((perturbation.name, perturbation.rewording) for perturbation in (*BUILTIN, *CONTRASTS))
