"""Blocks of `docs/reference/settings.md`: every setting, by section."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from docs.generate import one_line
from evenkeel.settings import Settings
from evenkeel.settings.types import meanings

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
            lines.append(f"| `{name}` | {_default(field)} | {one_line(meanings(model).get(name, ''))} |\n")
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
