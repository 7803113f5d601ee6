"""The server in a thread of its own, on this machine only."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterable
from typing import Self

import uvicorn

from pagecompiler.orders import Orders
from pagecompiler.serve.app import make_app
from pagecompiler.serve.board import Board
from pagecompiler.serve.methods import MethodChoice

DEFAULT_PORT = 8321
_HOST = "127.0.0.1"
_NAMES = (_HOST, "localhost")
_CLOSE_SECONDS = 1


class PortTakenError(Exception):
    """Another program listens there."""


def bind(port: int | None) -> socket.socket:
    """A socket on a port of the loopback interface; None takes the default one or, if that is taken, a free one.

    Raises PortTakenError when the port that was asked for is not free.
    """
    for number in (DEFAULT_PORT, 0) if port is None else (port,):
        made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere the option would let two programs share the port
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            made.bind((_HOST, number))
        except OSError as error:
            made.close()
            problem = error
            continue
        return made
    raise PortTakenError(f"port {port} cannot be used: {problem.strerror or problem}")


class Server:
    """Serves a board until it is closed; a context manager. `url` is the address of the build view."""

    def __init__(self, bound: socket.socket, board: Board, orders: Orders, methods: Iterable[MethodChoice]) -> None:
        port = bound.getsockname()[1]
        self.url = f"http://{_HOST}:{port}/"
        self._board = board
        self._socket = bound
        app = make_app(board, orders, methods, [f"{name}:{port}" for name in _NAMES])
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            http="h11",
            server_header=False,
            timeout_graceful_shutdown=_CLOSE_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([bound],), name="pagec-serve", daemon=True)

    def __enter__(self) -> Self:
        self._socket.listen()  # from here on a browser waits instead of being refused
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._board.close()
        self._server.should_exit = True
        self._thread.join(10 * _CLOSE_SECONDS)
        self._socket.close()
