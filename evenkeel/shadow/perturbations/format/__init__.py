"""Format perturbations: the same contents are asked for in another format.

`instructions` finds where output instructions name a format or show a structure, and puts one format's name
for another's; `outline` writes a structure without the syntax of any format; `forms` has the perturbations.
"""

from evenkeel.shadow.perturbations.format.forms import FORMATS, FREE, HTML, JSON, MARKDOWN, XML, YAML, Form

__all__ = ["FORMATS", "FREE", "HTML", "JSON", "MARKDOWN", "XML", "YAML", "Form"]
