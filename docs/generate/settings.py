"""Blocks of `docs/reference/settings.md`: every setting, by section."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from docs.generate import one_line
from evenkeel.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic.fields import FieldInfo


def blocks(_names: Sequence[str]) -> dict[str, str]:
    """Return `settings`: a heading and a table for every section."""
    return {"settings": "".join(_section("", Settings))}


def _section(path: str, model: type[BaseModel]) -> list[str]:
    lines = [f"\n## {path or 'Top level'}\n\n{_first_paragraph(model)}\n\n"]
    lines.append("| setting | default | meaning |\n|---|---|---|\n")
    below: list[str] = []
    for name, field in model.model_fields.items():
        nested = _nested(field.annotation)
        place = f"{path}.{name}".lstrip(".")
        if nested is None:
            lines.append(f"| `{name}` | {_default(field)} | {one_line(_meanings(model).get(name, ''))} |\n")
        else:
            lines.append(f"| `{name}` | {_default(field)} | see [{place}](#{_anchor(place)}) |\n")
            below += _section(place, nested)
    return lines + below


def _anchor(place: str) -> str:
    return place.replace(".", "").lower()


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _nested(part))), None)


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    if isinstance(field.default, BaseModel):
        return "as below"
    if field.default in (None, "", [], {}):
        return "none"
    if isinstance(field.default, list):
        return ", ".join(f"`{item}`" for item in field.default)
    return f"`{field.default}`"


def _first_paragraph(model: type) -> str:
    return one_line((model.__doc__ or "").strip().split("\n\n")[0])


@cache
def _meanings(section: type[BaseModel]) -> dict[str, str]:
    """Return the docstring of each setting of a section, by its name.

    Pydantic can keep them with the fields (`use_attribute_docstrings`), but that would take 0.1 s at every
    start of a process.
    """
    texts: dict[str, str] = {}
    for base in reversed(section.__mro__):
        if not base.__module__.startswith(Settings.__module__.rpartition(".")[0]):
            continue
        # A string below an assignment is no docstring to Python; only the source has it.
        [definition] = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        assert isinstance(definition, ast.ClassDef)
        for setting, text in pairwise(definition.body):
            if not (isinstance(setting, ast.AnnAssign) and isinstance(setting.target, ast.Name)):
                continue
            if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
                texts[setting.target.id] = inspect.cleandoc(str(text.value.value))
    return texts
