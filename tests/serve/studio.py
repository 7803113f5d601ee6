"""A watch with its server for tests: `Studio` runs both, and says when a build is finished."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pagecompiler.build import CompileOptions, EngineSource
from pagecompiler.changes import Changes
from pagecompiler.engine.base import Engine
from pagecompiler.engine.reference import write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Decoding, Method, Request
from pagecompiler.models import ModelChoice
from pagecompiler.orders import Orders
from pagecompiler.prompts import FORMAT
from pagecompiler.results import PageResult
from pagecompiler.serve.board import Board
from pagecompiler.serve.methods import MethodChoice
from pagecompiler.serve.server import Server, bind
from pagecompiler.watch import Watch, output_places

MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)
PATIENCE = 60.0
SPEC = "title: T\nhero: {heading: H}\nsections:\n- {kind: prose, heading: One, paragraphs: [@]}\n"


def spec_text(text: str) -> str:
    """A spec whose page says this."""
    return SPEC.replace("@", text)


def by_rule(request: Request) -> str:
    """The answer of the reference engine."""
    return write(request.messages[-1].content)


class Studio:
    """Watches a spec or a folder in one thread and serves it in another until `stop`; `start` does it again.

    `engine` makes what writes; it is told how to decode. `results` are all pages that were built.
    """

    def __init__(
        self,
        target: Path,
        output: Path,
        engine: Callable[[Decoding], Engine] = lambda decoding: ScriptedEngine(by_rule),
        *,
        model: ModelChoice = MODEL,
        methods: tuple[MethodChoice, ...] | None = None,
    ) -> None:
        self.target = target
        self.output = output
        self.model = model
        self.results: list[PageResult] = []
        self.engines: list[Decoding] = []
        self._engine = engine
        self._methods = methods or tuple(MethodChoice(method, Decoding(method=method)) for method in Method)
        self._heard = threading.Condition()
        self._seen = 0
        self._port = 0
        self._followers: list[Follower] = []
        self.start()

    def start(self) -> None:
        """Watch and serve, after a stop at the same address."""
        page = self.output if self.target.is_dir() else self.output / f"{self.target.stem}.html"
        options = CompileOptions(output=page, cache_dir=self.output.parent / "cache", decoding=Decoding())
        self.changes = Changes(debounce_seconds=0.03, ignored=output_places(self.target, page))
        self.orders = Orders(self.changes.wake)
        self.board = Board(self.target if self.target.is_dir() else None, self.model.name, "auto")
        self._source = source = _Source(self.model, self._make, around=self.board.observe)
        self._watch = Watch(
            self.target, source, options, self.changes, orders=self.orders, told=self._take, audience=self.board
        )
        self.server = Server(bind(self._port), self.board, self.orders, self._methods)
        self.server.__enter__()
        self.url = self.server.url
        self._port = int(self.url.rstrip("/").rpartition(":")[2])
        self._thread = threading.Thread(target=self._watch.run)
        self._thread.start()

    def stop(self) -> None:
        self.server.__exit__()
        for follower in self._followers:
            follower.close()
        self._followers.clear()
        self.changes.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._source.close()

    def expect(self, wanted: Callable[[PageResult], bool] = lambda result: True) -> PageResult:
        """Wait for the next result like this, also if it is there already."""
        with self._heard:
            while True:
                assert self._heard.wait_for(lambda: len(self.results) > self._seen, PATIENCE), "no such build"
                self._seen += 1
                if wanted(self.results[self._seen - 1]):
                    return self.results[self._seen - 1]

    def _make(self) -> Engine:
        self.engines.append(self._source.decoding)
        return self._engine(self._source.decoding)

    def _take(self, result: PageResult, sources: Mapping[str, str]) -> None:
        with self._heard:
            self.results.append(result)
            self._heard.notify_all()

    # What a browser does, without one

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, path: str, order: object) -> tuple[int, dict[str, Any]]:
        """Send an order as the pages of the server do."""
        token = self.latest("board")["token"]
        headers = {
            "Origin": self.url.rstrip("/"),
            "Content-Type": "application/json",
            "X-Pagec-Token": token,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request("POST", path, json.dumps(order), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def follow(self, query: str = "lanes=") -> Follower:
        """A client of the news; it is closed with the studio."""
        self._followers.append(Follower(self._port, query))
        return self._followers[-1]

    def latest(self, name: str, query: str = "lanes=") -> dict[str, Any]:
        """The first news of a kind that a new client is told."""
        follower = self.follow(query)
        news: dict[str, Any] = next(follower.news(name))
        follower.close()
        return news


class _Source(EngineSource):
    """Remembers how its engines shall decode."""

    decoding = Decoding()

    def decode(self, decoding: Decoding) -> None:
        self.decoding = decoding
        super().decode(decoding)


class Follower:
    """Reads the news from a connection of its own."""

    def __init__(self, port: int, query: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._connection.request("GET", f"/news?{query}")
        self._answer = self._connection.getresponse()
        assert self._answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"

    def news(self, *names: str) -> Any:
        """The objects of these kinds of news, as they come, until the server ends or the follower is closed."""
        name = ""
        while line := self._answer.readline().decode():
            if line.startswith("event: "):
                name = line.removeprefix("event: ").strip()
            elif line.startswith("data: ") and name in names:
                yield json.loads(line.removeprefix("data: "))

    def close(self) -> None:
        self._answer.close()
        self._connection.close()
