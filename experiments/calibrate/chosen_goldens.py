"""Which goldens are calibrated on: the newest answers that are not retired, all of one form."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, get_args

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.degrade.form import form_of
from evenkeel.experiments.calibrate.degrade.protocol import Form

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenkeel.stores.goldens import Golden

FORMS: tuple[Form, ...] = get_args(Form)
FEWEST = 2
_FEW_OTHERS = 0.1
"""Share of goldens of other forms that are left out without being asked about."""


class UnfitGoldensError(ValueError):
    """These goldens cannot be calibrated on. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The goldens of one form."""

    goldens: tuple[Golden, ...]
    """By id, ascending."""
    form: Form
    others: Mapping[str, int]
    """Goldens left out, by their form or the reason why they have none."""
    retired: int

    @property
    def digest(self) -> str:
        """SHA-256 over ids and answers, in hexadecimal."""
        content = [
            [
                golden.id,
                golden.answer.text,
                [[call.name, call.arguments] for call in golden.answer.tool_calls],
            ]
            for golden in self.goldens
        ]
        return sha256(json.dumps(content).encode()).hexdigest()


def choose(goldens: Iterable[Golden], form: Form | None = None) -> Chosen:
    """The newest version of each golden that is in use, if its answer has the form.

    A score means one thing for prose and another for JSON, so a calibration is about one form.

    Args:
        goldens: all versions, in any order.
        form: None = that of nine in ten or more.

    Raises: UnfitGoldensError if none or one is left, or if no form has so many.
    """
    newest: dict[str, Golden] = {}
    for golden in goldens:
        known = newest.get(golden.id)
        if known is None or golden.version > known.version:
            newest[golden.id] = golden
    if not newest:
        raise UnfitGoldensError("no goldens; approve some with `evenkeel goldens approve`")
    used = [golden for _, golden in sorted(newest.items()) if golden.retired_at is None]
    if not used:
        raise UnfitGoldensError(f"all {len(newest)} goldens are retired; approve others")
    forms = {golden.id: form_of(golden.answer, golden.task) for golden in used}
    counted = Counter(found.reason if isinstance(found, Failure) else found for found in forms.values())
    wanted = form or _form_of_most(counted)
    kept = tuple(golden for golden in used if forms[golden.id] == wanted)
    if len(kept) < FEWEST:
        raise UnfitGoldensError(
            f"{_count(len(kept), 'golden')} of form {wanted} ({_listed(counted)}); a threshold needs 20 or "
            "more: approve others"
        )
    others = {name: count for name, count in counted.items() if name != wanted}
    return Chosen(kept, wanted, others, len(newest) - len(used))


def _form_of_most(counted: Counter[str]) -> Form:
    usable: list[Form] = [form for form in FORMS if counted[form]]
    if not usable:
        raise UnfitGoldensError(f"no answer can be degraded ({_listed(counted)}); approve others")
    most = max(usable, key=lambda form: counted[form])
    if sum(counted[form] for form in usable if form != most) > _FEW_OTHERS * counted.total():
        raise UnfitGoldensError(
            f"the answers have several forms ({_listed(counted)}), and a score means something else for "
            f"each: choose one with --form {most}"
        )
    return most


def _listed(counted: Mapping[str, int]) -> str:
    return ", ".join(
        f"{count} {name.replace('_', ' ')}"
        for name, count in sorted(counted.items(), key=lambda one: -one[1])
    )


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
