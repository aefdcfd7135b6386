"""The services: what they are sent follows their schemas, and no secret is ever shown."""

import base64
import hashlib
import hmac
import json
import logging
from dataclasses import replace
from importlib.util import find_spec

import httpx2
import pytest

from evenkeel.monitor.notify import Contact, NoticeMessage, Writer
from evenkeel.monitor.notify.services import AppriseSink, Slack, Teams, Webhook
from tests.monitor.notify.scene import SPELLING, TONE, incidents_of, over

with_apprise = pytest.mark.skipif(not find_spec("apprise"), reason='pip install "evenkeel-proxy[notify]"')

SAID = NoticeMessage("Held back", "The judge fails.", good=False)
CONTACT = Contact("@support-ml", "https://wiki.example/support", "helm rollback <support>")


def notice(*events, phase="opened", number=1):
    """About the incident of these events."""
    (incident,) = incidents_of(events or (SPELLING, TONE))
    return Writer({"support": CONTACT}, "https://keel.example").notice(incident, phase, number)


class Service:
    """A scripted service: answers in turn, and keeps what it got."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.got = []
        self.client = httpx2.Client(transport=httpx2.MockTransport(self._take))

    def _take(self, request):
        self.got.append(request)
        answer = self.answers.pop(0) if self.answers else {}
        if isinstance(answer, int):
            return httpx2.Response(answer)
        return httpx2.Response(200, json=answer)

    @property
    def bodies(self):
        """Messages that were posted."""
        return [json.loads(request.content) for request in self.got]


def test_the_webhook_gets_the_whole_incident():
    """Fields are there for machines, `text` for chats; the id names the delivery."""
    service = Service()
    hook = Webhook("https://hooks.example/secret-path", client=service.client, clock=lambda: 7.9)
    assert hook.send(notice(), "") == ""
    (body,) = service.bodies
    assert (body["schema"], body["id"], body["phase"], body["number"]) == (
        "evenkeel.incident/1", "cafe-1", "opened", 1,
    )  # fmt: skip
    assert body["owner"] == "@support-ml"
    assert body["rollback"] == "helm rollback <support>"
    assert body["runbook_url"] == "https://wiki.example/support"
    assert body["url"] == "https://keel.example/incidents/cafe"
    assert body["text"].startswith(body["headline"])
    incident = body["incident"]
    assert (incident["id"], incident["state"], incident["severity"], incident["routes"]) == (
        "cafe", "open", "critical", ["support"],
    )  # fmt: skip
    assert incident["marks"][0]["after"] == "helpdesk-2"
    assert [alert["perturbation"] for alert in incident["alerts"]] == ["general.spelling", "general.tone"]
    assert service.got[0].headers["webhook-timestamp"] == "7"
    assert "webhook-signature" not in service.got[0].headers
    assert "secret" not in hook.name


def test_a_webhook_is_signed_by_a_secret_in_base64():
    """Standard Webhooks signs id, time stamp and body. A secret in words signs other messages."""
    service, secret = Service(), f"whsec_{base64.b64encode(b'0123456789').decode()}"
    Webhook("https://hooks.example/", secret, service.client, lambda: 1234.5).send(notice(), "")
    request = service.got[0]
    assert request.headers["webhook-id"] == "cafe-1"
    expected = hmac.new(b"0123456789", b"cafe-1.1234." + request.content, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"


@pytest.mark.parametrize("status", [302, 400, 500])
def test_a_redirect_or_an_error_is_no_delivery(status):
    """An incident must not vanish behind a login page."""
    hook = Webhook("https://hooks.example/", client=Service(status).client)
    assert hook.send(notice(), "") is None
    assert hook.problem == f"status {status}"


@pytest.mark.parametrize(
    ("answers", "methods", "receipt"),
    [
        (({"ok": False, "error": "message_not_found"}, {"ok": True, "ts": "2"}), 2, "11.5"),
        (({"ok": True}, {"ok": False, "error": "thread_not_found"}, {"ok": True, "ts": "3"}), 3, "3"),
        (({"ok": False, "error": "ratelimited"},), 1, None),
        (({"ok": True}, {"ok": False, "error": "is_archived"}), 2, None),
    ],
)
def test_a_first_message_that_is_gone_holds_up_nothing(answers, methods, receipt):
    """Somebody deleted it, or it may not be edited any more; anything else is tried again."""
    service = Service(*answers)
    resolved = notice(SPELLING, over(SPELLING), phase="resolved", number=2)
    assert Slack("xoxb-secret", "#llm", service.client).send(resolved, "11.5") == receipt
    assert len(service.got) == methods


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"ok": False, "error": "channel_not_found"}, "Slack says channel_not_found"),
        ({"no": "answer"}, "no answer of Slack's"),
        (500, "status 500"),
    ],
)
def test_what_slack_refuses_is_said(answer, problem):
    slack = Slack("xoxb-secret", "#llm", Service(answer).client)
    assert slack.send(notice(), "") is None
    assert slack.problem == problem


def test_what_a_client_wrote_is_no_link_and_no_mention():
    """A prompt version travels from a request's header into messages."""
    desk = Service({}, {"ok": True, "ts": "1"})
    written = replace(notice(), headline="p2 [Sign in](https://evil.example) <!channel>", facts=("[a](b)",))
    assert Teams("https://teams.example/", desk.client).send(written, "") == ""
    assert Slack("xoxb", "#llm", desk.client).send(written, "") is not None
    card, slack = desk.bodies
    assert "](" not in json.dumps(card["attachments"][0]["content"]["body"][:2])
    assert "<!channel>" not in json.dumps(slack)


@with_apprise
def test_apprise_sends_the_notice_with_its_kind(monkeypatch):
    sink, sent = AppriseSink("CHAT", "json://127.0.0.1:9/secret"), []
    sink.open()
    monkeypatch.setattr(sink._service, "notify", lambda **said: sent.append(said) or True)
    assert sink.send(notice(), "") == ""
    assert sink.send(notice(SPELLING, over(SPELLING), phase="resolved", number=2), "") == ""
    assert [message["notify_type"] for message in sent] == ["failure", "success"]
    assert sent[0]["title"] == f"[evenkeel] {notice().headline}"


@with_apprise
def test_a_dead_service_is_a_failure_and_tells_no_address(caplog, capfd):
    """The address is a secret: neither the log nor the terminal has it."""
    caplog.set_level(logging.DEBUG, logger="apprise")
    dead = AppriseSink("CHAT", "json://127.0.0.1:9/secret")
    assert dead.send(notice(), "") is None
    assert "secret" not in caplog.text
    assert "secret" not in "".join(capfd.readouterr())


@with_apprise
def test_an_unknown_service_is_named_by_its_variable():
    """The message stays undelivered; what stands in the variable is not shown."""
    sink = AppriseSink("CHAT", "nonsense-token")
    assert not sink.tell(SAID)
    assert sink.problem == "CHAT holds no address that apprise knows"
