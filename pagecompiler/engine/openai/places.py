"""The queue before the servers: who waits for a free place at which one."""

from __future__ import annotations

import asyncio
from collections import deque

from pagecompiler.engine.base import EngineError
from pagecompiler.engine.openai.endpoints import Endpoint, Pool


class Places:
    """Hands out places at the endpoints of a pool, in order of asking. Lives in one event loop."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: deque[tuple[int, asyncio.Future[Endpoint]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def take(self, page: int) -> Endpoint:
        """Wait for a place for a request of a page. Raises EngineError when there is no hope for one."""
        future: asyncio.Future[Endpoint] = asyncio.get_running_loop().create_future()
        self._waiting.append((page, future))
        self._hand_out()
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self.give_back(future.result())
            raise

    def give_back(self, endpoint: Endpoint) -> None:
        """Free a place."""
        endpoint.running -= 1
        self._hand_out()

    def _hand_out(self) -> None:
        """Give what is free to those who wait; a full endpoint does not hold up the others."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for _ in range(len(self._waiting)):
            page, future = self._waiting.popleft()
            if future.done():
                continue
            endpoint = self._pool.choose(page, now)
            if endpoint is not None:
                endpoint.running += 1
                future.set_result(endpoint)
            elif self._pool.hopeless(now):
                future.set_exception(self._no_server())
            else:
                self._waiting.append((page, future))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        change = self._pool.next_change(now)
        if self._waiting and change is not None:
            self._timer = loop.call_at(change, self._hand_out)

    def _no_server(self) -> EngineError:
        said = "; ".join(f"{e.url}: {e.unusable or e.last_fault}" for e in self._pool.endpoints)
        return EngineError(
            f"no server can be used: {said}", hint="are the servers running, with the right model and key?"
        )
