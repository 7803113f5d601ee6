"""The referees of a finished page: the Nu Html Checker, and axe in Chromium.

Tests that use them carry `@pytest.mark.browser`; `tests/install_referees.sh` installs what they need.
A missing referee skips the test, or fails it when `CI=true` or `PAGEC_REFEREES=required`.

    with Browser() as browser:
        assert browser.check(page).problems() == []
    assert vnu([page]) == {page: []}
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NoReturn
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
VNU_JAR = ROOT / "node_modules/vnu-jar/build/dist/vnu.jar"
AXE_SCRIPT = ROOT / "node_modules/axe-core/axe.min.js"

# vnu 26.9.27 reads a CSP at the start tag: it reports every `<style>` that only a hash allows and every
# image that only 'self' or data: allows. Chromium obeys the same CSP and says on its console what it blocks.
_CSP_GUESS = "violates Content Security Policy (meta tag)"

WIDTHS_PX = (360, 768, 1280)
CHROMIUM_ARGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]

Scheme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the Nu Html Checker; `kind` is error, warning or info."""

    kind: str
    text: str
    line: int | None
    column: int | None

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.kind}: {self.text}"


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule of axe that the page breaks, with the elements concerned (CSS selectors)."""

    rule: str
    impact: str
    help: str
    targets: tuple[str, ...]

    def __str__(self) -> str:
        return f"axe {self.rule}: {self.help}: {', '.join(self.targets)}"


@dataclass(frozen=True, slots=True)
class Visit:
    """What Chromium saw of one page, at one width and colour scheme."""

    violations: tuple[Violation, ...]
    console: tuple[str, ...]
    external_requests: tuple[str, ...]
    broken_images: tuple[str, ...]
    overflow_px: int
    """By how much the page is wider than the window at 360 px; 0 is right."""

    def problems(self) -> list[str]:
        """Every finding as one line; empty for a page as it should be."""
        return [
            *map(str, self.violations),
            *(f"console: {text}" for text in self.console),
            *(f"request: {url}" for url in self.external_requests),
            *(f"image: {source}" for source in self.broken_images),
            *([f"wider than 360 px by {self.overflow_px} px"] if self.overflow_px else []),
        ]


def required() -> bool:
    """Whether a missing referee is a failure rather than a skip."""
    return os.environ.get("CI") == "true" or os.environ.get("PAGEC_REFEREES") == "required"


def _absent(what: str) -> NoReturn:
    reason = f"referee missing: {what} (run tests/install_referees.sh)"
    if required():
        pytest.fail(reason)
    pytest.skip(reason)


def vnu(paths: Iterable[Path]) -> dict[Path, list[Message]]:
    """Every message of the Nu Html Checker for each page (and CSS file), in one Java process.

    The keys are the paths as given, each present, with an empty list for a clean page.
    """
    found: dict[Path, list[Message]] = {path: [] for path in paths}
    if not found:
        return {}
    java = shutil.which("java") or _absent("java")
    if not VNU_JAR.is_file():
        _absent("vnu-jar")
    by_resolved = {path.resolve(): path for path in found}
    # Without a larger stack the schema is too deep for the interpreter's frames, and vnu gives up.
    command = [java, "-Xss8m", "-jar", str(VNU_JAR), "--format", "json", "--also-check-css"]
    done = subprocess.run(
        [*command, *map(str, by_resolved)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    try:
        messages = json.loads(done.stderr)["messages"]
    except ValueError:
        raise RuntimeError(f"vnu failed ({done.returncode}): {done.stdout[-1000:]}{done.stderr[-1000:]}") from None
    for message in messages:
        if "url" not in message:
            raise RuntimeError(f"vnu: {message.get('message')}")
        path = by_resolved[Path(unquote(urlsplit(message["url"]).path)).resolve()]
        if _CSP_GUESS in message.get("message", ""):
            continue
        kind = message.get("subType", message["type"])
        found[path].append(
            Message(kind, message.get("message", ""), message.get("lastLine"), message.get("lastColumn"))
        )
    return found


@cache
def _axe_source() -> str:
    if not AXE_SCRIPT.is_file():
        _absent("axe-core")
    return AXE_SCRIPT.read_text(encoding="utf-8")


def axe(page: Page) -> tuple[Violation, ...]:
    """What axe finds in an open page, frames not included."""
    page.evaluate(_axe_source() + "; undefined")
    options = "{resultTypes: ['violations'], iframes: false}"
    found = page.evaluate(f"axe.run(document, {options}).then(r => r.violations)")
    return tuple(
        Violation(
            rule["id"],
            rule["impact"] or "",
            rule["help"],
            tuple(" ".join(map(str, node["target"])) for node in rule["nodes"]),
        )
        for rule in found
    )


class Browser:
    """Chromium without a network, as a context manager; pages are opened from their files.

    The page's own CSP stays in force: axe comes in through the debugger, which no CSP stops, so that a style
    blocked for readers is also blocked here.
    """

    def __init__(self) -> None:
        self._executable = shutil.which("chromium") or shutil.which("chromium-browser") or _absent("chromium")

    def __enter__(self) -> Browser:
        self._contexts: dict[Scheme, BrowserContext] = {}
        self._playwright = sync_playwright().start()
        try:
            self._chromium: Chromium = self._playwright.chromium.launch(
                executable_path=self._executable, args=CHROMIUM_ARGS, timeout=60_000
            )
        except BaseException:
            self._playwright.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._chromium.close()
        finally:
            self._playwright.stop()

    @contextmanager
    def page(
        self,
        path: Path,
        *,
        width_px: int = 1280,
        scheme: Scheme = "light",
        height_px: int = 900,
        url: str = "",
    ) -> Iterator[tuple[Page, list[str], list[str]]]:
        """Opens the file (or the URL, if one is given) and yields page, console and external requests.

        External is whatever is neither `data:`, nor a file of the page's own folder, nor the page's own
        origin. Such requests are recorded and refused.
        """
        console: list[str] = []
        external: list[str] = []
        address = url or path.resolve().as_uri()
        own = _origin(url) if url else path.resolve().parent.as_uri() + "/"
        page = self._context(scheme).new_page()
        try:
            page.set_viewport_size({"width": width_px, "height": height_px})
            page.on("console", lambda message: console.append(f"{message.type}: {message.text}"))
            page.on("pageerror", lambda error: console.append(f"exception: {error}"))

            def gate(route: Any) -> None:
                asked: str = route.request.url
                if asked.startswith((own, "data:")):
                    route.continue_()
                else:
                    external.append(asked)
                    route.abort()

            page.route("**/*", gate)
            page.goto(address, wait_until="load")
            yield page, console, external
        finally:
            page.close()

    def _context(self, scheme: Scheme) -> BrowserContext:
        """One context a colour scheme: making one takes longer than opening a page in it."""
        if scheme not in self._contexts:
            self._contexts[scheme] = self._chromium.new_context(color_scheme=scheme, reduced_motion="reduce")
            self._contexts[scheme].set_default_timeout(20_000)
        return self._contexts[scheme]

    def check(self, path: Path, *, width_px: int = 1280, scheme: Scheme = "light") -> Visit:
        """Opens one page, runs every rule of axe on it and measures what only a browser can."""
        with self.page(path, width_px=width_px, scheme=scheme) as (page, console, external):
            broken = page.evaluate(_BROKEN_IMAGES) if _load_images(page) else []
            violations = axe(page)
            page.set_viewport_size({"width": 360, "height": 800})
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        return Visit(violations, tuple(console), tuple(external), tuple(broken), max(0, overflow))

    def screenshots(self, path: Path, folder: Path, *, widths_px: Iterable[int] = WIDTHS_PX) -> list[Path]:
        """Writes `<stem>-<width>-<light|dark>.png` for each width and `<stem>-print.png`; full pages."""
        folder.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        schemes: tuple[Scheme, Scheme] = ("light", "dark")
        for scheme in schemes:
            for width in widths_px:
                written.append(folder / f"{path.stem}-{width}-{scheme}.png")
                with self.page(path, width_px=width, scheme=scheme) as (page, _, _):
                    _load_images(page)
                    page.screenshot(path=written[-1], full_page=True)
        written.append(folder / f"{path.stem}-print.png")
        with self.page(path, width_px=768) as (page, _, _):
            page.emulate_media(media="print")
            _load_images(page)
            page.screenshot(path=written[-1], full_page=True)
        return written


def _load_images(page: Page) -> int:
    """Wait for all images, those below the window too; gives their number."""
    count: int = page.evaluate(_ALL_IMAGES)
    return count


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/"


# Not with wait_for_function: what it evaluates later than at once is stopped by the page's CSP.
_ALL_IMAGES = """async () => {
    for (const image of document.images) image.loading = 'eager';
    await Promise.allSettled([...document.images].map(image => image.decode()));
    return document.images.length;
}"""
_BROKEN_IMAGES = """() => [...document.images]
    .filter(image => !(image.complete && image.naturalWidth > 0))
    .map(image => image.getAttribute('src') ?? '')"""
