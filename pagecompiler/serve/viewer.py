"""One browser that follows a page: it is told what is new since it was last told something.

Nothing is queued for it. While it reads slowly the news adds up in the board, where they are anyway; when a new build
has begun meanwhile, it is told the new story from its beginning.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal

from pagecompiler.serve.board import Board

View = Literal["lanes", "page"]

MOST_ENTRIES = 400
"""Of a log in one message."""

_PAUSE_SECONDS = 0.04
_RETRY_MILLISECONDS = 500

Message = tuple[str, dict[str, Any]]


class Viewer:
    """Follows the page of `key`; one that looks at the `lanes` gets the log, one that looks at the `page` only hears
    that there is more to see. `token` is what its orders must carry.
    """

    def __init__(self, board: Board, key: str, view: View, token: str) -> None:
        self._board = board
        self._key = key
        self._view = view
        self._token = token
        self._seen_board = self._seen_head = self._number = -1
        self._read = 0

    def news(self) -> Iterator[Message]:
        """What is new, as names and objects of messages; at first everything."""
        while True:
            with self._board.lock:
                messages, more = self._look()
            yield from messages
            if not more:
                return

    async def stream(self) -> AsyncIterator[str]:
        """The news as server-sent events, until the board is closed."""
        loop = asyncio.get_running_loop()
        woken = asyncio.Event()
        waker = _Waker(loop, woken)
        viewed = self._key if self._view == "lanes" else ""
        self._board.join(waker, viewed)
        try:
            yield f"retry: {_RETRY_MILLISECONDS}\n\n"
            while not self._board.closed:
                woken.clear()
                waker.ready = True
                for name, content in self.news():
                    yield f"event: {name}\ndata: {json.dumps(content, ensure_ascii=False, separators=(',', ':'))}\n\n"
                await woken.wait()
                # What happens within a moment goes out together.
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self._board.leave(waker, viewed)

    def _look(self) -> tuple[list[Message], bool]:
        board = self._board
        messages: list[Message] = []
        if self._seen_board != board.version:
            self._seen_board = board.version
            messages.append(("board", {**board.head(), "token": self._token}))
        story = board.stories.get(self._key)
        if story is None:
            return messages, False
        if (self._number, self._seen_head) != (story.number, story.version):
            if self._number != story.number:
                self._number, self._read = story.number, 0
            self._seen_head = story.version
            messages.append(("page", story.head()))
        entries = story.log[self._read : self._read + MOST_ENTRIES]
        if entries:
            self._read += len(entries)
            content = {"number": story.number, "entries": entries} if self._view == "lanes" else {"read": self._read}
            messages.append(("log", content))
        return messages, self._read < len(story.log)


class _Waker:
    """Sets an event of another thread's loop, and only once until it is `ready` again: a build tells very often."""

    def __init__(self, loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
        self._loop = loop
        self._woken = woken
        self.ready = False

    def __call__(self) -> None:
        if self.ready:
            self.ready = False
            with contextlib.suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._woken.set)
