"""Reference pages generated from the code; `python -m evenkeel.reference FOLDER` writes them.

`tests/test_docs.py` fails when a page in `docs/` is not what this module writes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from evenkeel.settings import Settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_INTRODUCTION = """\
# Settings

Written by `make docs` from `evenkeel/settings.py`.

`evenkeel up --config evenkeel.yaml` reads a YAML file; `evenkeel check-config --config evenkeel.yaml`
checks it. Command-line options win over `EVENKEEL_…` variables (`EVENKEEL_LISTEN__PORT=8200`), those over
the file, and the file over the defaults. A file needs nothing but one route:

```yaml
routes:
  - upstream: https://api.openai.com/v1
```

Secrets never stand in the file: a setting that ends in `_env` names the environment variable that holds one.
"""


def settings_page() -> str:
    """`docs/settings.md`."""
    return _INTRODUCTION + "".join(_section("", Settings))


def _section(path: str, model: type[BaseModel]) -> list[str]:
    lines = [f"\n## {path or 'Top level'}\n\n{_first_paragraph(model)}\n\n"]
    lines.append("| setting | default | meaning |\n|---|---|---|\n")
    below: list[str] = []
    for name, field in model.model_fields.items():
        nested = _nested(field.annotation)
        place = f"{path}.{name}".lstrip(".")
        if nested is None:
            lines.append(f"| `{name}` | {_default(field)} | {_one_line(field.description or '')} |\n")
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
    if isinstance(field.default, list):
        return ", ".join(f"`{item}`" for item in field.default)
    return "none" if field.default in {None, ""} else f"`{field.default}`"


def _first_paragraph(model: type[BaseModel]) -> str:
    return _one_line((model.__doc__ or "").strip().split("\n\n")[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    """Write every generated page into the given folder."""
    folder = Path(sys.argv[1])
    (folder / "settings.md").write_text(settings_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
