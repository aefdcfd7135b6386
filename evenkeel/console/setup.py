"""The set-up page: what to paste into a client, tests of each part, settings in effect and the audit log."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from litestar import Response, Router, get, post
from litestar.exceptions import HTTPException

from evenkeel.console.access import Recorder, form_token, own_pages_only, signed, visitor_of
from evenkeel.console.actions import DONE, action_href
from evenkeel.console.first_hour import first_hour
from evenkeel.console.rendering import AnyRequest, Form  # noqa: TC001 - litestar reads the annotations
from evenkeel.console.sources import SetupSources
from evenkeel.core.text import LONGEST_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import Check, ConsoleSources, SettingsSection

_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not listened on
_LONGEST_PROMPT: Final = 4_000
# Entries of the audit log on the page; the download has all of them.
_ACTIONS: Final = 50
# Checks that send something, and are therefore written to the audit log.
_SENDING: Final = frozenset({"request", "notification"})


class Snippet(NamedTuple):
    """Lines to paste."""

    title: str
    text: str


def snippets(base_url: str, model: str) -> tuple[Snippet, ...]:
    """Lines for the usual clients, with the base URL of a route."""
    hello = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    return (
        Snippet(
            "Python, openai",
            f'from openai import OpenAI\n\nclient = OpenAI(base_url="{base_url}")',
        ),
        Snippet(
            "Node, openai",
            f'import OpenAI from "openai";\n\nconst client = new OpenAI({{ baseURL: "{base_url}" }});',
        ),
        Snippet(
            "curl",
            f"curl {base_url}/chat/completions \\\n"
            '  -H "Authorization: Bearer $OPENAI_API_KEY" -H "Content-Type: application/json" \\\n'
            f"  -d {shlex.quote(json.dumps(hello))}",
        ),
        Snippet(
            "LangChain, LiteLLM and others, by environment",
            f"export OPENAI_BASE_URL={base_url}   # openai\n"
            f"export OPENAI_API_BASE={base_url}   # LangChain, LiteLLM, LlamaIndex",
        ),
    )


def _reached(base_url: str, request: AnyRequest) -> str:
    """Return a base URL by which this visitor can reach a data plane that listens on all addresses."""
    host = urlsplit(base_url).hostname or ""
    own = request.base_url.hostname
    if host not in _EVERYWHERE or not own:
        return base_url
    return base_url.replace(f"[{host}]" if ":" in host else host, f"[{own}]" if ":" in own else own, 1)


def _changed_settings(sources: ConsoleSources) -> list[SettingsSection] | None:
    """Return the settings that differ from their defaults, by section; None if they are not known here."""
    if sources.settings is None:
        return None
    sections = []
    for section in sources.settings():
        changed = tuple(line for line in section.lines if not line.default)
        if changed:
            sections.append(replace(section, lines=changed))
    return sections


def setup_handlers(sources: ConsoleSources, renderer: Renderer) -> Router:
    """Handlers of GET `/setup`, and POST `/setup` to run a check."""
    record = Recorder(sources.actions)
    setup = sources.setup or SetupSources((), {})

    def models() -> list[str]:
        """Return the names of the models that have answered, latest first."""
        latest: dict[str, float] = {}
        for report in sources.reports():
            model = report.key.model
            latest[model] = max(latest.get(model, 0.0), report.last_scored_at or 0.0)
        return sorted(latest, key=lambda name: -latest[name])

    def shown(
        request: AnyRequest,
        tried: str = "",
        result: Check | None = None,
        asked: Mapping[str, str] | None = None,
    ) -> Response[bytes]:
        routes = [route._replace(base_url=_reached(route.base_url, request)) for route in setup.routes]
        model, visitor = next(iter(models()), ""), visitor_of(request)
        return renderer.response(
            "setup.html",
            routes=routes,
            snippets=snippets(routes[0].base_url, model or "MODEL") if routes else (),
            model=(asked or {}).get("model", model),
            can_try=sources.setup is not None,
            sending=_SENDING,
            tried=tried,
            result=result,
            first_hour=first_hour(sources),
            token=form_token(request),
            visitor=replace(visitor, proposed=visitor.proposed or (asked or {}).get("by", "")),
            sections=_changed_settings(sources) if visitor.may("admin") else None,
            actions=sources.actions.latest(_ACTIONS) if sources.actions and visitor.may("admin") else None,
            action_words=DONE,
            action_href=action_href,
        )

    @get("/", sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        return shown(request)

    @post("/", sync_to_thread=True, guards=[own_pages_only], needs="admin")
    def tried(request: AnyRequest, data: Form) -> Response[bytes]:
        name = data.get("check", "")
        check = setup.checks.get(name)
        if check is None:
            raise HTTPException(f"Say what to check: {', '.join(setup.checks)}.", status_code=400)
        visitor = visitor_of(request)
        by = str(signed(visitor, {"by": data.get("by", "").strip()}).get("by") or "")[:LONGEST_NAME]
        if name in _SENDING and not by:
            raise HTTPException("Say who you are: what is sent is on record.", status_code=400)
        asked = {
            "model": data.get("model", "").strip()[:LONGEST_NAME],
            "prompt": data.get("prompt", "").strip()[:_LONGEST_PROMPT],
            "by": by,
            "models": "\n".join(models()),
        }
        if name in _SENDING:
            record(visitor, by, "test_sent", name, at=sources.clock())
        return shown(request, name, check(asked), asked)

    return Router("/setup", route_handlers=[page, tried])
