"""The pictures that README shows, from pages compiled and a build watched just now: `make screenshots`."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from pagecompiler import compile_page

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "img"
PICTURES = {"kettle": (1280, 1180)}
"""Sample spec → width and height of its picture in CSS pixels."""

BUILD_VIEW = "build-view"
BUILD_SPEC = "specs/kettle.yaml"
BUILD_SIZE = (1280, 860)


def main() -> int:
    """Write `docs/img/<spec>.png` for each picture, and that of the build view; 1 when a page does not compile."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser_path is None:
        print("screenshots: install Debian's package chromium first", file=sys.stderr)
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        for name, (width, height) in PICTURES.items():
            page_path = Path(place) / f"{name}.html"
            result = compile_page(ROOT / "specs" / f"{name}.yaml", output=page_path)
            if not result.ok:
                print(*(finding.message for finding in result.diagnostics), sep="\n", file=sys.stderr)
                return 1
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(page_path.as_uri())
            page.wait_for_load_state("networkidle")
            page.screenshot(path=FOLDER / f"{name}.png")
        with watched(Path(place)) as address:
            take_build_view(browser, address)
        browser.close()
    return 0


@contextmanager
def watched(place: Path) -> Iterator[str]:
    """`pagec watch --serve` of a sample; gives the address of its build view."""
    command = [sys.executable, "-m", "pagecompiler.cli", "watch", BUILD_SPEC, "--serve", "--port", "0"]
    folders = ["-o", str(place / "out"), "--cache-dir", str(place / "cache")]
    with subprocess.Popen([*command, *folders], cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield next(line for line in process.stderr if line.startswith("build view: ")).split()[-1]
        finally:
            process.terminate()
            process.communicate()


def take_build_view(browser: Browser, address: str) -> None:
    """A whole build, and the candidates at a guess that was refused."""
    width, height = BUILD_SIZE
    page = browser.new_page(viewport={"width": width, "height": height})
    page.goto(address)
    page.locator("body[data-state=ok]").wait_for()
    page.get_by_role("button", name="COMPILE").click()
    page.locator("body[data-state=building]").wait_for()
    page.locator("body[data-state=ok]").wait_for()
    page.locator("[role=option]:has(s)").first.click()
    page.locator("#token tr").first.wait_for()
    page.mouse.move(0, 0)
    page.locator("#frames iframe:not(.behind)").wait_for()
    page.screenshot(path=FOLDER / f"{BUILD_VIEW}.png")


if __name__ == "__main__":
    sys.exit(main())
