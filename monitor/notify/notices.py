"""What is said about an incident, in words and as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from evenkeel.core import figures
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.stores.monitor_state import Sent

Phase = Literal["opened", "updated", "resolved"]
MOST_MESSAGES: Final = 3
"""About one incident, on one channel."""
SCHEMA: Final = "evenkeel.incident/1"
"""Of the JSON: fields may be added under this name, none is removed or changed."""

_BECAME: Final = {
    "worse": "answers got worse",
    "fragile": "answers became fragile",
    "invalid": "answers ignore the format or language asked for",
    "different": "answers are different",
    "suspected": "answers may be different",
    "steadier": "answers are steadier than they were",
}
_GRAVER: Final = ("worse", "fragile", "invalid", "different", "suspected", "steadier")
_ENDED: Final = {
    "recovered": "answers are as they should be again",
    "reversed": "the change was reversed",
    "retired": "the model no longer answers",
    "approved": "its level was approved as the new baseline",
    "settled": "answers have been as they are now for a day",
    "replaced": "answers have changed once more",
    "not_confirmed": "reference prompts are answered as before",
    "undecided": "too few reference prompts could be asked to confirm it",
    "accepted": "accepted as the new baseline",
    "rolled_back": "rolled back",
    "false_alarm": "a false alarm",
}
"""After "is over: "."""


@dataclass(frozen=True, slots=True)
class Contact:
    """Whom a route belongs to, and what to do about it."""

    owner: str = ""
    runbook_url: str = ""
    rollback: str = ""
    """A command, a sentence or a URL."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message that is about no incident: about the monitor itself."""

    title: str
    body: str
    good: bool
    """Whether it only says that something is over."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One message about an incident."""

    incident: Incident
    phase: Phase
    number: int
    """1 for the first about this incident on this channel, at most 3."""
    headline: str
    facts: tuple[str, ...]
    """How much, since when, what else; sentences."""
    contact: Contact
    url: str
    """Of the incident in the console; "" if that is not known."""

    @property
    def good(self) -> bool:
        """Whether it only says that the incident is over."""
        return self.phase == "resolved"

    @property
    def advice(self) -> tuple[str, ...]:
        """Whom to call and what to do, a line each."""
        contact = self.contact
        return tuple(
            f"{name}: {value}"
            for name, value in (
                ("Owner", contact.owner),
                ("Roll back", "" if self.good else contact.rollback),
                ("Runbook", "" if self.good else contact.runbook_url),
            )
            if value
        )

    @property
    def body(self) -> str:
        """All below the headline, as text."""
        paragraphs = [" ".join(self.facts), "\n".join(self.advice), self.url]
        return "\n\n".join(one for one in paragraphs if one)

    @property
    def text(self) -> str:
        """All of it as text."""
        return f"{self.headline}\n\n{self.body}" if self.body else self.headline

    def to_json(self) -> dict[str, Any]:
        """The notice for machines (see `SCHEMA`)."""
        contact = self.contact
        return {
            "schema": SCHEMA,
            "source": "evenkeel",
            "phase": self.phase,
            "number": self.number,
            "headline": self.headline,
            "text": self.text,
            "url": self.url,
            "owner": contact.owner,
            "runbook_url": contact.runbook_url,
            "rollback": contact.rollback,
            "incident": self.incident.to_json(),
        }


def next_phase(incident: Incident, sent: Sent | None) -> Phase | None:
    """What a channel has to say about an incident now; None if nothing.

    Args:
        incident: as it is.
        sent: what the channel has said about it.

    Returns: "opened" first, unless it is over already or only good news; "resolved" once it is over;
        "updated" if it became graver, shows on further routes or goes on after it was over, and a message is
        left to say that it is over.
    """
    over = incident.state == "resolved"
    if sent is None:
        return None if over or incident.severity == "info" else "opened"
    if sent.messages >= MOST_MESSAGES:
        return None
    if over:
        return None if sent.phase == "resolved" else "resolved"
    if sent.phase == "resolved":
        return "updated"
    graver = _GRAVER.index(incident.effect) < _GRAVER.index(sent.effect)
    more = len(incident.routes) > sent.routes
    return "updated" if (graver or more) and sent.messages < MOST_MESSAGES - 1 else None


class Writer:
    """Writes notices."""

    def __init__(
        self,
        contacts: Mapping[str, Contact] | None = None,
        console_url: str = "",
        reports: Callable[[], Sequence[CellReport]] = list,
    ) -> None:
        """Say what is known beside the incident.

        Args:
            contacts: by route.
            console_url: where people reach the console, "" if that is not known.
            reports: of all cells, to say how many rewordings are affected.
        """
        self._contacts = dict(contacts or {})
        self._console_url = console_url.rstrip("/")
        self._reports = reports

    def notice(self, incident: Incident, phase: Phase, number: int) -> Notice:
        """The message about an incident as it is."""
        url = f"{self._console_url}/incidents/{incident.id}" if self._console_url else ""
        contact = next(
            (self._contacts[route] for route in incident.routes if route in self._contacts), Contact()
        )
        if phase == "resolved":
            return Notice(incident, phase, number, over_line(incident), self._last(incident), contact, url)
        return Notice(incident, phase, number, headline(incident), self.facts(incident), contact, url)

    def facts(self, incident: Incident) -> tuple[str, ...]:
        """How far the answers moved, under how many rewordings, and what reference prompts say."""
        found = [*self._rewordings(incident), *_drifted(incident), *_referenced(incident)]
        return tuple(f"{one[0].upper()}{one[1:]}." for one in found)

    def _rewordings(self, incident: Incident) -> list[str]:
        parts = [part for part in incident.up if part.raised.what == "excess"]
        if not parts:
            return []
        worst = max(parts, key=lambda part: part.raised.value or 0.0)
        cells = {(part.raised.route, part.raised.model) for part in parts}
        tried = sum(
            report.key.perturbation != BASELINE and (report.key.route, report.key.model) in cells
            for report in self._reports()
        )
        clients = worst.raised.clients
        said = [figures.clients(clients)] if len(clients) > 1 else []
        return [f"{_measured(worst)}, {len(parts)} of {max(tried, len(parts))} rewordings", *said]

    def _last(self, incident: Incident) -> tuple[str, ...]:
        said = [f"It was opened at {figures.date_and_time(incident.opened_at)}"]
        if incident.decided_by:
            said.append(f"closed by {incident.decided_by}")
        note = (incident.note.rstrip("."),) if incident.decided and incident.note else ()
        return tuple(f"{one}." for one in (", ".join(said), *note))


def headline(incident: Incident) -> str:
    """What happened, where, when and after what, in one sentence."""
    where = figures.listing(incident.routes)
    begin = min(part.raised.since or part.raised.at for part in incident.parts.values())
    after = f", after {_said(incident)}" if incident.stated else ""
    return f"{where}: {_BECAME[incident.effect]} at {figures.date_and_time(begin)}{after}."


def over_line(incident: Incident) -> str:
    """That it is over, after how long and why, in one sentence."""
    lasted = figures.duration(max(0.0, (incident.closed_at or incident.updated_at) - incident.opened_at))
    why = _ENDED.get(incident.ending, "it ended")
    what = _said(incident)
    reversed_ = f" ({what})" if incident.ending == "reversed" and what else ""
    return f"{figures.listing(incident.routes)}: over after {lasted}, {why}{reversed_}."


def _said(incident: Incident) -> str:
    """The change that is stated in the traffic: "a → b"."""
    marks = [mark for mark in incident.stated if mark.kind not in _UNSAID] or list(incident.stated)
    by_value = dict.fromkeys(
        f"{'' if mark.kind in _MODELS else kinds.NAMES[mark.kind] + ' '}{mark.before} → {mark.after}"
        for mark in marks
    )
    return figures.listing(list(by_value)[:_MOST_SAID])


_MODELS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL))
_UNSAID: Final = frozenset((kinds.FINGERPRINT, kinds.SETTINGS))
"""Not said where something else changed, too."""
_MOST_SAID: Final = 3


def _measured(part: Part) -> str:
    event = part.raised
    points = 100 * (event.value or 0.0)
    limit = "" if event.limit is None else f" (limit {100 * event.limit:g})"
    said = {
        "content": f"{points:.0f} points above noise{limit}",
        "similarity": f"similarity {points:.0f} points below that of resends{limit}",
        "quality": f"quality worse in {points:.0f} points more answers than in resends{limit}",
        "invalid": f"{points:.0f}% of the answers are invalid{limit}",
    }
    return said.get(event.measure, f"{points:.0f} points{limit}")


def _drifted(incident: Incident) -> list[str]:
    drifting = [part for part in incident.up if part.raised.what == "drift"]
    if not drifting:
        return []
    worst = max(drifting, key=lambda part: part.raised.value or 0.0)
    share = worst.raised.value or 0.0
    return [
        f"{figures.count(len(drifting), 'rewording')} drifted from the baseline, up to {share:.0%} shifted"
    ]


def _referenced(incident: Incident) -> list[str]:
    found = next((p.raised for p in incident.up if p.raised.measure in {"references", "traits"}), None)
    if found is None:
        return []
    if found.measure == "traits":
        return [found.summary.rstrip(".")]
    if found.value is None or found.limit is None:
        return ["reference prompts are answered differently"]
    return [f"reference prompts: {found.value:.0%} different, {found.limit:.0%} before"]
