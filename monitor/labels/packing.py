"""Labels and their texts as a store keeps them: what may quote an answer is sealed, the figures are not.

So the agreement of judge and people is known even where the keys are gone.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import evidence_from_json, evidence_to_json
from evenkeel.monitor.labels.label import label_from_json, label_to_json
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from evenkeel.core.verdict import Evidence
    from evenkeel.monitor.labels.label import Label
    from evenkeel.stores.sealing import Seal

_SEALED: Final = "\x00sealed:"
"""No note and no explanation begins with a zero."""
_PLACE: Final = "label"


def pack_label(label: Label, seal: Seal) -> str:
    """The label as JSON, with its note and the verdict's explanation encrypted if there is a key."""
    if not seal.active:
        return label_to_json(label)

    def close(text: str) -> str:
        if not text:
            return text
        sealed = seal.close(text.encode("utf-8", "surrogatepass"), f"{_PLACE}/{label.verdict_id}")
        return _SEALED + base64.b64encode(sealed).decode()

    return label_to_json(replace(label, note=close(label.note), explanation=close(label.explanation)))


def unpack_label(packed: str, seal: Seal) -> Label:
    """What `pack_label` made. A text whose key is missing says so in its place."""
    label = label_from_json(packed)

    def open_(text: str) -> str:
        if not text.startswith(_SEALED):
            return text
        try:
            sealed = base64.b64decode(text.removeprefix(_SEALED))
            return seal.open(sealed, f"{_PLACE}/{label.verdict_id}").decode("utf-8", "surrogatepass")
        except (SealError, ValueError) as error:
            return f"({error})"

    return replace(label, note=open_(label.note), explanation=open_(label.explanation))


def pack_texts(evidence: Evidence, verdict_id: str, seal: Seal) -> bytes:
    """Prompts and answers, compressed, encrypted if there is a key.

    Half a surrogate pair, which has no UTF-8, becomes "?".
    """
    packed = zlib.compress(evidence_to_json(evidence).encode("utf-8", "replace"))
    return seal.close(packed, f"{_PLACE}/{verdict_id}")


def unpack_texts(packed: bytes, verdict_id: str, seal: Seal) -> Evidence:
    """What `pack_texts` made. Raises: SealError if it cannot be opened."""
    return evidence_from_json(zlib.decompress(seal.open(packed, f"{_PLACE}/{verdict_id}")).decode())
