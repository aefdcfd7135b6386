"""Texts of alert events: one sentence for the API, messages and pages."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core import figures, rewordings
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import kinds
from evenkeel.monitor.fold.models import LATEST

if TYPE_CHECKING:
    from evenkeel.core.cells import ChangeMark
    from evenkeel.monitor.incidents import Incident, Part
    from evenkeel.stores.monitor_state import AlertEvent

# Beginnings of sentences by measure.
_RAISED: Final = {
    "content": "Answers are fragile",
    "similarity": "Answers are fragile",
    "quality": "Answers got worse",
    "invalid": "Answers are invalid",
}
_RESOLVED: Final = {
    "content": "Robustness recovered",
    "similarity": "Robustness recovered",
    "quality": "Quality recovered",
    "invalid": "Answers are valid again",
}
_MEASURED: Final = {
    "content": "content moved {points:.0f} points above noise",
    "similarity": "rewording cost {points:.0f} points more similarity than repeating",
    "quality": "quality got worse in {points:.0f} points more answers than in the resend",
    "invalid": "{points:.0f}% of the answers were invalid",
}
# Beginnings of sentences by direction; "" = the drift is over.
_DRIFTED: Final = {
    "risen": "Answers shift more often than they did",
    "fallen": "Answers shift less often than they did",
    "": "Answers shift as often as they did before",
}
_GONE: Final = {
    "": "the change before it was reversed",
    "model": f"{{model}} has not answered any of the last {LATEST:,} sampled exchanges",
    "place": "the model has no traffic any more",
    "prompts": "the prompts in which it was seen come no more, and others have baselines of their own",
}
# Endings of sentences by the reason why a change that nobody announced is over.
_CLOSED: Final = {
    "settled": "no longer new: it is 24 hours old, so answers are compared with those since then from now on",
    "reversed": "over: answers to reference prompts are like those from before it again",
    "replaced": "over: answers have changed once more, which is a change of its own",
}


def summary(event: AlertEvent) -> str:
    """Return what happened, in a sentence or a few."""
    if event.what == "incident":
        return _of_incident(event)
    if event.what == "change":
        return _change_raised(event) if event.kind == "raised" else _change_closed(event)
    if event.reason in {"retired", "reversed", "approved"}:
        return _ended(event)
    return _drift(event) if event.what == "drift" else _excess(event)


def event_json(event: AlertEvent) -> dict[str, Any]:
    """Return an event for machines, with its summary in place of the facts behind it."""
    fields_of_event = asdict(event)
    del fields_of_event["facts"]
    return {**fields_of_event, "summary": summary(event)}


def incident_json(incident: Incident) -> dict[str, Any]:
    """Return an incident for machines: everything but the events themselves."""
    return {**incident.to_json(), "alerts": [_alert_json(part) for part in incident.parts]}


def _alert_json(part: Part) -> dict[str, Any]:
    raised, over = part.raised, part.over
    return {
        "what": raised.what,
        "route": raised.route,
        "model": raised.model,
        "perturbation": raised.perturbation,
        "measure": raised.measure,
        "value": raised.value,
        "limit": raised.limit,
        "limit_source": raised.limit_source,
        "trials": raised.run_trials,
        "clients": raised.clients,
        "raised_at": raised.at,
        "over_at": None if over is None else over.at,
        "reason": "" if over is None else over.reason,
        "event": raised.id,
        "summary": summary(raised),
    }


def _excess(event: AlertEvent) -> str:
    verbs = _RAISED if event.kind == "raised" else _RESOLVED
    verb = verbs.get(event.measure, verbs["content"])
    sentence = _MEASURED.get(event.measure, _MEASURED["content"]).format(points=100 * (event.value or 0.0))
    clients = f" {figures.clients(event.clients)}." if len(event.clients) > 1 else ""
    segment = f", {event.facts.segment} alone" if event.facts.segment else ""
    source = f" ({event.limit_source})" if event.limit_source else ""
    return (
        f"{verb} for {_place(event)}{segment}: {sentence} over the last {event.run_trials} trials, "
        f"limit {figures.limit(event.limit or 0.0)}{source}.{clients}"
    )


def _drift(event: AlertEvent) -> str:
    facts = event.facts
    return (
        f"{_DRIFTED[event.direction]} for {_place(event)}: {event.value or 0.0:.0%} over the last "
        f"{event.run_trials} trials, {facts.baseline or 0.0:.0%} in its "
        f"{'approved' if facts.approved else 'first'} {facts.baseline_trials:,} trials "
        f"(line: {facts.line or 0.0:.0%})."
    )


def _ended(event: AlertEvent) -> str:
    """Describe the end of an alert: its traffic is gone, or somebody approved its level."""
    facts = event.facts
    what = "Drift" if event.what == "drift" else "The alert"
    if event.reason == "approved":
        why = (
            f"{event.by} approved {facts.baseline or 0.0:.0%} in {facts.baseline_trials:,} trials as the "
            "baseline"
        )
    else:
        why = _GONE[facts.gone].format(model=event.model)
    return f"{what} of {_place(event)} is closed: {why}."


def _change_raised(event: AlertEvent) -> str:
    facts = event.facts
    where = f"{event.model or 'the model'} on {event.route}"
    beside = "; ".join(f"{kinds.NAMES[mark.kind]} “{mark.before}” → “{mark.after}”" for mark in facts.beside)
    coincided = f" At the same time: {beside}." if beside else ""
    since = figures.date_and_time(event.since or event.at)
    after = figures.date_and_time(event.after or event.at)
    when = f"since {since}" if after == since else f"since some time between {after} and {since}"
    unchanged = "" if beside else ", and no other model name or fingerprint was noticed"
    return (
        f"{where} answers differently {when}: new answers to reference prompts are "
        f"{1 - (event.value or 0.0):.0%} like the earlier ones, which are {1 - (event.limit or 0.0):.0%} "
        f"like each other ({event.trials} calls). The very same requests were sent, so neither prompt, "
        f"parameters nor traffic explain it{unchanged}.{coincided}"
    )


def _change_closed(event: AlertEvent) -> str:
    noticed = figures.date_and_time(event.facts.noticed_at or event.at)
    whose = event.model or "the model"
    return f"The change of {whose} on {event.route}, noticed {noticed}, is {_CLOSED[event.reason]}."


def _of_incident(event: AlertEvent) -> str:
    if event.kind == "explained":
        named = kinds.select(event.marks, kinds.CAUSES) or event.marks
        return f"Noticed before it: {_values(named)}." if named else ""
    if event.kind == "followed":
        return f"Changed since: {_values(event.marks)}."
    if event.kind == "reopened":
        return f"It was closed as rolled back, but {event.facts.still} still answers."
    return event.note


def _values(marks: list[ChangeMark] | tuple[ChangeMark, ...]) -> str:
    return figures.listing([f"{mark.before} → {mark.after}" for mark in marks])


def _place(event: AlertEvent) -> str:
    return f"{named(event.perturbation)} on {event.route} ({event.model})"


def named(perturbation: str) -> str:
    """Name a rewording, a group of rewordings or the resend, for readers who do not know groups."""
    if perturbation == BASELINE:
        return "identical resends"
    is_group = together_count(perturbation) > 1
    return rewordings.phrase(perturbation) if is_group else rewordings.label(perturbation)
