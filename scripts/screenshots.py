"""Takes the pictures that the README shows, from pages compiled just now: `make screenshots`."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from pagecompiler import compile_page

ROOT = Path(__file__).resolve().parents[1]
PICTURES = {"kettle": (1280, 1180)}
"""Sample spec → width and height of its picture in CSS pixels."""


def main() -> int:
    """Write `docs/img/<spec>.png` for each picture; 1 when a page does not compile."""
    browser_path = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser_path is None:
        print("screenshots: install Debian's package chromium first", file=sys.stderr)
        return 1
    folder = ROOT / "docs" / "img"
    folder.mkdir(parents=True, exist_ok=True)
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
            page.screenshot(path=folder / f"{name}.png")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
