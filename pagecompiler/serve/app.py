"""The addresses of the server: two pages, what they load, the stream of news, and the orders."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from pagecompiler.orders import Orders
from pagecompiler.serve.board import Board
from pagecompiler.serve.guard import Guard
from pagecompiler.serve.methods import MethodChoice
from pagecompiler.serve.pages import Pages
from pagecompiler.serve.spec_file import SpecChangedError
from pagecompiler.serve.story import PageStory
from pagecompiler.serve.viewer import Viewer
from pagecompiler.yaml_source import MAX_BYTES

STATIC = Path(__file__).resolve().parent / "static"

_MOST_BODY = 8 * MAX_BYTES  # JSON may need several bytes for one of the spec


class _RefusedError(Exception):
    def __init__(self, status: int, message: str, **more: Any) -> None:
        self.answer = JSONResponse({"message": message, **more}, status)


def make_app(board: Board, orders: Orders, methods: Iterable[MethodChoice], hosts: Iterable[str]) -> Guard:
    """The ASGI application; `hosts` are the names and ports under which it answers."""
    server = _App(board, orders, {choice.method.value: choice for choice in methods})
    guard = Guard(server.starlette(), hosts)
    server.token = guard.token
    return guard


class _App:
    def __init__(self, board: Board, orders: Orders, methods: dict[str, MethodChoice]) -> None:
        self._board = board
        self._orders = orders
        self._methods = methods
        self._pages = Pages(board)
        self.token = ""

    def starlette(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/", self._build_view),
                Route("/build/{key:path}", self._build_view),
                Route("/preview", self._preview),
                Route("/preview/{key:path}", self._preview),
                Route("/pages/{path:path}", self._page),
                Route("/news", self._news),
                Route("/methods", self._list_methods),
                Route("/spec", self._spec),
                Route("/candidates", self._candidates),
                Route("/compile", self._compile, methods=["POST"]),
                Route("/method", self._choose_method, methods=["POST"]),
                Mount("/static", StaticFiles(directory=STATIC)),
            ],
            exception_handlers={_RefusedError: _refuse},
        )

    async def _build_view(self, request: Request) -> Response:
        return FileResponse(STATIC / "build.html")

    async def _preview(self, request: Request) -> Response:
        return FileResponse(STATIC / "preview.html")

    async def _page(self, request: Request) -> Response:
        draft = "draft" in request.query_params
        return await run_in_threadpool(self._pages.answer, request.path_params["path"], draft=draft)

    async def _news(self, request: Request) -> Response:
        key = request.query_params.get("page") or next(iter(self._board.stories), "")
        view = Viewer(self._board, key, "lanes" if "lanes" in request.query_params else "page", self.token)
        return StreamingResponse(view.stream(), media_type="text/event-stream")

    async def _list_methods(self, request: Request) -> Response:
        choices = self._methods.values()
        return JSONResponse([{"name": c.method, "usable": c.decoding is not None, "why": c.why} for c in choices])

    async def _spec(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(_read, self._story(request.query_params.get("page"))))

    async def _candidates(self, request: Request) -> Response:
        """The likeliest candidates at one token of a block, as its trace tells."""
        asked = request.query_params
        story = self._story(asked.get("page"))
        index = asked.get("index", "")
        with self._board.lock:
            traces = story.traces.get(asked.get("block", ""), [])
            if str(story.number) != asked.get("number") or not index.isdecimal() or int(index) >= len(traces):
                raise _RefusedError(404, "this token is not remembered any more")
            token = traces[int(index)]
        return JSONResponse({"candidates": [[c.text, c.probability] for c in token.candidates]})

    async def _compile(self, request: Request) -> Response:
        """Write the spec, if its text is sent and differs, and with `anew` write every block of its page again."""
        order = await _order(request)
        story = self._story(order.get("page"))
        text, digest = order.get("text"), order.get("digest")
        if isinstance(text, str) and isinstance(digest, str):
            digest = await run_in_threadpool(_write, story, text, digest)
        if order.get("anew") is True:
            self._orders.write_anew(story.spec.path)
        return JSONResponse({"digest": digest})

    async def _choose_method(self, request: Request) -> Response:
        name = (await _order(request)).get("method")
        choice = self._methods.get(name) if isinstance(name, str) else None
        if choice is None or choice.decoding is None:
            raise _RefusedError(400, choice.why if choice is not None else "there is no such method")
        self._orders.decode(choice.decoding)
        self._board.choose(choice.method.value)
        return JSONResponse({"method": choice.method.value})

    def _story(self, key: object) -> PageStory:
        story = self._board.stories.get(key) if isinstance(key, str) else None
        if story is None:
            raise _RefusedError(404, "there is no such page")
        return story


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusedError)
    return error.answer


async def _order(request: Request) -> dict[str, Any]:
    """The object in the body of an order."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BODY:
                raise _RefusedError(413, "this is too large for a spec")
    except ClientDisconnect:
        raise asyncio.CancelledError from None
    try:
        order = json.loads(body)
    except ValueError:
        order = None
    if not isinstance(order, dict):
        raise _RefusedError(400, "an order is a JSON object")
    return order


def _read(story: PageStory) -> dict[str, str]:
    try:
        text, digest = story.file.read()
    except ValueError:
        raise _RefusedError(422, f"{story.spec.name} is not UTF-8 and cannot be edited here") from None
    except OSError as error:
        raise _RefusedError(422, f"{story.spec.name} cannot be read: {error.strerror or error}") from None
    return {"text": text, "digest": digest}


def _write(story: PageStory, text: str, digest: str) -> str:
    try:
        if len(text.encode()) > MAX_BYTES:
            raise _RefusedError(413, f"a spec has at most {MAX_BYTES} bytes")
        return story.file.write(text, digest)
    except UnicodeEncodeError:
        raise _RefusedError(400, "the text has characters that UTF-8 cannot hold") from None
    except SpecChangedError:
        raise _RefusedError(409, f"{story.spec.name} has been changed by somebody else", **_read(story)) from None
    except OSError as error:
        raise _RefusedError(500, f"{story.spec.name} cannot be written: {error.strerror or error}") from None
