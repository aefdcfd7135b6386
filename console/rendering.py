"""Templates to bytes. Everything printed is escaped unless the template itself wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from console.assets import Assets


_CONTROLS = dict.fromkeys(
    [
        *(code for code in range(0x20) if chr(code) not in "\t\n\r"),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),  # embeddings and overrides of the writing direction
        *range(0x2066, 0x206A),  # isolates
    ],
    "\ufffd",
)
"""Characters that show nothing, or make text look like other text, become visible."""


class Renderer:
    """Renders the console's templates.

    Rendering is called by the handlers themselves, in their worker thread: handing templates to
    the framework would render them on the event loop that also answers health checks.
    """

    def __init__(self, assets: Assets, *, goldens: bool = False, changes: bool = False) -> None:
        """Load the templates.

        Args:
            assets: static files.
            goldens: whether there are pages about goldens to link to.
            changes: the same for changes.
        """
        self._environment = Environment(
            loader=PackageLoader("console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=visible,
        )
        self._environment.globals["asset"] = assets.url
        self._environment.globals["has_goldens"] = goldens
        self._environment.globals["has_changes"] = changes

    def page(self, template: str, **values: Any) -> bytes:
        """The template filled in, as UTF-8.

        Models can answer with half of a surrogate pair, which has no UTF-8; it becomes "?".
        """
        return self._environment.get_template(template).render(**values).encode("utf-8", "replace")


def visible(value: Any) -> Any:
    """Text with characters that show nothing, or mislead, made visible; anything else as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.translate(_CONTROLS)
    return value
