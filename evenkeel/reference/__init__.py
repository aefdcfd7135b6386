"""Reference pages generated from the code; `python -m evenkeel.reference DIR` writes them.

Their text is Markdown in `templates`; the modules fill in what the code says.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def page(name: str, **values: Any) -> str:
    """A page of `docs/`, from the template of that name."""
    environment = Environment(  # noqa: S701 - Markdown, made of our own code
        loader=PackageLoader("evenkeel.reference"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template(f"{name}.md").render(values)
