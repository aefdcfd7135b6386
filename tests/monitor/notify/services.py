"""Slack, Teams, PagerDuty and a webhook, as far as messages concern them.

Written after Slack's API methods `chat.postMessage` and `chat.update` with Block Kit, Adaptive Cards 1.4 as
workflows of Teams take them, PagerDuty's Events API v2 and Standard Webhooks. What does not follow the schema
is refused and kept in `problems`.
"""

import base64
import hashlib
import hmac
import json

import httpx2
import jsonschema

TOKEN, KEY, SECRET = "xoxb-token", "R0UTINGKEY0123456789abcdef012345", "a secret"


def _object(required, **properties):
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def _text(most, least=1):
    return {"type": "string", "minLength": least, "maxLength": most}


_URL = {"type": "string", "format": "uri", "pattern": "^https://"}
_MRKDWN = _object("type text", type={"const": "mrkdwn"}, text=_text(3000))
_SECTION = _object("type text", type={"const": "section"}, text=_MRKDWN)
SLACK = _object(
    "channel text",
    channel=_text(80),
    text=_text(4000),
    blocks={"type": "array", "minItems": 1, "maxItems": 50, "items": _SECTION},
    ts={"type": "string"},
    thread_ts={"type": "string"},
)
_BLOCK = _object(
    "type text",
    type={"const": "TextBlock"},
    text=_text(10_000),
    weight={"enum": ["Default", "Lighter", "Bolder"]},
    color={"enum": ["Default", "Accent", "Good", "Warning", "Attention"]},
    wrap={"type": "boolean"},
)
_FACT = _object("title value", title=_text(100), value=_text(4000))
_FACTS = _object("type facts", type={"const": "FactSet"}, facts={"type": "array", "items": _FACT})
_ACTION = _object("type title url", type={"const": "Action.OpenUrl"}, title=_text(100), url=_URL)
CARD = _object(
    "type version body",
    **{"$schema": _URL | {"pattern": "^http://adaptivecards.io/"}},
    type={"const": "AdaptiveCard"},
    version={"const": "1.4"},
    body={"type": "array", "minItems": 1, "items": {"anyOf": [_BLOCK, _FACTS]}},
    actions={"type": "array", "maxItems": 6, "items": _ACTION},
)
_ATTACHMENT = _object(
    "contentType content",
    contentType={"const": "application/vnd.microsoft.card.adaptive"},
    contentUrl={"type": "null"},
    content=CARD,
)
TEAMS = _object(
    "type attachments",
    type={"const": "message"},
    attachments={"type": "array", "minItems": 1, "maxItems": 1, "items": _ATTACHMENT},
)
_PAYLOAD = _object(
    "summary source severity",
    summary=_text(1024),
    source=_text(1024),
    severity={"enum": ["critical", "error", "warning", "info"]},
    timestamp={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
    component={"type": "string"},
    group={"type": "string"},
    **{"class": {"type": "string"}},
    custom_details={"type": "object"},
)
PAGERDUTY = _object(
    "routing_key event_action dedup_key",
    routing_key=_text(32, least=32),
    event_action={"enum": ["trigger", "acknowledge", "resolve"]},
    dedup_key=_text(255),
    client=_text(255),
    client_url=_URL,
    payload=_PAYLOAD,
    links={"type": "array", "items": _object("href", href=_URL, text=_text(255))},
    images={"type": "array"},
) | {
    "if": {"properties": {"event_action": {"const": "trigger"}}},
    "then": {"required": ["payload"]},
}
_NOTICE_FIELDS = (
    "schema source id phase number headline text url owner runbook_url rollback examples incidents incident"
)
WEBHOOK = {
    "oneOf": [
        {
            "type": "object",
            "required": _NOTICE_FIELDS.split(),
            "properties": {
                "schema": {"const": "evenkeel.incident/1"},
                "phase": {"enum": ["opened", "updated", "resolved"]},
                "number": {"enum": [1, 2, 3]},
                "incident": {"type": "object", "required": ["id", "state", "effect", "severity", "routes"]},
            },
        },
        {
            "type": "object",
            "required": ["schema", "source", "id", "title", "text", "good"],
            "properties": {"schema": {"const": "evenkeel.message/1"}, "good": {"type": "boolean"}},
        },
    ]
}


class Services:
    """The four of them behind one client, and what people saw of each, as text."""

    def __init__(self):
        self.down = False
        self.problems = []
        self.seen = {"slack": [], "teams": [], "pagerduty": [], "webhook": []}
        """Sent messages by channel: how, and what they say."""
        self.client = httpx2.Client(transport=httpx2.MockTransport(self._take))

    def counted(self, channel):
        """Count the messages that called on somebody: not what only changes one that is there."""
        return sum(not how.startswith(_QUIET) for how, _ in self.seen[channel])

    def _take(self, request):
        if self.down:
            return httpx2.Response(503)
        channel = request.url.host.partition(".")[0]
        body = json.loads(request.content)
        try:
            return getattr(self, f"_{channel}")(request, body)
        except (jsonschema.ValidationError, AssertionError) as error:
            self.problems.append(f"{channel}: {error}")
            return httpx2.Response(400)

    def _slack(self, request, body):
        jsonschema.validate(body, SLACK)
        assert request.headers["authorization"] == f"Bearer {TOKEN}"
        shown = [block["text"]["text"] for block in body.get("blocks", ())] or [body["text"]]
        method = request.url.path.rpartition("/")[2]
        posted = [number for number, (how, _) in enumerate(self.seen["slack"], 1) if how.startswith("posted")]
        if method == "chat.update":
            assert body["ts"] in {f"{number}.0" for number in posted}
            self.seen["slack"].append((f"updates message {body['ts'][:-2]}", "\n".join(shown)))
            return httpx2.Response(200, json={"ok": True, "ts": body["ts"]})
        assert method == "chat.postMessage"
        thread = body.get("thread_ts", "")
        how = f"in the thread of message {thread[:-2]}" if thread else f"posted to {body['channel']}"
        self.seen["slack"].append((how, "\n".join(shown)))
        return httpx2.Response(200, json={"ok": True, "ts": f"{len(self.seen['slack'])}.0"})

    def _teams(self, request, body):
        del request
        jsonschema.validate(body, TEAMS)
        card = body["attachments"][0]["content"]
        lines = []
        for element in card["body"]:
            facts = element.get("facts", ())
            lines += [f"{fact['title']}: {fact['value']}" for fact in facts] or [element["text"]]
        lines += [f"[{action['title']}]({action['url']})" for action in card["actions"]]
        self.seen["teams"].append(("a card", "\n".join(lines)))
        return httpx2.Response(202)

    def _pagerduty(self, request, body):
        del request
        jsonschema.validate(body, PAGERDUTY)
        assert body["routing_key"] == KEY
        assert len(json.dumps(body)) < 512_000
        payload = body.get("payload")
        lines = []
        if payload:
            lines = [f"{payload['severity']}: {payload['summary']}", f"source: {payload['source']}"]
            details = payload.get("custom_details")
            lines += [f"details: {details['text']}"] if details else []
            lines += [f"[{link['text']}]({link['href']})" for link in body.get("links", ())]
        self.seen["pagerduty"].append((f"{body['event_action']}s {body['dedup_key']}", "\n".join(lines)))
        return httpx2.Response(202, json={"status": "success", "dedup_key": body["dedup_key"]})

    def _webhook(self, request, body):
        jsonschema.validate(body, WEBHOOK)
        name, at = request.headers["webhook-id"], request.headers["webhook-timestamp"]
        signed = hmac.new(
            SECRET.encode(), f"{name}.{at}.".encode() + request.content, hashlib.sha256
        ).digest()
        assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(signed).decode()}"
        incident = body.get("incident", {})
        said = (
            f"phase {body['phase']}, {incident['state']}, {len(body['incidents'])} incident(s)"
            if incident
            else ""
        )
        self.seen["webhook"].append(
            (f"posts {body['schema']} {body['id']}", f"{said}\n{body['text']}".strip())
        )
        return httpx2.Response(204)


_QUIET = ("updates", "acknowledges", "resolves evenkeel-not-measured")
"""Methods that call on nobody. Slack's later messages update the first one too: their replies count."""
