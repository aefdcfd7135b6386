"""The store of labels: every version of what people said, and the texts that they looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from evenkeel.monitor.labels.label import Label, LabelError

if TYPE_CHECKING:
    from collections.abc import Collection

    from evenkeel.core.verdict import Evidence


class LabelStore(Protocol):
    """Labels by verdict and person. Nothing is overwritten: a correction is the next version.

    Calls block on storage. Several processes may use one store at a time.
    """

    def put(self, label: Label, texts: Evidence | None) -> Label:
        """Store what somebody says of a verdict.

        What the same person said of it before is replaced by this as the next version; the same again
        changes nothing.

        Args:
            label: its `version` and `withdrawn_at` are not looked at.
            texts: prompts and answers, kept as long as the label; None if they are no longer known. Texts
                that are kept already stay.

        Returns: the label as it is in the store now.
        """
        ...

    def withdraw(self, verdict_id: str, by: str, *, at: float) -> Label:
        """Take back what somebody said: a version that no longer counts. Again, it changes nothing.

        Raises: LabelError if that person has said nothing of that verdict.
        """
        ...

    def of_verdict(self, verdict_id: str) -> tuple[Label, ...]:
        """What people say of a verdict in the newest version of each, withdrawn ones too."""
        ...

    def history(self, verdict_id: str) -> tuple[Label, ...]:
        """All versions of all labels of a verdict, oldest first."""
        ...

    def select(self, *, route: str | None = None, limit: int | None = None) -> tuple[Label, ...]:
        """Labels that count, in their newest version, the last said first.

        Args:
            route: only of this route.
            limit: at most so many.
        """
        ...

    def texts(self, verdict_id: str) -> Evidence | None:
        """Prompts and answers of a labelled verdict; None if they were not known when it was labelled."""
        ...

    def labelled(self, verdict_ids: Collection[str]) -> frozenset[str]:
        """Which of these verdicts have a label that counts."""
        ...

    def revision(self) -> int:
        """A number that grows with every change: what was read stays true as long as it is the same."""
        ...


def unknown(verdict_id: str, by: str) -> LabelError:
    """The error about a label that is not there."""
    return LabelError(f"{by[:60]!r} has said nothing of the verdict {verdict_id[:80]!r}")
