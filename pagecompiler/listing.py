"""Lists of the pages of a folder: `sitemap.xml` for search engines and `pagec-index.html` for people."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from urllib.parse import quote
from xml.sax.saxutils import escape

import yaml

from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.engine.reference import ReferenceEngine
from pagecompiler.files import write_atomic
from pagecompiler.folder import INDEX_NAME
from pagecompiler.models import REFERENCE, choose_model
from pagecompiler.spec import load_spec
from pagecompiler.survey import PageFacts

SITEMAP_NAME = "sitemap.xml"
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- written by pagec -->\n<urlset xmlns="{_NAMESPACE}">\n'


def write_sitemap(pages: Iterable[PageFacts], folder: Path) -> Path | None:
    """Write the addresses of all pages that have one; gives the file, None if there are none. Raises OSError."""
    addresses = sorted({page.address for page in pages if page.address is not None})
    if not addresses:
        return None
    entries = "".join(f"  <url><loc>{escape(address)}</loc></url>\n" for address in addresses)
    write_atomic(folder / SITEMAP_NAME, f"{_HEAD}{entries}</urlset>\n".encode())
    return folder / SITEMAP_NAME


def has_own_sitemap(folder: Path) -> bool:
    """Whether there is a sitemap that pagec wrote here."""
    try:
        return (folder / SITEMAP_NAME).read_bytes().startswith(_HEAD.encode())
    except OSError:
        return False


def compile_index(pages: Iterable[PageFacts], folder: Path, output: Path) -> PageResult:
    """Compile a page with links to all pages into `output`, by rule and with the site's defaults of `folder`."""
    paragraphs = [_entry(page, output) for page in pages]
    spec = {
        "title": "Pages",
        "hero": {"heading": "Pages"},
        "sections": [{"kind": "prose", "heading": "All pages", "paragraphs": paragraphs or ["There are none."]}],
    }
    data = yaml.safe_dump(spec, allow_unicode=True).encode()
    loaded = load_spec((folder / INDEX_NAME).with_suffix(".yaml"), data=data, root=folder)
    source = EngineSource(choose_model(REFERENCE), ReferenceEngine)
    options = CompileOptions(output=output / INDEX_NAME, output_root=output, read_cache=False, write_cache=False)
    return compile_spec(loaded, source, options)


def _entry(page: PageFacts, folder: Path) -> str:
    # The bytes of the name: it need not be UTF-8.
    place = quote(os.fsencode(PurePosixPath(os.path.relpath(page.spec.output, folder))), safe="/")
    words = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", page.title)
    return f"[{words}]({place})"
