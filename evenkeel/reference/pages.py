"""The reference pages of the settings and of the data plane."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from evenkeel.proxy.errors import Fault, error_response, status_of
from evenkeel.proxy.limits import Limits
from evenkeel.settings import Settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_INTRODUCTION = """\
# Settings

Written by `make docs` from `evenkeel/settings/`.

`evenkeel up --config evenkeel.yaml` reads a YAML file; `evenkeel check-config --config evenkeel.yaml`
checks it. Command-line options win over `EVENKEEL_…` variables (`EVENKEEL_LISTEN__PORT=8200`), those over
the file, and the file over the defaults. A file needs nothing but one route:

```yaml
routes:
  - upstream: https://api.openai.com/v1
```

Secrets never stand in the file: a setting that ends in `_env` names the environment variable that holds one.

Most settings [can be changed while evenkeel runs](reloading.md). What the data folder keeps is in
[the data folder](storing.md).
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
    if field.default in (None, "", [], {}):
        return "none"
    if isinstance(field.default, list):
        return ", ".join(f"`{item}`" for item in field.default)
    return f"`{field.default}`"


def _first_paragraph(model: type) -> str:
    return _one_line((model.__doc__ or "").strip().split("\n\n")[0])


def _one_line(text: str) -> str:
    return " ".join(text.split())


_DATA_PLANE_INTRODUCTION = """\
# The data plane

The tables are written by `make docs` from `proxy/errors.py` and `proxy/limits.py`.

`evenkeel up` runs the data plane beside worker, monitor and console; `evenkeel proxy --upstream URL --port P` runs it
alone, in one process or with `--processes N` in several on one port.

## What passes

Method, path, query, header fields (their order, case and duplicates), bodies and every streamed chunk pass
as they are, at once, in both directions, for every endpoint: the proxy knows no API to forward it. WebSocket and other
upgrades are tunnelled. Removed are hop-by-hop fields and those that `Connection` names, and request fields
that begin with `x-evenkeel-`; `Host` becomes the upstream's. Nothing is added.

A client path under `/v1` is put on the upstream's path: with `upstream: https://host/openai/deployments/x` a request for
`/v1/chat/completions` goes to `/openai/deployments/x/chat/completions`. With an upstream that ends in `/v1`, or that
has no path, not a byte of the target changes.

An application may tell evenkeel more about a request; none of it reaches the upstream:

| request header | meaning |
|---|---|
| `x-evenkeel-task` | the task, such as `case_summary`; wins over the route's |
| `x-evenkeel-prompt-version` | version of the prompt, kept with each verdict |
| `x-evenkeel-session` | what belongs together |

## Routes

Of the routes that match a request, the most specific wins: the longer path prefix, then a rule about the API key, then
more header rules, then a rule about the host, then the one that stands first.

```yaml
routes:
  - upstream: https://api.openai.com/v1
  - name: triage
    prefix: /triage                      # base URL http://HOST:PORT/triage/v1
    upstream: http://10.0.0.5:8000/v1
    fallbacks: [http://10.0.0.6:8000/v1] # tried when the first does not take the request
  - name: partners
    key_fingerprints: [0123456789abcdef] # printed by: evenkeel fingerprint VARIABLE
    upstream: https://api.openai.com/v1
    api_key_env: PARTNERS_KEY            # sent in place of the client's key
```

## When something breaks

Nothing behind the forwarded path can fail a request: a full or slow queue drops the copy and counts it in
`evenkeel_exchanges_skipped_total`. A client that leaves cancels the upstream call at once, streaming or waiting.
An answer that the upstream cuts off reaches the client cut off, never as a clean end. A request on a kept-alive
connection that turned out dead is sent again once, if it may be repeated: idempotent methods, requests with an
`Idempotency-Key`, and others only if it is proven that the upstream had not read them.

One thing must not be done to a running store: copying a backup over its `-shm` file, which is mapped into memory. Between
two transactions that is noticed, and storing stops until the files are left alone; within one it ends the process, which the
supervisor starts again on the same port.

Where there is no answer to forward, the client gets one in the form the openai SDK reads. `code` is also the
`reason` of `evenkeel_proxy_upstream_errors_total`.

| status | code | message |
|---|---|---|
"""

_LIMITS_INTRODUCTION = """
## Limits

Timeouts are settings of each route, and the numbers of connections are those of [`listen`](settings.md#listen); the
other bounds hold for all. What they are for: [security](security.md#1-client-to-data-plane).

| bound | value | meaning |
|---|---|---|
"""


def data_plane_page() -> str:
    """`docs/data-plane.md`."""
    lines = [_DATA_PLANE_INTRODUCTION]
    for fault in Fault:
        answer = error_response(fault, where="The upstream", detail="…", close=True, bare=False)
        error = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
        lines.append(f"| {status_of(fault)} | `{fault.value}` | {error['message']} |\n")
    lines.append(_LIMITS_INTRODUCTION)
    source = inspect.getsource(Limits)
    for field in dataclasses.fields(Limits):
        meaning = re.search(rf"    {field.name}: [^\n]*\n    \"\"\"(.*?)\"\"\"", source, re.DOTALL)
        assert meaning is not None, field.name
        lines.append(f"| `{field.name}` | {field.default:,} | {_one_line(meaning[1])} |\n")
    return "".join(lines)
