"""Settings and series that the documentation names: they exist."""

import re
from typing import get_args

import pytest
import yaml
from pydantic import BaseModel

from evenkeel.settings import Settings
from tests.cases import cases
from tests.docs.documentation import DOCS, PAGES, ROOT, all_blocks, inline_code_of, text_of

CASES = cases(__file__)

FIELDS = Settings.model_fields
SERIES = frozenset(re.findall(r"`(evenkeel_\w+)`", text_of(DOCS / "reference" / "metrics.md")))
DEFINED_TERMS = {"evenkeel_console", "evenkeel_runbooks", "evenkeel_gate", "evenkeel_check"}
"""Names that are no series: two labels in `prometheus.yml`, and the fixture of the pytest plugin."""
CHART = yaml.safe_load((ROOT / "deploy/helm/evenkeel/values.yaml").read_text(encoding="utf-8"))
DOTTED = re.compile(r"[a-z][a-z_]*(\[\])?(\.[a-z][a-z_]*(\[\])?)+")
SUFFIXES = ("_bucket", "_sum", "_count")


def _below(annotation):
    """Names below a setting: the fields of its model, None if its keys are free or it has none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := _below(part))), None)


def _free(annotation):
    return "dict" in str(annotation).lower() or "mapping" in str(annotation).lower()


def unknown_in(value, model=Settings, path=""):
    """Paths of a settings file that name no setting."""
    if isinstance(value, list):
        return [name for item in value for name in unknown_in(item, model, path)]
    if not isinstance(value, dict):
        return []
    names = []
    for key, inner in value.items():
        field = model.model_fields.get(key)
        place = f"{path}.{key}".lstrip(".")
        if field is None:
            names.append(place)
        elif (nested := _below(field.annotation)) is not None:
            entries = inner.values() if _free(field.annotation) and isinstance(inner, dict) else [inner]
            names += [name for entry in entries for name in unknown_in(entry, nested, place)]
    return names


def unknown_path(path):
    """The first part of `a.b.c` that is no setting, None if all are."""
    model = Settings
    parts = path.replace("[]", "").split(".")
    for place, part in enumerate(parts):
        field = model.model_fields.get(part)
        if field is None:
            return ".".join(parts[: place + 1])
        nested = _below(field.annotation)
        if nested is None or _free(field.annotation):
            return None
        model = nested
    return None


def is_file_or_module(path):
    """Tell whether a dotted name is a file as `judge.jsonl`, or a module as `evenkeel.core.exchange`."""
    module = ROOT / path.replace(".", "/")
    return (
        path.endswith((".jsonl", ".json", ".yaml")) or module.is_dir() or module.with_suffix(".py").is_file()
    )


def in_chart(path):
    """Tell whether `a.b` is a value of the Helm chart."""
    value = CHART
    for part in path.split("."):
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True


def test_settings_in_yaml_blocks_exist():
    """Every block that shows a settings file, or chart values with one, names settings alone."""
    wrong, checked = [], 0
    for block in all_blocks("yaml"):
        read = next(iter(yaml.safe_load_all(block.text)), None)
        if isinstance(read, dict) and isinstance(read.get("settings"), dict):
            read = read["settings"]
        if isinstance(read, dict) and set(read) & set(FIELDS) and "services" not in read:
            checked += 1
            wrong += [f"{block}: {name}" for name in unknown_in(read)]
    assert not wrong
    assert checked > 10


def test_settings_in_running_text_exist():
    """Every dotted name between backticks that begins like a setting is one."""
    wrong, checked = [], 0
    for page in PAGES:
        for code in inline_code_of(page):
            path = code.partition(":")[0].strip()
            if not DOTTED.fullmatch(path) or path.split(".")[0] not in FIELDS or is_file_or_module(path):
                continue
            checked += 1
            if (lost := unknown_path(path)) is not None and not in_chart(path):
                wrong.append(f"{page.relative_to(ROOT)}: {lost}")
    assert not wrong
    assert checked > 50


@pytest.mark.parametrize(("text", "lost"), CASES["missing"])
def test_a_setting_that_does_not_exist_would_be_found(text, lost):
    """The tests above can fail, and leave free keys alone."""
    assert unknown_in(yaml.safe_load(text)) == lost
    assert unknown_path("alerts.threshhold") == "alerts.threshhold"
    assert unknown_path("routes[].budget.usd_per_day") is None


def test_series_that_pages_name_are_exported():
    """Every `evenkeel_…` between backticks is a series, or begins one and ends in an underscore."""
    wrong = []
    for page in PAGES:
        for code in inline_code_of(page):
            for name in re.findall(r"\bevenkeel_[a-z0-9_]+", code):
                base = next((name.removesuffix(end) for end in SUFFIXES if name.endswith(end)), name)
                known = base in SERIES or name in SERIES
                begins = name.endswith("_") and any(series.startswith(name) for series in SERIES)
                if not known and not begins and name not in DEFINED_TERMS:
                    wrong.append(f"{page.relative_to(ROOT)}: {name}")
    assert not wrong
