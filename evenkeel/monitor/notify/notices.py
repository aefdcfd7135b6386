"""Messages about incidents, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast
from urllib.parse import quote

from evenkeel.core import figures
from evenkeel.core.together import by_themselves, together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.incidents.incident import GRAVEST
from evenkeel.monitor.notify.alerts import incident_json, named
from evenkeel.monitor.notify.tool_words import largest_change

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from evenkeel.core.cells import CellReport, ChangeMark
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.prompt_edit import WordChange
    from evenkeel.monitor.incidents import Case, Incident, Part
    from evenkeel.monitor.incidents.incident import Effect
    from evenkeel.monitor.measuring import HoldUp
    from evenkeel.stores.monitor_state import ChannelState

Phase = Literal["opened", "updated", "resolved"]
MOST_MESSAGES: Final = 3
"""Most messages about one incident on one channel."""
SCHEMA: Final = "evenkeel.incident/1"
"""Name of the JSON schema: fields may be added under it, but none is removed or changed."""

# Words before a time, by effect.
_BECAME: Final[dict[Effect, str]] = {
    "worse": "answers got worse at",
    "fragile": "answers became fragile at",
    "invalid": "answers ignore the format or language asked for since",
    "different": "answers are different since",
    "unsteady": "answers are less steady since",
    "steadier": "answers are steadier since",
}
_HAD: Final[dict[Effect, str]] = {
    "worse": "answers had got worse",
    "fragile": "answers had become fragile",
    "invalid": "answers had ignored the format or language asked for",
    "different": "answers had been different",
    "unsteady": "answers had been less steady",
    "steadier": "answers had been steadier",
}
# Words for an incident that goes back to the beginning: while it is open, and later.
_ALWAYS: Final[dict[Effect, tuple[str, str]]] = {
    "worse": ("answers to rewordings have been worse", "answers to rewordings were worse"),
    "fragile": ("answers have been fragile", "answers were fragile"),
    "invalid": (
        "answers have ignored the format or language asked for",
        "answers ignored the format or language asked for",
    ),
}
_RATED: Final = {1: "a different message", 2: "some details differ"}
EXAMPLES: Final = "Examples (the original question still got the same answer):"
# Words after "is over: ", by ending.
_ENDED: Final = {
    "recovered": "answers are as they should be again",
    "reversed": "the change was reversed",
    "retired": "{model} no longer answers",
    "approved": "its level was approved as the new baseline",
    "settled": "answers have been as they are now for a day",
    "replaced": "answers have changed once more",
    "accepted": "accepted as the new baseline",
    "rolled_back": "closed as rolled back",
    "false_alarm": "closed as a false alarm",
}


@dataclass(frozen=True, slots=True)
class Contact:
    """Contact of a route: its owner, and how to roll it back."""

    owner: str = ""
    runbook_url: str = ""
    rollback: str = ""
    """Command, sentence or URL for a rollback."""


@dataclass(frozen=True, slots=True)
class NoticeMessage:
    """Message about the monitor itself, not about an incident."""

    title: str
    body: str
    good: bool
    """True if it only reports that something is over."""
    about: str = "not-measured"
    """Name of the subject, for services that join messages of one subject."""


@dataclass(frozen=True, slots=True)
class NoticeExample:
    """Example: a trial that shows what happened."""

    trial: str
    """Id of the trial."""
    perturbation: str
    rating: int | None
    url: str = ""
    """Address in the console; "" if it is not known."""

    @property
    def said(self) -> str:
        """Description of the rewording and its effect, without anybody's text."""
        return f"{named(self.perturbation)}, {_RATED.get(self.rating or 0, 'rated as changed')}"


@dataclass(frozen=True, slots=True)
class Notice:
    """Message about an incident, or about incidents with one cause."""

    incident: Incident
    """Incident that the notice is about; several with one cause are combined."""
    phase: Phase
    number: int
    """Number of the message about this incident on this channel: 1 for the first, at most 3."""
    headline: str
    facts: tuple[str, ...]
    """Sentences on the size of the change, its beginning, and other facts."""
    contact: Contact
    url: str
    """Address of the incident in the console; "" if it is not known."""
    examples: tuple[NoticeExample, ...] = ()
    members: tuple[str, ...] = ()
    """Ids of the incidents behind the notice, if there are several."""

    @property
    def good(self) -> bool:
        """True if it only reports that the incident is over."""
        return self.phase == "resolved"

    @property
    def advice(self) -> tuple[str, ...]:
        """Lines with severity, owner, rollback and runbook, as far as they are known."""
        contact, going = self.contact, not self.good
        values = {
            "Severity": self.incident.severity if going else "",
            "Owner": contact.owner,
            "Roll back": contact.rollback if going else "",
            "Runbook": contact.runbook_url if going else "",
        }
        return tuple(f"{name}: {value}" for name, value in values.items() if value)

    @property
    def shown(self) -> tuple[NoticeExample, ...]:
        """Examples that can be opened."""
        return self.examples if self.url else ()

    @property
    def link(self) -> tuple[str, str]:
        """Name and address of the page of the incident, or of the list if there are several."""
        return ("Open all", self.url.rpartition("/")[0]) if self.members else ("Open", self.url)

    @property
    def body(self) -> str:
        """Text below the headline."""
        shown = []
        for example in self.shown:
            shown.append(f"- {example.said}: {example.url}")
        paragraphs = [
            " ".join(self.facts),
            "\n".join(self.advice),
            "\n".join([EXAMPLES, *shown]) if shown else "",
            ": ".join(self.link) if self.url else "",
        ]
        return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)

    @property
    def text(self) -> str:
        """Whole notice as text."""
        return f"{self.headline}\n\n{self.body}" if self.body else self.headline

    def to_json(self) -> dict[str, Any]:
        """Return the notice for machines (see `SCHEMA`)."""
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
            "examples": [asdict(example) for example in self.examples],
            "incidents": list(self.members) or [self.incident.id],
            "incident": incident_json(self.incident),
        }


def next_phase(incident: Incident, sent: ChannelState | None) -> Phase | None:
    """Return the phase that a channel has to report about an incident now; None if nothing.

    Args:
        incident: the incident in its present state.
        sent: the channel's last message about it.

    Returns: "opened" first, unless it is over already or only good news; "resolved" once it is over;
        "updated" if it became graver, shows on further routes, goes on after it was over or after another
        change, and a message is left to say that it is over.
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
    graver = GRAVEST.index(incident.effect) < GRAVEST.index(cast("Effect", sent.effect))
    more = len(incident.routes) > sent.routes or len(incident.in_vain) > sent.attempts
    return "updated" if (graver or more) and sent.messages < MOST_MESSAGES - 1 else None


@dataclass(frozen=True, slots=True)
class Writer:
    """Writer of notices."""

    contacts: Mapping[str, Contact] = field(default_factory=dict)
    """Contact of each route."""
    console_url: str = ""
    """Address of the console, "" if it is not known."""
    reports: Callable[[], Sequence[CellReport]] = list
    """Reports of all cells, to say how far above noise answers are, and under how many rewordings."""
    trials: Callable[[Incident], Sequence[Verdict]] = lambda _incident: ()
    """Trials behind an incident, the worst first; blocks on storage."""
    edits: Callable[[str, Sequence[ChangeMark]], Sequence[WordChange]] = lambda _route, _marks: ()
    """Words that changed with a prompt version, by route and marks; blocks on storage."""
    thinned: Callable[[], Sequence[HoldUp]] = tuple
    """Reasons for which only a part of what is sampled is measured now."""
    coincided: Callable[[str], str] = lambda _change: ""
    """Possible causes of a change in a few words, by its id; "" if there is no report."""

    @property
    def home(self) -> tuple[str, ...]:
        """Address of the console; empty if it is not known."""
        address = self.console_url.rstrip("/")
        return (address,) if address else ()

    def held_up(self, cause: HoldUp) -> str:
        """Return a paragraph about what holds measuring up, with its runbook."""
        runbook = self._url("docs/runbooks", cause.runbook)
        return f"{cause.sentence} Runbook: {runbook}" if runbook else cause.sentence

    def notice(self, incident: Incident, phase: Phase, number: int) -> Notice:
        """Return the notice about an incident as it is, without examples."""
        contact, url = self._contact(incident), self._url("incidents", incident.id)
        if phase == "resolved":
            said, facts = resolved_line(incident), _last(incident)
        else:
            said, facts = headline(incident), self.facts(incident)
        return Notice(incident, phase, number, said, facts, contact, url)

    def message(self, case: Case, phase: Phase, number: int, sent: ChannelState | None) -> Notice:
        """Return the message about incidents with one cause as they are. Blocks on storage.

        Args:
            case: the incidents.
            phase: state of the case that the message reports.
            number: 1 for the first about them.
            sent: the previous message; None if there was none.
        """
        notice = self.notice(case.whole, phase, number)
        if len(case.members) > 1:
            notice = replace(notice, members=tuple(member.id for member in case.members))
        if phase == "resolved":
            return notice
        examples = []
        for verdict in self.trials(notice.incident):
            url = self._url("verdicts", verdict.id)
            examples.append(NoticeExample(verdict.id, verdict.perturbation, verdict.rating, url))
        late = held_back(self.thinned(), notice.incident)
        facts = [*_news(notice.incident, sent), *notice.facts, *self._edited(notice.incident), *late]
        return replace(notice, facts=tuple(facts), examples=tuple(examples))

    def _edited(self, incident: Incident) -> list[str]:
        edits = self.edits(incident.routes[0], incident.stated)
        if not edits:
            return []
        listed = "; ".join(edit.said for edit in edits[:_MOST_EDITS])
        more = len(edits) - _MOST_EDITS
        return [f"Words of the prompt that changed: {listed}{f'; {more} more' if more > 0 else ''}."]

    def _url(self, folder: str, name: str) -> str:
        return f"{self.home[0]}/{folder}/{quote(name, safe='')}" if self.home else ""

    def _contact(self, incident: Incident) -> Contact:
        owners, runbooks, rollbacks = {}, {}, {}
        for route in incident.routes:
            contact = self.contacts.get(route)
            if contact is not None:
                owners[route] = contact.owner
                runbooks[route] = contact.runbook_url
                rollbacks[route] = contact.rollback
        return Contact(_by_route(owners), _by_route(runbooks), _by_route(rollbacks))

    def facts(self, incident: Incident) -> tuple[str, ...]:
        """Return possible causes, how far answers moved and under how many rewordings, and other evidence."""
        coincided = self.coincided(incident.change) if incident.change else ""
        facts_listed = [
            *([f"it coincided with {coincided}"] if coincided else ()),
            *([_came_later(incident)] if incident.later else ()),
            *self._rewordings(incident),
            *self._tools(incident),
            *self._drifted(incident),
            *_referenced(incident),
            *_context(incident),
            *self._unjudged(incident),
        ]
        return _capitalized(facts_listed)

    def _rewordings(self, incident: Incident) -> list[str]:
        parts = _alerts_of(incident.present, "excess")
        if not parts:
            return []
        gravest = [part for part in parts if part.effect == incident.effect]
        worst = max(
            by_themselves(gravest or parts, lambda part: part.raised.perturbation),
            key=lambda part: part.raised.value or 0.0,
        )
        clients = worst.raised.clients
        sentences = [figures.clients(clients)] if len(clients) > 1 else []
        measured = _measured(worst, self._report(worst)) if incident.stated else _lately(worst)
        return [f"{measured}, {self._affected(parts, is_known=incident.stated != ())}", *sentences]

    def _tools(self, incident: Incident) -> list[str]:
        tools = []
        for part in _alerts_of(incident.present, "excess"):
            report = self._report(part)
            if report is not None and report.tools:
                tools.append(report.tools)
        change = largest_change(tools)
        return [change] if change else []

    def _affected(self, parts: Sequence[Part], *, is_known: bool) -> str:
        """Describe how many tried rewordings have these alerts; "so far" unless the others hold.

        Groups count only if no single rewording has an alert: a group moves with any of its rewordings.

        Args:
            parts: the alerts.
            is_known: whether the beginning is known, so that estimates hold no trials from before it.
        """
        cells = {(part.raised.route, part.raised.model) for part in parts}
        parts = by_themselves(parts, lambda part: part.raised.perturbation)
        affected = set()
        for part in parts:
            affected.add((part.raised.route, part.raised.model, part.raised.perturbation))
        groups = all(together_count(name) > 1 for *_, name in affected)
        others = []
        for report in self.reports():
            if (
                report.key.perturbation != BASELINE
                and report.key.parts[:2] in cells
                and report.key.parts not in affected
                and (together_count(report.key.perturbation) > 1) == groups
            ):
                others.append(report)
        so_far = "" if all(is_known and _holds(report) for report in others) else " so far"
        routes = {route for route, _ in cells}
        on = f" on {len(routes)} routes" if len(routes) > 1 else ""
        of = "groups of rewordings" if groups else "rewordings"
        return f"{len(parts)} of {len(parts) + len(others)} {of}{on}{so_far}"

    def _report(self, part: Part) -> CellReport | None:
        event = part.raised
        key = (event.route, event.model, event.perturbation)
        return next((report for report in self.reports() if report.key.parts == key), None)

    def _unjudged(self, incident: Incident) -> list[str]:
        """Return what a loss of similarity cannot show where no judge rates the answers."""
        for part in incident.present:
            report = self._report(part)
            if part.raised.measure == "similarity" and report is not None and report.scorer == "metrics":
                return [figures.NO_JUDGE]
        return []

    def _drifted(self, incident: Incident) -> list[str]:
        resends: list[Part] = []
        others: list[Part] = []
        for part in _alerts_of(incident.up, "drift"):
            (resends if part.raised.perturbation == BASELINE else others).append(part)
        lines = []
        if resends:
            lines.append(f"answers to identical resends changed in {_drift(resends)}")
        others = by_themselves(others, lambda part: part.raised.perturbation)
        if others:
            worst = max(others, key=lambda part: part.raised.value or 0.0).raised.perturbation
            affected = self._affected(others, is_known=False)
            lines.append(f"answers to {named(worst)} changed in {_drift(others)}, {affected}")
        return lines


def _drift(parts: Sequence[Part]) -> str:
    """Return how often answers changed under the worst of several alerts."""
    event = max(parts, key=lambda part: part.raised.value or 0.0).raised
    before = "" if event.facts.baseline is None else f", {event.facts.baseline:.0%} before"
    return f"{event.value or 0.0:.0%} of the {event.run_trials} trials up to the alert{before}"


def _last(incident: Incident) -> tuple[str, ...]:
    sentences = [f"It was opened at {figures.date_and_time(incident.opened_at)}"]
    if incident.acknowledged_by:
        sentences.append(f"acknowledged by {incident.acknowledged_by}")
    if incident.decided_by:
        sentences.append(f"closed by {incident.decided_by}")
    note = (incident.note.rstrip("."),) if incident.decided and incident.note else ()
    came = (_came_later(incident),) if incident.later else ()
    return _capitalized([", ".join(sentences), past_effect(incident), *came, *note])


def held_back(thinned: Iterable[HoldUp], incident: Incident) -> list[str]:
    """Return a sentence for each reason for which only a part of an incident's traffic is measured."""
    sentences = []
    for cause in thinned:
        if not cause.routes or set(cause.routes) & set(incident.routes):
            sentences.append(f"{cause.said}. What happens meanwhile, a rollback too, is noticed later.")
    return sentences


def _alerts_of(parts: Iterable[Part], what: Literal["excess", "drift"]) -> list[Part]:
    """Return the alerts of one kind."""
    alerts = []
    for part in parts:
        if part.raised.what == what:
            alerts.append(part)
    return alerts


def _capitalized(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences)


def _by_route(values: Mapping[str, str]) -> str:
    """Return one value if the routes agree, else each with its routes."""
    routes: dict[str, list[str]] = {}
    for route, value in values.items():
        if value:
            routes.setdefault(value, []).append(route)
    if len(routes) < 2:  # noqa: PLR2004 - nothing to tell apart
        return "".join(routes)
    named = []
    for value, those in routes.items():
        named.append(f"{value} ({_few(those)})")
    more = len(named) - _MOST_NAMED
    return "; ".join((*named[:_MOST_NAMED], *([f"{more} more"] if more > 0 else ())))


def _few(names: Sequence[str]) -> str:
    """Join names in a sentence; of many only the first, since services refuse messages that are too long."""
    more = len(names) - _MOST_NAMED
    return f"{', '.join(names[:_MOST_NAMED])} and {more} more" if more > 0 else figures.listing(names)


# Most routes, owners and links that a message lists; the page shows all.
_MOST_NAMED: Final = 12


def _news(incident: Incident, sent: ChannelState | None) -> list[str]:
    if sent is None:
        return []
    if sent.phase == "resolved":
        return ["It goes on, after it was reported as over."]
    lines = []
    if incident.effect != sent.effect:
        lines.append(f"The last message said that {_HAD[cast('Effect', sent.effect)]}.")
    if len(incident.routes) > sent.routes:
        lines.append(f"Now on {len(incident.routes)} routes, before on {sent.routes}.")
    return lines


def _context(incident: Incident) -> list[str]:
    lines = []
    if _always(incident):
        lines.append("how they were before that is not known")
    elif not incident.stated:
        lines.append("no change of model, prompt, parameters or judge was noticed before it")
    if len(incident.routes) > _MOST_ROUTES:
        lines.append(f"routes: {_few(incident.routes)}")
    if incident.acknowledged_by:
        lines.append(f"acknowledged by {incident.acknowledged_by}")
    return lines


def _came_later(incident: Incident) -> str:
    """Describe changes during an incident, and whether answers are known to be no better since."""
    at = figures.date_and_time(incident.later[-1].at)
    no_better = ", and answers are no better since" if incident.later[-1] in incident.in_vain else ""
    return f"changed again at {at}: {_changes(incident.later)}{no_better}"


def headline(incident: Incident) -> str:
    """Return a sentence on the event, the route, the time and the change before it."""
    times = [mark.at for mark in incident.stated]
    begin = min(times or (part.raised.since or part.raised.at for part in incident.parts))
    if _always(incident):
        have_been, _ = _ALWAYS[incident.effect]
        return (
            f"{_where(incident)}: {have_been} since measuring began, noticed {figures.date_and_time(begin)}."
        )
    after = f", after {_said(incident)}" if incident.stated else ""
    return f"{_where(incident)}: {_BECAME[incident.effect]} {figures.date_and_time(begin)}{after}."


def log_line(incident: Incident) -> str:
    """Return the state of an incident as one line for the log."""
    by = f" by {incident.acknowledged_by}" if incident.state == "acknowledged" else ""
    return f"[evenkeel] INCIDENT {incident.state}{by}: {current_line(incident)}"


def current_line(incident: Incident) -> str:
    """Return a sentence that says what happened, or that the incident is resolved."""
    return resolved_line(incident) if incident.state == "resolved" else headline(incident)


def _always(incident: Incident) -> bool:
    return incident.effect in _ALWAYS and incident.from_the_start


def past_effect(incident: Incident) -> str:
    """Return the effect on the answers, in the past tense, for an incident that is resolved."""
    return _ALWAYS[incident.effect][1] if _always(incident) else _HAD[incident.effect]


def resolved_line(incident: Incident) -> str:
    """Return a sentence that an incident is resolved, after how long and why."""
    lasted = figures.duration(max(0.0, (incident.closed_at or incident.updated_at) - incident.opened_at))
    why = _ENDED.get(incident.ending, "it ended").format(model=incident.model or "the model")
    what = _said(incident)
    if incident.ending == "reversed" and what:
        why = f"the change {what} was reversed"
    return f"{_where(incident)}: resolved after {lasted}, {why}."


def _where(incident: Incident) -> str:
    routes = incident.routes
    if len(routes) <= _MOST_ROUTES:
        return figures.listing(routes)
    return f"{', '.join(routes[: _MOST_ROUTES - 1])} and {len(routes) - _MOST_ROUTES + 1} more routes"


# Most routes named in a headline.
_MOST_ROUTES: Final = 4


def _said(incident: Incident) -> str:
    return _changes(incident.stated)


def _changes(stated: Sequence[ChangeMark]) -> str:
    marks = [mark for mark in stated if mark.kind not in _UNSAID] or list(stated)
    values: dict[str, None] = {}
    for mark in marks:
        name = "" if mark.kind in _MODELS else f"{kinds.NAMES[mark.kind]} "
        values[f"{name}{mark.before} → {mark.after}"] = None
    return figures.listing(list(values)[:_MOST_SAID])


# Kinds whose values name themselves: "model a → b" would say it twice.
_MODELS: Final = frozenset((kinds.MODEL, kinds.REQUESTED_MODEL))
# Kinds that are left out if something else changed, too.
_UNSAID: Final = frozenset((kinds.FINGERPRINT, kinds.SETTINGS))
_MOST_SAID: Final = 3
# Most changes of words in a prompt that a message has.
_MOST_EDITS: Final = 3


def _measured(part: Part, report: CellReport | None) -> str:
    """Describe how far answers moved: by the cell's figure if that is over the limit, else by the alert."""
    event = part.raised
    above = report.current.excess if report else None
    if report is None or above is None or above.lower < report.detection.threshold:
        return _lately(part)
    ends = f"[{100 * above.lower:.0f}, {100 * above.upper:.0f}]"
    noise = f"{100 * above.value:.0f} points above noise {ends}"
    behind = (named(event.perturbation), figures.count(above.n, "trial"))
    if event.measure != "content":
        return f"{_alerted(part, ())}; now {noise} ({', '.join(behind)})"
    return f"{noise} ({', '.join((*_limit(part), *behind))})"


def _holds(report: CellReport) -> bool:
    above = report.current.excess
    return above is not None and above.upper <= report.detection.threshold


def _lately(part: Part) -> str:
    """Describe how far answers moved in the trials that raised the alert, without earlier trials."""
    event = part.raised
    return _alerted(part, (named(event.perturbation), figures.count(event.run_trials, "trial")))


def _limit(part: Part) -> tuple[str, ...]:
    limit = part.raised.limit
    return () if limit is None else (f"limit {100 * limit:.3g}",)


def _alerted(part: Part, more: tuple[str, ...]) -> str:
    points = 100 * (part.raised.value or 0.0)
    figures_by_measure = {
        "content": f"{points:.0f} points above noise",
        "segment": f"{points:.0f} points above noise for {part.raised.facts.segment}",
        "similarity": f"answers to reworded questions {points:.0f} points less similar than repeats",
        "quality": f"quality worse in {points:.0f} points more answers than in resends",
        "invalid": f"{points:.0f}% of the answers invalid",
    }
    bounds = ", ".join((*_limit(part), *more))
    figure = figures_by_measure.get(part.raised.measure, f"{points:.0f} points")
    return f"{figure} when the alert was raised{f' ({bounds})' if bounds else ''}"


def _referenced(incident: Incident) -> list[str]:
    for part in incident.up:
        event = part.raised
        if event.measure == "references" and event.value is not None and event.limit is not None:
            return [f"reference prompts: {event.value:.0%} different, {event.limit:.0%} before"]
    return []
