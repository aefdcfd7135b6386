"""Services that messages go to. Addresses, tokens and keys are secrets: none is ever shown or logged."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import logging
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import httpx2

from evenkeel.core.calls import blocking_client, explained
from evenkeel.core.figures import iso
from evenkeel.core.network import NetworkError, share_trust_with_requests
from evenkeel.core.text import visible
from evenkeel.monitor.notify.channel import Sink
from evenkeel.monitor.notify.notices import EXAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.monitor.notify.notices import Notice, NoticeMessage

# A service that does not answer must not hold up the others for long.
_TIMEOUT_S: Final = 5.0
_SLACK: Final = "https://slack.com/api"
_PAGERDUTY: Final = "https://events.pagerduty.com/v2/enqueue"
# Most characters of the source in PagerDuty's events.
_MOST_SOURCE: Final = 1_024
# Most characters of one text in Slack, which takes 3,000; Teams and PagerDuty take more.
_MOST_TEXT: Final = 2_900


class _Poster(Sink):
    # Services have no representation of their fields: addresses, tokens and keys are secrets.
    client: httpx2.Client | None
    problem: str = ""

    def _post(self, url: str, body: Mapping[str, Any]) -> bool:
        return self._posted(url, json.dumps(body).encode()) is not None

    def _posted(
        self, url: str, content: bytes, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response | None:
        """Return the answer to a post; None if it failed, redirects and errors included."""
        sent = {"content-type": "application/json", **(headers or {})}
        try:
            self.client = self.client or blocking_client(url, _TIMEOUT_S)
            response = self.client.post(url, content=content, headers=sent)
        except NetworkError as error:
            self.problem = str(error)
            return None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            # The text of other errors may repeat the address, which is a secret.
            self.problem = explained(error) or type(error).__name__
            return None
        self.problem = "" if response.is_success else f"status {response.status_code}"
        return response if response.is_success else None


@dataclass(eq=False, repr=False)
class Webhook(_Poster):
    """Webhook that posts notices as JSON to any URL, signed if there is a secret.

    The signature is that of Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`,
    "v1," and the base64 of HMAC-SHA256 over `ID.TIMESTAMP.BODY`. A delivery that is tried again has the same
    id.
    """

    url: str
    secret: str = ""
    """Signs the posts; "" = they are not signed. After `whsec_` it is base64, as the standard has it."""
    client: httpx2.Client | None = None
    clock: Callable[[], float] = time.time
    """Unix time in seconds."""

    def __post_init__(self) -> None:
        self.name = f"the webhook at {urlsplit(self.url).hostname or '?'}"
        self._key = self.secret.encode()
        if self.secret.startswith("whsec_"):
            self._key = base64.b64decode(self.secret.removeprefix("whsec_"))

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Post a notice (`evenkeel.monitor.notify.notices.SCHEMA`)."""
        del receipt
        name = f"{notice.incident.id}-{notice.number}"
        return "" if self._signed(name, {"id": name, **notice.to_json()}) else None

    def tell(self, message: NoticeMessage) -> bool:
        """Post a message about the monitor itself."""
        digest_text = f"{message.title}{self.clock() // 60}".encode("utf-8", "replace")
        name = hashlib.sha256(digest_text).hexdigest()[:16]
        body = {"schema": "evenkeel.message/1", "source": "evenkeel", "id": name}
        return self._signed(
            name, {**body, "title": message.title, "text": message.body, "good": message.good}
        )

    def _signed(self, name: str, body: Mapping[str, Any]) -> bool:
        content = json.dumps(body).encode()
        at = str(int(self.clock()))
        headers = {"webhook-id": name, "webhook-timestamp": at}
        if self.secret:
            signed = hmac.digest(self._key, f"{name}.{at}.".encode() + content, "sha256")
            headers["webhook-signature"] = f"v1,{base64.b64encode(signed).decode()}"
        return self._posted(self.url, content, headers) is not None


@dataclass(eq=False, repr=False)
class Slack(_Poster):
    """Slack channel; later messages about an incident update the first one and join its thread."""

    token: str
    """Token of a bot with the scope `chat:write`."""
    channel: str
    """Id or name of the channel."""
    client: httpx2.Client | None = None
    base_url: str = _SLACK
    # True if Slack refused the last call because of the message that it refers to.
    _refused: bool = False

    def __post_init__(self) -> None:
        self.name = f"Slack {self.channel}"

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Post the first notice; for later ones, update the first and reply in its thread.

        Where Slack refuses the one or the other, as of a message that somebody deleted, it is posted anew.
        """
        shown = self._shown(notice)
        if not receipt:
            return self._call("chat.postMessage", shown)
        if not self.show(notice, receipt):
            return None
        if self._call("chat.postMessage", {"thread_ts": receipt, **shown}) is not None:
            return receipt
        return self._call("chat.postMessage", shown) if self._refused else None

    def show(self, notice: Notice, receipt: str) -> bool:
        """Update the first message; one that can no longer be edited stays as it is."""
        taken = not receipt or self._call("chat.update", {"ts": receipt, **self._shown(notice)}) is not None
        return taken or self._refused

    def tell(self, message: NoticeMessage) -> bool:
        """Post a message about the monitor itself."""
        payload = {"channel": self.channel, "text": f"*{_escaped(message.title)}*\n{_escaped(message.body)}"}
        return self._call("chat.postMessage", payload) is not None

    def _shown(self, notice: Notice) -> dict[str, Any]:
        mark = ":large_green_circle:" if notice.good else _MARKS[notice.incident.severity]
        parts = [f"{mark} *{_escaped(notice.headline)}*"]
        if notice.facts:
            parts.append(_escaped(" ".join(notice.facts)))
        if notice.advice:
            parts.append("\n".join(_escaped(line) for line in notice.advice))
        if notice.shown:
            listed = (f"• <{example.url}|{_escaped(example.said)}>" for example in notice.shown)
            parts.append("\n".join([EXAMPLES, *listed]))
        name, url = notice.link
        if url:
            parts.append(f"<{url}|{name}>")
        blocks = []
        for part in parts:
            blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": part[:_MOST_TEXT]}})
        return {"channel": self.channel, "text": _escaped(notice.headline)[:_MOST_TEXT], "blocks": blocks}

    def _call(self, method: str, body: Mapping[str, Any]) -> str | None:
        """Call the API; return the time stamp that names the message, None if it was not accepted."""
        headers = {"authorization": f"Bearer {self.token}"}
        self._refused = False
        response = self._posted(f"{self.base_url}/{method}", json.dumps(body).encode(), headers)
        if response is None:
            return None
        try:
            reply = response.json()
        except (ValueError, RecursionError):
            reply = None
        if not isinstance(reply, dict) or reply.get("ok") is not True:
            error = reply.get("error") if isinstance(reply, dict) else None
            self.problem = f"Slack says {error}" if isinstance(error, str) else "no answer of Slack's"
            self._refused = error in _OF_THE_FIRST
            return None
        return str(reply.get("ts", ""))


_MARKS: Final = {
    "critical": ":red_circle:",
    "warning": ":large_orange_circle:",
    "info": ":large_blue_circle:",
}
# Errors that no further attempt would fix: the first message is gone, or may not be edited.
_OF_THE_FIRST: Final = frozenset(
    ("message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found")
)


def _escaped(text: str) -> str:
    """Escape text so that Slack sees no link, mention or channel in it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _unlinked(text: str) -> str:
    """Part the brackets of a Markdown link, so that the text of a card holds none that a client wrote."""
    return text.replace("](", "] (")


def _text_block(text: str, **style: str) -> dict[str, Any]:
    return {"type": "TextBlock", "text": text, "wrap": True, **style}


@dataclass(eq=False, repr=False)
class Teams(_Poster):
    """Workflow of Microsoft Teams that takes adaptive cards; only new messages are possible."""

    url: str
    """Address of a workflow that begins "when a webhook request is received"."""
    client: httpx2.Client | None = None
    name: str = "Teams"

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Post a notice as a card."""
        del receipt
        color = (
            "Good" if notice.good else "Attention" if notice.incident.severity == "critical" else "Warning"
        )
        body = [_text_block(_unlinked(notice.headline), weight="Bolder", color=color)]
        if notice.facts:
            body.append(_text_block(_unlinked(" ".join(notice.facts))))
        if notice.advice:
            facts = []
            for line in notice.advice:
                name, _, value = line.partition(": ")
                facts.append({"title": _unlinked(name), "value": _unlinked(value)})
            body.append({"type": "FactSet", "facts": facts})
        if notice.shown:
            listed = (f"- [{_unlinked(example.said)}]({example.url})" for example in notice.shown)
            body.append(_text_block("\n".join([EXAMPLES, "", *listed])))
        return "" if self._card(body, notice.link) else None

    def tell(self, message: NoticeMessage) -> bool:
        """Post a message about the monitor itself."""
        bold = _text_block(_unlinked(message.title), weight="Bolder")
        return self._card([bold, _text_block(_unlinked(message.body))], ("", ""))

    def _card(self, body: list[dict[str, Any]], link: tuple[str, str]) -> bool:
        name, url = link
        card = {
            "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
            "type": "AdaptiveCard",
            "version": "1.4",
            "body": body,
            "actions": [{"type": "Action.OpenUrl", "title": name, "url": url}] if url else [],
        }
        kind = "application/vnd.microsoft.card.adaptive"
        attachment = {"contentType": kind, "contentUrl": None, "content": card}
        return self._post(self.url, {"type": "message", "attachments": [attachment]})


_QUIET: Final = {"acknowledged": "acknowledge", "resolved": "resolve"}


@dataclass(eq=False, repr=False)
class PagerDuty(_Poster):
    """PagerDuty service; the Events API v2 triggers and resolves incidents under their ids."""

    routing_key: str
    """Key of an integration "Events API v2"."""
    client: httpx2.Client | None = None
    url: str = _PAGERDUTY
    name: str = "PagerDuty"

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Trigger the incident, again if it became graver, or resolve it."""
        del receipt
        return "" if self._event(notice, "resolve" if notice.good else "trigger") else None

    def show(self, notice: Notice, receipt: str) -> bool:
        """Acknowledge or resolve the incident, which pages nobody."""
        del receipt
        action = _QUIET.get(notice.incident.state)
        return action is None or self._event(notice, action)

    def _event(self, notice: Notice, action: str) -> bool:
        incident = notice.incident
        body: dict[str, Any] = {}
        if action == "trigger":
            body["client"] = "evenkeel"
            body["payload"] = {
                "summary": notice.headline[:1024],
                "source": ", ".join(incident.routes)[:_MOST_SOURCE],
                "severity": incident.severity,
                "timestamp": iso(incident.opened_at),
                "component": incident.model,
                "class": incident.effect,
                "custom_details": notice.to_json(),
            }
            if notice.url:
                body["client_url"] = notice.url
                name, url = notice.link
                body["links"] = [{"href": url, "text": f"{name} in evenkeel"}]
        return self._enqueue(action, incident.id, body)

    def tell(self, message: NoticeMessage) -> bool:
        """Trigger or resolve the incident that robustness is not measured."""
        if message.good:
            return self._enqueue("resolve", message.about, {})
        summary = f"{message.title}: {message.body}"[:1024]
        payload = {"summary": summary, "source": "evenkeel", "severity": "warning"}
        return self._enqueue("trigger", message.about, {"payload": payload})

    def _enqueue(self, action: str, about: str, body: Mapping[str, Any]) -> bool:
        head = {"routing_key": self.routing_key, "event_action": action, "dedup_key": f"evenkeel-{about}"}
        return self._post(self.url, {**head, **body})


_AppriseKind: TypeAlias = Literal["success", "info", "failure"]


class UnknownServiceError(Exception):
    """Error for an address that apprise does not understand. The message does not show it."""


class AppriseSink(Sink):
    """Sink that sends to the service of one apprise URL.

    It opens its service at the first message, because loading all of apprise would delay the start.
    """

    def __init__(self, name: str, url: str) -> None:
        """Keep the address, which is a secret.

        Args:
            name: name in logs, such as that of the variable that holds the URL.
            url: see https://github.com/caronc/apprise/wiki.
        """
        self.name = name
        self.problem = ""
        self._url = url
        self._service: Any = None

    def open(self) -> None:
        """Load the service. Takes about a second.

        Raises:
            ImportError: the extra `notify` is not installed.
            UnknownServiceError: no such service.
        """
        import apprise  # noqa: PLC0415 - an optional extra

        share_trust_with_requests()

        # Its log lines hold parts of addresses.
        logging.getLogger("apprise").disabled = True
        asset = apprise.AppriseAsset(async_mode=False, app_id="evenkeel", app_desc="evenkeel")
        service = apprise.Apprise(asset=asset)
        with warnings.catch_warnings():
            # Its services load modules that newer Pythons lack, and warn of it.
            warnings.simplefilter("ignore")
            is_accepted = service.add(self._url)
        if not is_accepted:
            raise UnknownServiceError(f"{self.name} holds no address that apprise knows")
        self._service = service

    def send(self, notice: Notice, receipt: str) -> str | None:
        """Send a notice as a message."""
        del receipt
        kind: _AppriseKind = "failure"
        if notice.good:
            kind = "success"
        elif notice.phase == "updated":
            kind = "info"
        return "" if self._notify(f"[evenkeel] {notice.headline}", notice.body, kind) else None

    def tell(self, message: NoticeMessage) -> bool:
        """Send a message about the monitor itself."""
        return self._notify(message.title, message.body, "success" if message.good else "failure")

    def _notify(self, title: str, body: str, kind: _AppriseKind) -> bool:
        self.problem = ""
        try:
            if self._service is None:
                self.open()
            said, text = visible(title), visible(body or title)
            return bool(self._service.notify(title=said, body=text, notify_type=kind))
        except (ImportError, UnknownServiceError) as error:
            self.problem = str(error)
            return False
        except Exception:  # noqa: BLE001 - named boundary: a hundred services, each with errors of its own
            return False
