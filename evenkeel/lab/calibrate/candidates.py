"""The goldens of one form, and the degraded variants made of each."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, get_args

from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure
from evenkeel.lab.calibrate.degrade import SEVERITIES, Damage, NotDegradableError, as_written
from evenkeel.lab.calibrate.forms import Form, form_of
from evenkeel.lab.calibrate.journal import Key, Row
from evenkeel.lab.calibrate.score_table import Condition
from evenkeel.metrics.workflow.reading import read_answer
from evenkeel.release.goldens.files import newest_versions
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.lab.calibrate.journal import Journal
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class Source:
    """A golden as it is degraded. Small, and the same in every process."""

    id: str
    answer: Answer
    context: str
    """Text of the prompt, "" if only the answer is known."""
    task: str | None


@dataclass(frozen=True, slots=True)
class CandidateSet:
    """The candidates of a run: what they are made from, and what is known of them."""

    sources: Sequence[Source]
    damage: Damage
    seed: int
    """Seed of every choice."""
    journal: Journal

    @property
    def form(self) -> Form:
        """Form of the answers."""
        return self.damage.form


@dataclass(frozen=True, slots=True)
class Candidate:
    """A golden's answer made worse."""

    key: Key
    expected: float
    pair: Pair


def conditions(damage: Damage) -> dict[Condition, float]:
    """Every mode and severity in which an answer is degraded, and the expected score."""
    return {
        Condition(degradation.mode, severity): degradation.expected(severity)
        for degradation in damage.degradations
        for severity in SEVERITIES
    }


def keys(golden: str, damage: Damage) -> tuple[Key, ...]:
    """Every candidate that a golden has, or should have."""
    return tuple(Key(golden, *condition) for condition in conditions(damage))


def made(
    source: Source,
    damage: Damage,
    seed: int,
    only: Collection[Condition],
) -> Iterator[Candidate | Row]:
    """The candidates of a golden; for those that cannot be made, a row that says why.

    Args:
        source: what is degraded.
        damage: what is done to it.
        seed: with the golden's id, the degradation's name and the severity it decides every choice.
        only: these alone.
    """
    # A variant of data or of a workflow may be laid out otherwise than the answer was; that is no damage.
    reference = as_written(source.answer, source.task)
    if isinstance(reference, Failure):
        reference = source.answer
    for degradation in damage.degradations:
        for severity in SEVERITIES:
            condition = Condition(degradation.mode, severity)
            if condition not in only:
                continue
            key = Key(source.id, *condition)
            expected = degradation.expected(severity)
            rng = chooser(seed, source.id, degradation.name, str(severity))
            try:
                answer = degradation.apply(source.answer, severity, rng)
            except NotDegradableError as error:
                yield Row(*key, expected, undegradable=error.reason)
                continue
            yield Candidate(key, expected, Pair(reference, answer, source.context, source.task))


def chooser(seed: int, *words: str) -> random.Random:
    """The generator behind one candidate: the same whatever else is made, on every platform."""
    said = "\0".join((str(seed), *words))
    return random.Random(sha256(said.encode("utf-8", "surrogatepass")).digest())


def source_of(golden: Golden, context: str) -> Source:
    """A golden as it is degraded."""
    return Source(golden.id, golden.answer, context, golden.task)


FORMS: tuple[Form, ...] = get_args(Form)
FEWEST = 2
_FEW_OTHERS = 0.1
"""Share of goldens of other forms that are left out without being asked about."""


class UnfitGoldensError(InputError):
    """These goldens cannot be calibrated on. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The goldens of one form."""

    goldens: tuple[Golden, ...]
    """Goldens by id, ascending."""
    form: Form
    others: Mapping[str, int]
    """Goldens left out, by their form or the reason why they have none."""
    retired: int

    def with_steps(self, least: int) -> Chosen:
        """Return the workflows of so many steps or more; shorter ones are counted as left out.

        Raises: UnfitGoldensError if fewer than two are left.
        """
        kept = tuple(golden for golden in self.goldens if _steps(golden.answer) >= least)
        short = len(self.goldens) - len(kept)
        if len(kept) < FEWEST:
            raise UnfitGoldensError(
                f"{_count(len(kept), 'workflow')} of {least} steps or more; approve others"
            )
        others = {**self.others, **({f"workflow of fewer than {least} steps": short} if short else {})}
        return replace(self, goldens=kept, others=others)

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


def _steps(answer: Answer) -> int:
    return len(read_answer(answer).steps)


def choose(goldens: Iterable[Golden], form: Form | None = None) -> Chosen:
    """The newest version of each golden that is in use, if its answer has the form.

    A score means one thing for prose and another for JSON, so a calibration is about one form.

    Args:
        goldens: all versions, in any order.
        form: None = that of nine in ten or more.

    Raises: UnfitGoldensError if none or one is left, or if no form has so many.
    """
    newest = sorted(newest_versions(goldens), key=lambda golden: golden.id)
    if not newest:
        raise UnfitGoldensError("no goldens; approve some with `evenkeel goldens approve`")
    used = [golden for golden in newest if golden.retired_at is None]
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
