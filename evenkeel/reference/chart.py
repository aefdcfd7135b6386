"""The reference page of the Helm chart's values: what they are called, their defaults, what they mean."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from evenkeel.reference import page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CHART: Final = "deploy/helm/evenkeel"
"""Its folder in a checkout."""


class Value(NamedTuple):
    """One value of the chart."""

    name: str
    """With dots, as `helm --set` takes it."""
    default: Any
    meaning: str


def values_of(chart: Path) -> list[Value]:
    """Every value by its place in `values.yaml`, with what `values.schema.json` says of it."""
    schema = json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))
    values = yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))
    return list(_below("", values, schema, schema["definitions"]))


def _below(
    name: str, default: Any, schema: dict[str, Any], definitions: dict[str, dict[str, Any]]
) -> Iterator[Value]:
    named = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else {}
    schema = {**named, **schema}
    inner = schema.get("properties", {})
    if not isinstance(default, dict) or not inner or schema.get("additionalProperties", True):
        yield Value(name, default, schema.get("description", ""))
        return
    for key, value in default.items():
        yield from _below(f"{name}.{key}".lstrip("."), value, inner[key], definitions)


def chart_page(chart: Path) -> str:
    """`docs/reference/chart.md`.

    Args:
        chart: its folder.
    """
    rows = (
        f"| `{one.name}` | `{json.dumps(one.default, ensure_ascii=False)}` | {one.meaning} |\n".replace(
            "`null`", "–"
        )
        for one in values_of(chart)
    )
    return page("chart", chart=CHART, values="".join(rows))
