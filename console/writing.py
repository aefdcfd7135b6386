"""Who may change something: the console's own pages, and programs; never a page from elsewhere.

A browser sends its user's password, or reaches a port of this machine, for whatever page is open. So forms
carry a token that only the console's own pages know (Litestar's `CSRFConfig`), the API takes nothing but
JSON, which a browser does not send elsewhere without asking first, and both refuse what a browser says
comes from another site.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from litestar.config.csrf import CSRFConfig
from litestar.exceptions import HTTPException, PermissionDeniedException
from litestar.template.base import csrf_token

if TYPE_CHECKING:
    from litestar import Request
    from litestar.connection import ASGIConnection
    from litestar.handlers import BaseRouteHandler

_OWN = frozenset({"same-origin", "none"})
_WITHOUT_FORMS = ("^/api/", "^/static/", "^/fragments/", "^/metrics$", "^/healthz$", "^/readyz$")


def csrf_config() -> CSRFConfig:
    """Protection of forms, with a secret that lives as long as the application.

    The cookie's name is new each time too: a browser would keep sending the old one, which no longer fits.
    """
    return CSRFConfig(
        secret=secrets.token_hex(32),
        cookie_name=f"evenkeel-{secrets.token_hex(4)}",
        cookie_httponly=True,
        cookie_samesite="strict",
        exclude=list(_WITHOUT_FORMS),
    )


def form_token(request: Request[Any, Any, Any]) -> str:
    """What a form of a page must carry as `_csrf_token`."""
    return csrf_token({"request": request})


def own_pages_only(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """A guard that refuses requests which a page of another site has caused.

    Programs that are no browsers say nothing of their origin and pass.
    """
    site = connection.headers.get("sec-fetch-site")
    if site is not None:
        own = site in _OWN
    else:  # An older browser, or one that does not trust plain HTTP to another machine.
        origin = connection.headers.get("origin")
        own = origin in (None, "null") or origin.partition("://")[2] == connection.headers.get("host")
    if not own:
        raise PermissionDeniedException("The request comes from a page of another site.")


def json_only(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    """A guard that refuses bodies not declared as JSON, as the forms of other sites are."""
    kind = connection.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException("Send the body as application/json.", status_code=415)
