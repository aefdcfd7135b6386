"""Format perturbations: the same contents are asked for in another format.

`skeletons` finds where output instructions show a structure and has it read (`read_…`, one module
for each format) into the tree of `schema`; each kind renders that tree in its own format; `words` puts
one format's name for another's; `constraints` lifts `response_format` and its like; `form` puts all of it
together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations.format.form import Form
from evenkeel.shadow.perturbations.format.free_form import Free
from evenkeel.shadow.perturbations.format.html_form import Html
from evenkeel.shadow.perturbations.format.json_form import Json
from evenkeel.shadow.perturbations.format.markdown_form import Markdown
from evenkeel.shadow.perturbations.format.xml_form import Xml
from evenkeel.shadow.perturbations.format.yaml_form import Yaml

if TYPE_CHECKING:
    from evenkeel.shadow.perturbations.protocol import Perturbation

FORMATS: Final[tuple[Perturbation, ...]] = (Free(), Json(), Yaml(), Xml(), Html(), Markdown())
"""Every format perturbation."""

__all__ = ["FORMATS", "Form", "Free", "Html", "Json", "Markdown", "Xml", "Yaml"]
