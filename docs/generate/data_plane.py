"""Blocks of `docs/reference/data-plane.md`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from typing import TYPE_CHECKING

from docs.generate import one_line
from evenkeel.proxy.errors import ForwardingFault, error_response, status_of
from evenkeel.proxy.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence


def blocks(_names: Sequence[str]) -> dict[str, str]:
    """Return `answers`: errors that the proxy answers itself; `limits`: bounds of what it takes."""
    answers = ["| status | code | message |\n|---|---|---|\n"]
    limits = ["| bound | value | meaning |\n|---|---|---|\n"]
    for fault in ForwardingFault:
        answer = error_response(fault, where="The upstream", detail="…", close=True, bare=False)
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        answers.append(f"| {status_of(fault)} | `{fault.value}` | {error['message']} |\n")
    source = inspect.getsource(Limits)
    for field in dataclasses.fields(Limits):
        meaning = re.search(rf"    {field.name}: [^\n]*\n    \"\"\"(.*?)\"\"\"", source, re.DOTALL)
        assert meaning is not None, field.name
        limits.append(f"| `{field.name}` | {field.default:,} | {one_line(meaning[1])} |\n")
    return {"answers": "".join(answers), "limits": "".join(limits)}
