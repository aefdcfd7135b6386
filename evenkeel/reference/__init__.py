"""Reference pages made from the code; `python -m evenkeel.reference docs` fills `docs/reference`.

Their text is Markdown in `templates`; the modules fill in what the code says. They are not committed: the
site is built from fresh ones.
"""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def page(name: str, **values: Any) -> str:
    """A page of `docs/reference/`, from the template of that name."""
    environment = Environment(  # noqa: S701 - Markdown, made of our own code
        loader=PackageLoader("evenkeel.reference"), undefined=StrictUndefined, keep_trailing_newline=True
    )
    return environment.get_template(f"{name}.md").render(values)


def one_line(text: str) -> str:
    """A text without line breaks and without more than one space in a row."""
    return " ".join(text.split())
