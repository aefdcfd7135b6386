"""A golden as compressed bytes."""

from __future__ import annotations

import dataclasses
import json
import zlib
from dataclasses import asdict
from typing import Any

from metrics.goldens.golden import Golden
from metrics.pair import Answer, ToolCall


def pack_golden(golden: Golden) -> bytes:
    """The whole golden."""
    return zlib.compress(json.dumps(asdict(golden)).encode(), 6)


def unpack_golden(packed: bytes) -> Golden:
    """What `pack_golden` made."""
    raw: dict[str, Any] = json.loads(zlib.decompress(packed))
    answer = raw.pop("answer")
    answer["tool_calls"] = tuple(ToolCall(**call) for call in answer["tool_calls"])
    # A later version of the program may have added fields; one that goes back leaves them aside.
    known = {field.name for field in dataclasses.fields(Golden)}
    return Golden(answer=Answer(**answer), **{name: raw[name] for name in raw if name in known})
