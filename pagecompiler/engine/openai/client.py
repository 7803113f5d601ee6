"""One server, through the official `openai` client. Whatever goes wrong comes out as a SendError."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pagecompiler.engine.base import EngineError
from pagecompiler.engine.openai.faults import FaultKind, SendError, status_error, tidy
from pagecompiler.engine.openai.stream import END, Piece, event_data, parse_piece
from pagecompiler.engine.types import Message

if TYPE_CHECKING:
    import openai

KEY_VARIABLES = ("PAGEC_ENGINE_KEY", "OPENAI_API_KEY")
_NO_KEY = "none"  # the client insists on one


def engine_key() -> str | None:
    """The key for servers, from the environment."""
    return next((os.environ[name] for name in KEY_VARIABLES if os.environ.get(name)), None)


def server_url(text: str) -> str:
    """The base address of a server: `/v1` is added where there is no path. Raises ValueError.

    >>> server_url("http://localhost:8000")
    'http://localhost:8000/v1'
    """
    text = text.strip().rstrip("/")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"`{text}` is no address of a server, like http://localhost:8000")
    if parts.username or parts.password:
        raise ValueError(f"a key does not belong into an address; set {KEY_VARIABLES[0]}")
    if parts.query or parts.fragment:
        raise ValueError(f"`{text}` has more than the address of a server")
    return text if parts.path else f"{text}/v1"


class Client:
    """Talks to the server at `url`. Lives in one event loop. Raises EngineError without the `openai` package."""

    def __init__(self, url: str, key: str | None, *, connect_seconds: float) -> None:
        try:
            import openai
        except ImportError:
            raise EngineError(
                "a server as the engine needs the Python package openai", hint="pip install 'pagec[remote]'"
            ) from None
        from pagecompiler.engine.openai.bodies import PLAIN_BODIES, limit_body

        self.url = url
        self._openai = openai
        self._key = key
        # Waiting for an answer is bounded by who reads it: pings of a server must not keep it waiting for ever.
        self._client = openai.AsyncOpenAI(
            base_url=url,
            api_key=key or _NO_KEY,
            max_retries=0,
            timeout=openai.Timeout(None, connect=connect_seconds),
            default_headers=PLAIN_BODIES,
            http_client=openai.DefaultAsyncHttpxClient(event_hooks={"response": [limit_body]}),
        )

    async def models(self) -> tuple[str, ...]:
        """The names of the models that the server has, without those that no line can show."""
        try:
            answer = await self._client.models.with_raw_response.list()
            content = answer.http_response.content
        except self._openai.OpenAIError as error:
            raise self._fault(error) from error
        try:
            names = [str(model["id"]) for model in json.loads(content)["data"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            said = tidy(content[:1000].decode("utf-8", "replace"))
            raise SendError(FaultKind.UNUSABLE, f"no list of models at {self.url}/models: {said}") from None
        return tuple(name for name in names if name == tidy(name))

    async def metrics(self) -> str:
        """What a server says of itself at `/metrics`, beside the protocol's own paths."""
        address = urlsplit(self.url)._replace(path="/metrics").geturl()
        try:
            return str(await self._client.get(address, cast_to=str))
        except self._openai.OpenAIError as error:
            raise self._fault(error) from error

    async def stream(
        self, model: str, messages: Sequence[Message], fields: Mapping[str, Any]
    ) -> AsyncGenerator[Piece, None]:
        """The pieces of one answer. Leaving early ends the request on the server."""
        turns: Any = [{"role": message.role, "content": message.content} for message in messages]
        try:
            async with self._client.chat.completions.with_streaming_response.create(
                model=model, messages=turns, stream=True, extra_body=dict(fields)
            ) as response:
                kind = response.headers.get("content-type", "")
                if "event-stream" not in kind:
                    raise SendError(FaultKind.BROKEN, f"the answer is `{tidy(kind)}` instead of a stream")
                async with aclosing(response.iter_bytes()) as chunks, aclosing(event_data(chunks)) as events:  # type: ignore[type-var]
                    async for data in events:
                        if data == END:
                            return
                        yield parse_piece(data)
        except self._openai.OpenAIError as error:
            raise self._fault(error) from error
        except self._transport_errors() as error:
            reason = tidy(str(error) or type(error).__name__)
            raise SendError(FaultKind.BROKEN, f"the connection broke: {reason}") from error

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _transport_errors(self) -> tuple[type[Exception], ...]:
        import httpx2

        return (httpx2.HTTPError, httpx2.StreamError)

    def _fault(self, error: openai.OpenAIError) -> SendError:
        said = tidy(self._without_key(_explanation(error)))
        if isinstance(error, self._openai.APIStatusError):
            wait = error.response.headers.get("retry-after")
            return status_error(error.status_code, said, retry_seconds(wait, datetime.now(UTC)) if wait else None)
        if isinstance(error, self._openai.APITimeoutError):
            return SendError(FaultKind.DOWN, "no connection in time")
        if isinstance(error, self._openai.APIConnectionError):
            cause = _root(error)
            reason = tidy(str(cause) or type(cause).__name__)
            if isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in reason:
                return SendError(FaultKind.UNUSABLE, f"the certificate is not trusted: {reason}")
            return SendError(FaultKind.DOWN, f"cannot connect: {reason}")
        return SendError(FaultKind.BROKEN, said)

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _explanation(error: openai.OpenAIError) -> str:
    """What the server says, out of the shapes in which servers say it."""
    body = getattr(error, "body", None)
    if isinstance(body, dict):
        inner = body.get("error")
        told = body.get("message") or (inner.get("message") if isinstance(inner, dict) else inner) or body.get("detail")
        if told:
            return str(told)
    return str(body or error)


def _root(error: BaseException) -> BaseException:
    for _ in range(10):
        inner = error.__cause__ or error.__context__
        if inner is None:
            break
        error = inner
    return error


def retry_seconds(text: str, now: datetime) -> float | None:
    """A Retry-After in seconds from now, None if it is none. It may be a number or an HTTP date.

    >>> retry_seconds("Sun, 06 Nov 1994 08:49:37 GMT", datetime(1994, 11, 6, 8, 49, 7, tzinfo=UTC))
    30.0
    """
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return None
        return max(0.0, (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds())
    return seconds if 0 <= seconds < float("inf") else None
