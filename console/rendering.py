"""Templates to bytes. Everything printed is escaped unless the template itself wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from evenkeel.core.figures import percent
from evenkeel.core.rewordings import label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.assets import Assets
    from evenkeel.console.navigation import PageLink


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

    def __init__(self, assets: Assets, pages: Sequence[PageLink] = (), *, documents: bool = False) -> None:
        """Load the templates.

        Args:
            assets: static files.
            pages: the navigation.
            documents: whether there are pages of documentation to link to.
        """
        self._environment = environment("evenkeel.console")
        self._environment.globals["asset"] = assets.url
        self._environment.globals["pages"] = tuple(pages)
        self._environment.globals["has_documents"] = documents
        self._environment.filters |= {"percent": percent, "code_spans": code_spans, "kind": kind}

    def page(self, template: str, **values: Any) -> bytes:
        """The template filled in, as UTF-8.

        Models can answer with half of a surrogate pair, which has no UTF-8; it becomes "?".
        """
        return self._environment.get_template(template).render(**values).encode("utf-8", "replace")


def environment(package: str) -> Environment:
    """The templates of a package; what they print is escaped and made visible."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
    )


def code_spans(text: str) -> Markup:
    """Text in which `…` stands for code, as in the descriptions of settings."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a mark without its partner
        return escape(text)
    marked = [
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    ]
    return Markup().join(marked)


def kind(perturbation: str) -> str:
    """A perturbation in words; any other text as it is."""
    return label(perturbation) if "." in perturbation else perturbation


def visible(value: Any) -> Any:
    """Text with characters that show nothing, or mislead, made visible; anything else as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return value.translate(_CONTROLS)
    return value
