"""The story of one page: its spec, how its last build went, and every piece of text that was written for it.

Everything in it is ready for JSON. `log` only grows during a build, so that who has read it up to some entry needs
only the rest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pagecompiler.diagnostics import Diagnostic
from pagecompiler.engine.types import FinishReason, GenerationEvent, Request, TracedToken
from pagecompiler.folder import FolderSpec
from pagecompiler.page_build import PageBuild
from pagecompiler.results import PageResult
from pagecompiler.serve.spec_file import SpecFile

Entry = dict[str, Any]
State = Literal["waiting", "building", "ok", "failed"]

_EXCERPT = 200


class PageStory:
    """`number` counts the builds of the page, `good` those that gave a page; `version` changes with the `head`.

    `build` is there while it goes on; `images` are the files of the page by their `src`.
    """

    def __init__(self, key: str, spec: FolderSpec) -> None:
        self.key = key
        self.spec = spec
        self.file = SpecFile(spec.path)
        self.number = self.good = self.version = 0
        self.state: State = "waiting"
        self.build: PageBuild | None = None
        self.images: dict[str, Path] = {}
        self.log: list[Entry] = []
        self.texts: dict[str, str] = {}
        self.traces: dict[str, list[TracedToken]] = {}
        self._attempts: dict[str, set[int]] = {}
        self._lanes: list[dict[str, Any]] = []
        self._diagnostics: list[dict[str, Any]] = []
        self._digest = self.file.digest()
        self._seconds = self._started = 0.0
        self._method = ""

    def head(self) -> dict[str, Any]:
        """All but the log."""
        return {
            "key": self.key,
            "spec": self.spec.name,
            "digest": self._digest,
            "number": self.number,
            "good": self.good,
            "written": os.path.exists(self.spec.output),
            "state": self.state,
            "seconds": self._seconds,
            "method": self._method,
            "lanes": self._lanes,
            "diagnostics": self._diagnostics,
        }

    def begin(self, build: PageBuild, started: float) -> None:
        """A build of the page has been planned, at this time on the clock of `time.perf_counter`."""
        self.forget()
        self.number += 1
        self.version += 1
        self.state, self.build, self._started = "building", build, started
        self._digest = self.file.digest()
        self._diagnostics = []
        self.images = {asset.src: asset.path for asset in build.assets.values()}
        groups = build.plan.groups if build.plan is not None else ()
        self._lanes = [
            {"name": group.name, "blocks": [{"name": block.name, "kind": block.kind} for block in group.blocks]}
            for group in groups
        ]
        for block in build.blocks:
            if block.fragment is not None:
                self.log.append(_block(block.block.name, "reused", text=block.fragment.text))

    def hear(self, request: Request, event: GenerationEvent) -> None:
        """The engine has told something about a block of the page."""
        name, at = request.label, max(0.0, event.at - self._started)
        if event.kind == "admitted":
            attempts = self._attempts.setdefault(name, set())
            attempts.add(event.request)
            self.texts[name], self.traces[name] = "", []
            self.log.append(_block(name, "writing", attempt=len(attempts), at=at))
            return
        self.texts[name] = self.texts.get(name, "") + event.text
        counts = {"count": event.tokens, "drafted": event.drafted, "accepted": event.accepted, "at": at}
        if event.trace:
            self.traces.setdefault(name, []).extend(event.trace)
            self.log.append({"kind": "tokens", "block": name, "tokens": list(map(_token, event.trace)), **counts})
        elif event.text:
            self.log.append({"kind": "text", "block": name, "text": event.text, **counts})
        if event.completion is not None:
            failed = event.completion.reason in (FinishReason.FAILED, FinishReason.CANCELLED)
            self.log.append(_block(name, "failed" if failed else "written", **counts))

    def end(self, result: PageResult, sources: Mapping[str, str]) -> None:
        """The page is finished, or has failed."""
        self.version += 1
        self.state = "ok" if result.ok else "failed"
        self.good += result.ok
        self._digest = self.file.digest()
        self._seconds = result.seconds
        self._method = result.method
        self._diagnostics = [_finding(finding, sources) for finding in result.diagnostics]
        for block in result.blocks:
            text = block.fragment.text if block.fragment is not None and block.state == "reused" else ""
            self.log.append(_block(block.block.name, block.state, text=text, why=block.why))
        self.build = None

    def forget(self) -> None:
        """Drop what was written, but not how it went."""
        self.log = []
        self.texts, self.traces, self._attempts = {}, {}, {}


def _block(name: str, state: str, **more: Any) -> Entry:
    return {"kind": "block", "block": name, "state": state, **more}


def _token(token: TracedToken) -> list[Any]:
    """Text, where its guess came from, and a guess that was refused with its rank."""
    return [token.text, token.source if token.accepted else "", token.refused, token.refused_rank]


def _finding(finding: Diagnostic, sources: Mapping[str, str]) -> dict[str, Any]:
    """The object D of the JSON output, and the line that it is about."""
    lines = sources.get(finding.file or "", "").split("\n")
    number = finding.span.line if finding.span is not None else 0
    return {**finding.to_json(), "excerpt": lines[number - 1][:_EXCERPT] if 0 < number <= len(lines) else ""}
