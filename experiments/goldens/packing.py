"""A golden as compressed bytes."""

from __future__ import annotations

import dataclasses
import json
import zlib
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenkeel.core.pair import Answer, ToolCall
from evenkeel.experiments.goldens.golden import Golden

if TYPE_CHECKING:
    from evenkeel.stores.sealing import Seal

_PLACE = "golden"


def pack_golden(golden: Golden, seal: Seal) -> bytes:
    """The whole golden, encrypted if there is a key."""
    return seal.close(zlib.compress(json.dumps(asdict(golden)).encode(), 6), _PLACE)


def unpack_golden(packed: bytes, seal: Seal) -> Golden:
    """What `pack_golden` made. Raises: SealError if it cannot be opened."""
    raw: dict[str, Any] = json.loads(zlib.decompress(seal.open(packed, _PLACE)))
    answer = raw.pop("answer")
    answer["tool_calls"] = tuple(ToolCall(**call) for call in answer["tool_calls"])
    # A later version of the program may have added fields; one that goes back leaves them aside.
    known = {field.name for field in dataclasses.fields(Golden)}
    return Golden(answer=Answer(**answer), **{name: raw[name] for name in raw if name in known})
