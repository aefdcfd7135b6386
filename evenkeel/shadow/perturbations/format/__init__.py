"""Format perturbations: the same contents are asked for in another format.

`skeletons` finds where output instructions show a structure and has it read (`readers`) into the tree of
`schema`, which also reads `response_format` and its like; `words` puts one format's name for another's;
`forms` has the perturbations, each of which renders the tree in its own format.
"""

from evenkeel.shadow.perturbations.format.forms import FORMATS, FREE, HTML, JSON, MARKDOWN, XML, YAML, Form

__all__ = ["FORMATS", "FREE", "HTML", "JSON", "MARKDOWN", "XML", "YAML", "Form"]
