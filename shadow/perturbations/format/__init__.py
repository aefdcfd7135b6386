"""Format perturbations: the same contents are asked for in another format.

`skeletons` finds where output instructions show a structure and has it read (`readers`) into the tree of
`schema`, which also reads `response_format` and its like; `words` puts one format's name for another's;
`forms` has the perturbations, each of which renders the tree in its own format.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.format.forms import Form, Free, Html, Json, Markdown, Xml, Yaml

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.protocol import Perturbation

FORMATS: Final[tuple[Perturbation, ...]] = (Free(), Json(), Yaml(), Xml(), Html(), Markdown())
"""Every format perturbation."""

__all__ = ["FORMATS", "Form", "Free", "Html", "Json", "Markdown", "Xml", "Yaml"]
