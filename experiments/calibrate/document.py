"""The file of a calibration, `calibration.yaml`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml
from pydantic import TypeAdapter, ValidationError

from evenkeel.experiments.calibrate.calibration import SCHEMA, Calibration, CalibrationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_ADAPTER: Final = TypeAdapter(Calibration)

_ADVICE: Final = {
    "missing": "the field is missing: add it, or calibrate again",
    "unexpected_keyword_argument": "no such field: remove it, or correct its spelling",
    "extra_forbidden": "no such field: remove it, or correct its spelling",
}


def calibration_to_yaml(calibration: Calibration) -> str:
    """The calibration as YAML that `read_calibration` reads; the same calibration gives the same bytes."""
    data = _ADAPTER.dump_python(calibration, mode="json", exclude_none=True)
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)
    return text


def read_calibration(text: str) -> Calibration:
    """Read a calibration from YAML or JSON.

    Raises:
        CalibrationError: It is neither, is of another schema, or a field is missing, unknown, out of range
            or of another type. The message names the field and says what to do.
    """
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise CalibrationError(f"calibration is neither YAML nor JSON: {reason}") from error
    if not isinstance(data, dict):
        raise CalibrationError("calibration: fields are expected, such as schema_version: 1")
    _check_schema(data)
    try:
        return _ADAPTER.validate_python(data)
    except ValidationError as error:
        raise CalibrationError(_said(error.errors(include_url=False)[0])) from error


def _check_schema(data: dict[Any, Any]) -> None:
    schema = data.get("schema_version")
    if type(schema) is not int:
        raise CalibrationError(f"schema_version: {schema!r} is not {SCHEMA}: correct it, or calibrate again")
    if schema > SCHEMA:
        raise CalibrationError(
            f"schema_version: {schema} is newer than {SCHEMA}, the newest that is read: upgrade evenkeel"
        )
    if schema < SCHEMA:
        raise CalibrationError(f"schema_version: {schema} is no longer read: calibrate again")


def _said(error: ErrorDetails) -> str:
    field = ".".join(map(str, error["loc"])) or "calibration"
    found = error["input"]
    shown = f" (found {found!r})" if isinstance(found, str | int | float | bool) else ""
    return f"{field}: {_ADVICE.get(error['type'], error['msg'] + shown + ': correct it, or calibrate again')}"
