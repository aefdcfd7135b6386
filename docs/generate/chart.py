"""Blocks of `docs/reference/chart.md`: the values of the Helm chart."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml

from docs.generate import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CHART: Final = ROOT / "deploy" / "helm" / "evenkeel"


class Value(NamedTuple):
    """One value of the chart."""

    name: str
    """With dots, as `helm --set` takes it."""
    default: Any
    meaning: str


def values_of(chart: Path) -> list[Value]:
    """Return every value by its place in `values.yaml`, with what `values.schema.json` says of it."""
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


def blocks(_names: Sequence[str], chart: Path = CHART) -> dict[str, str]:
    """Return `values`: a table of every value.

    Args:
        chart: Its folder.
    """
    rows = ["| value | default | what it is |\n|---|---|---|\n"]
    for value in values_of(chart):
        default = "–" if value.default is None else f"`{json.dumps(value.default, ensure_ascii=False)}`"
        rows.append(f"| `{value.name}` | {default} | {value.meaning} |\n")
    return {"values": "".join(rows)}
