"""Who may ask for what: only pages of this server, under its own name, and orders only with its token."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

TOKEN_HEADER = "x-pagec-token"

OUTER_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""For the two pages of the server; a compiled page has a policy of its own, and one without any script."""

_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Guard:
    """Answers 403 to a request under another host name (which a foreign page could point here), and to an order that
    is not sent by a page of this server. Every answer gets the headers that keep foreign pages out.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str]) -> None:
        self._app = app
        self._hosts = frozenset(hosts)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)
        self.token = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope["method"], Headers(scope=scope))

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("content-security-policy", OUTER_POLICY)
            await send(message)

        app = self._app if not refusal else PlainTextResponse(refusal, 403)
        await app(scope, receive, send_guarded)

    def _refusal(self, method: str, headers: Headers) -> str:
        """Why a request is refused; empty when it is not."""
        if headers.get("host", "") not in self._hosts:
            return "this server answers only under its own address"
        # Browsers say so truthfully when a foreign page asks; only a link that is followed may lead here.
        is_foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if is_foreign and headers.get("sec-fetch-mode") != "navigate":
            return "this server answers only its own pages"
        if method in ("GET", "HEAD"):
            return ""
        if headers.get("origin") not in self._origins:
            return "orders are taken only from the pages of this server"
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return "orders are JSON"
        if not secrets.compare_digest(headers.get(TOKEN_HEADER, "").encode(), self.token.encode()):
            return "the token is not that of this server: load the page again"
        return ""
