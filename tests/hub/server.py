"""A hub on loopback: the part of the protocol that a download needs, with the faults that networks have."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REVISION = "c0ffee" * 6 + "c0ff"
_RANGE = re.compile(r"bytes=(\d+)-")


@dataclass
class Repository:
    """Files by name. The faults: `token` must be sent, `gated` terms were not accepted, each download ends after
    `cut_after` bytes for the next `cuts` times, ranges are ignored, `status` answers every download, the digest that
    is promised is another one."""

    files: dict[str, bytes]
    token: str = ""
    gated: bool = False
    cut_after: int = 0
    cuts: int = 0
    ignores_ranges: bool = False
    status: int = 0
    wrong_digest: bool = False
    without_digest: bool = False
    ranges: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


class Hub:
    """The server; `repositories` by `owner/name`."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        hub = self

        class Handler(_Handler):
            repositories = hub.repositories

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    repositories: dict[str, Repository]
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = self.path.partition("?")[0]
        if found := re.match(r"/api/models/([^/]+/[^/]+)", path):
            self._info(found[1])
        elif found := re.match(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            self._resolve(found[1], found[2], found[3])
        elif found := re.match(r"/cdn/([^/]+/[^/]+)/(.+)", path):
            self._download(self.repositories[found[1]], found[2], body=body)
        else:
            self._error(404)

    def _open(self, name: str) -> Repository | None:
        """The repository, or an answer that refuses it."""
        repository = self.repositories.get(name)
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if repository is None or (repository.token and token != repository.token):
            # The hub does not tell a private repository from none.
            self._error(401, "RepoNotFound")
            return None
        if repository.gated:
            self._error(403, "GatedRepo")
            return None
        repository.tokens.append(token)
        return repository

    def _info(self, name: str) -> None:
        repository = self._open(name)
        if repository is None:
            return
        siblings = []
        for file, data in repository.files.items():
            entry: dict[str, Any] = {"rfilename": file, "size": len(data)}
            if not repository.without_digest:
                entry["lfs"] = {"sha256": self._digest(repository, data), "size": len(data), "pointerSize": 134}
            siblings.append(entry)
        self._send(200, json.dumps({"id": name, "sha": REVISION, "siblings": siblings}).encode())

    def _digest(self, repository: Repository, data: bytes) -> str:
        return hashlib.sha256(data + b"x" * repository.wrong_digest).hexdigest()

    def _resolve(self, name: str, revision: str, file: str) -> None:
        repository = self._open(name)
        if repository is None:
            return
        if file not in repository.files or revision != REVISION:
            self._error(404, "EntryNotFound")
            return
        data = repository.files[file]
        self._send(302, b"", {
            "Location": f"http://localhost:{self.server.server_port}/cdn/{name}/{file}",  # another host
            "X-Repo-Commit": REVISION,
            "X-Linked-Etag": f'"{self._digest(repository, data)}"',
            "X-Linked-Size": str(len(data)),
        })  # fmt: skip

    def _download(self, repository: Repository, file: str, *, body: bool) -> None:
        wanted = self.headers.get("Range", "")
        if body:
            repository.ranges.append(wanted)
            repository.tokens.append("cdn:" + self.headers.get("Authorization", ""))
        if repository.status:
            self._error(repository.status)
            return
        data = repository.files[file]
        first = int(found[1]) if (found := _RANGE.match(wanted)) and not repository.ignores_ranges else 0
        part = data[first:]
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(part)))
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if repository.cuts > 0:
            repository.cuts -= 1
            self.wfile.write(part[: repository.cut_after])
            self.close_connection = True
            return
        self.wfile.write(part)

    def _error(self, status: int, code: str = "") -> None:
        self._send(status, b"{}", {"X-Error-Code": code} if code else {})

    def _send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
