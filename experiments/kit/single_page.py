"""Pages that are one HTML file and need nothing else: no script, no font, no request."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from markupsafe import Markup

from evenkeel import __version__
from evenkeel.console.rendering import environment


def single_page(package: str, template: str, **values: Any) -> bytes:
    """A package's template filled in, as UTF-8. Names and texts from outside are escaped.

    Args:
        package: Has the template in its folder `templates`.
        template: The file's name.
        values: What the template knows, besides `version`.
    """
    filled = environment(package).get_template(template).render(version=__version__, **values)
    return filled.encode("utf-8", "replace")


def console_style() -> Markup:
    """The console's own style sheet: one look, one place to change it."""
    sheet = files("evenkeel.console").joinpath("static/console.css").read_text(encoding="utf-8")
    return Markup(sheet)  # noqa: S704 - our own file
