"""Compiled pages and their images as answers, each with a policy under which nothing in it can run."""

from __future__ import annotations

import mimetypes
import posixpath
import threading
from pathlib import Path
from urllib.parse import unquote

from starlette.responses import PlainTextResponse, Response

from pagecompiler.diagnostics import CompileError
from pagecompiler.serve.board import Board
from pagecompiler.serve.draft import draft_page
from pagecompiler.serve.story import PageStory
from pagecompiler.stitch import content_security_policy

PAGE_SUFFIX = ".html"
_FRAME = "frame-ancestors 'self'; sandbox allow-same-origin"
_IMAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
_IMAGE_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".ico": "image/x-icon",
    ".bmp": "image/bmp",
}


class Pages:
    """The pages of a board; `/pages/<key>.html`, and images by their paths relative to them."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._drafting = threading.Lock()
        self._draft_of: tuple[str, int, int] | None = None
        self._last_draft = ""

    def answer(self, path: str, *, draft: bool) -> Response:
        """The page or image of a path; with `draft` a page that is being written as far as it is."""
        stem, suffix = posixpath.splitext(path)
        story = self._board.stories.get(stem) if suffix == PAGE_SUFFIX else None
        if story is not None:
            html = self._draft(story) if draft else None
            return _page(html) if html is not None else self._written(story)
        image = self._image(path)
        if image is None:
            return PlainTextResponse("there is no such page and no such image", 404)
        try:
            data = image.read_bytes()
        except OSError:
            return PlainTextResponse("the image cannot be read", 404)
        kind = _IMAGE_TYPES.get(image.suffix.lower()) or mimetypes.guess_type(image.name)[0]
        return Response(data, media_type=kind, headers={"content-security-policy": _IMAGE_POLICY})

    def _draft(self, story: PageStory) -> str | None:
        """The page of the build that goes on; several browsers that ask for the same share it."""
        with self._drafting:
            with self._board.lock:
                build, texts = story.build, dict(story.texts)
                wanted = story.key, story.number, len(story.log)
            if build is None or not build.blocks:
                return None
            try:
                if self._draft_of != wanted:
                    self._last_draft = draft_page(build, texts)
                    self._draft_of = wanted
            except CompileError:  # of a template; the build says it
                return None
            return self._last_draft

    def _written(self, story: PageStory) -> Response:
        try:
            return _page(story.spec.output.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return PlainTextResponse("the page has not been written yet", 404)

    def _image(self, path: str) -> Path | None:
        """An image that a page names or that lies among the pages: no other file is ever given out."""
        with self._board.lock:
            stories = list(self._board.stories.values())
            for story in stories:
                folder = posixpath.dirname(story.key)
                for src, file in story.images.items():
                    if posixpath.normpath(posixpath.join(folder, unquote(src))) == path:
                        return file
        if not stories or posixpath.splitext(path)[1].lower() not in _IMAGE_TYPES:
            return None
        # A page that was current when the watch began has not been built by it: its images are the copies.
        root = stories[0].spec.output.parents[stories[0].key.count("/")].resolve()
        file = Path(root, path).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None


def _page(html: str) -> Response:
    """A page under the policy that it has in its head, which a header makes stricter: it may be framed only here."""
    css = html.partition("<style>")[2].partition("</style>")[0]
    policy = f"{content_security_policy(css)}; {_FRAME}"
    return Response(html, media_type="text/html", headers={"content-security-policy": policy})
