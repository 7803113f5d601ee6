"""Images of a spec: found inside its folder, measured, and copied beside the page."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pagecompiler.files import write_atomic

_LENGTH = re.compile(r"\s*\+?([0-9.]+)\s*(?:px)?\s*")
_SVG_HEAD = 64 * 1024
# The copy beside a page would be served as a page, and replaced by one of that name.
_PAGES = (".html", ".htm")


@dataclass(frozen=True, slots=True)
class Asset:
    """`src` is the relative path as it stands in the page; sizes in CSS pixels, None if the file has none."""

    src: str
    path: Path
    width: int | None
    height: int | None


class AssetError(Exception):
    """An image that cannot be used; `code` is its diagnostic's, `path` where it was looked for."""

    def __init__(self, code: str, message: str, hint: str = "", *, path: Path | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.path = path


def resolve(src: str, folder: Path, root: Path | None = None) -> Asset:
    """The image `src` names, relative to `folder`, which must lie inside `root` (default: `folder`).

    Links that lead out of `root` are followed by nobody: what is copied must be what was meant.
    """
    if src.startswith(("/", "\\")) or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:|//", src):
        raise AssetError("E0307", f"`{src}` is not a relative path")
    try:
        top = (root or folder).resolve()
        path = _find(folder, src).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise AssetError("E0308", f"there is no file `{src}`") from error
    if not path.is_relative_to(top) or _climbs(src, folder.resolve(), top):
        raise AssetError("E0307", f"`{src}` leads out of the folder `{top.name}`")
    return _read(src, path)


def usable(path: Path) -> bool:
    """Whether there is an image that browsers show."""
    try:
        _read(path.name, path)
    except AssetError:
        return False
    return True


def _read(src: str, path: Path) -> Asset:
    try:
        if not path.exists():
            raise AssetError("E0308", f"there is no file `{src}`", _similar(path), path=path)
        if not path.is_file():
            raise AssetError("E0309", f"`{src}` is not a file", path=path)
        if PurePosixPath(src).suffix.lower() in _PAGES:
            # Not by what is in the file, which may be good: only another `src` mends it.
            raise AssetError("E0309", f"`{src}` is not an image by its name: .html is for pages", "rename the file")
        with path.open("rb") as file:
            head = file.read(_SVG_HEAD)
    except OSError as error:
        raise AssetError("E0309", f"`{src}` cannot be read: {error.strerror}", path=path) from error
    size = measure(path, head)
    if size is None:
        raise AssetError("E0309", f"`{src}` is not an image that browsers show", path=path)
    return Asset(src, path, *size)


def _climbs(src: str, folder: Path, top: Path) -> bool:
    """Whether `..` leaves `top` on the way, even if the path comes back: beside the page it would not."""
    depth = len(folder.relative_to(top).parts) if folder.is_relative_to(top) else 0
    for part in src.split("/"):
        depth += -1 if part == ".." else part not in ("", ".")
        if depth < 0:
            return True
    return False


def measure(path: Path, head: bytes) -> tuple[int | None, int | None] | None:
    """Width and height of an image file that begins with `head`, or None if it is none."""
    svg = _measure_svg(head)
    if svg is not None:
        return svg
    import imagesize

    if not head.startswith(_MAGIC) and head[4:8] != b"ftyp":
        return None
    width, height = imagesize.get(path)
    return (int(width), int(height)) if width > 0 and height > 0 else None


# imagesize also knows TIFF, PNM and others, which browsers do not show.
_MAGIC = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF", b"BM", b"\x00\x00\x01\x00")


def _measure_svg(head: bytes) -> tuple[int | None, int | None] | None:
    """Sizes of the root element, from `viewBox` where width and height are missing or relative."""
    text = head.decode("utf-8", "replace").removeprefix("\ufeff")
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    match = re.match(
        r"\s*(?:<\?xml[^>]*>\s*)?(?:<!DOCTYPE[^>\[]*(?:\[[^\]]*\])?\s*>\s*)?<svg\b([^>]*)>",
        text,
        re.IGNORECASE,
    )
    if match is None:
        return None
    attributes = {
        name.lower(): value for name, _, value in re.findall(r"([\w:-]+)\s*=\s*([\"'])(.*?)\2", match[1], re.DOTALL)
    }
    width, height = _pixels(attributes.get("width", "")), _pixels(attributes.get("height", ""))
    box = re.split(r"[\s,]+", attributes.get("viewbox", "").strip())
    if len(box) == 4:
        box_width, box_height = _pixels(box[2]), _pixels(box[3])
        if box_width and box_height:
            if width is None and height is None:
                width, height = box_width, box_height
            elif width is None and height is not None:
                width = max(1, round(height * box_width / box_height))
            elif height is None and width is not None:
                height = max(1, round(width * box_height / box_width))
    return (width, height) if width and height else (None, None)


def _pixels(length: str) -> int | None:
    match = _LENGTH.fullmatch(length)
    try:
        value = round(float(match[1])) if match else 0
    except (ValueError, OverflowError):
        return None
    return value if 0 < value <= 20000 else None


def place(asset: Asset, folder: Path) -> Path:
    """Where an image of a page in `folder` stands, as browsers find it: by the words of the path, not by links."""
    return Path(os.path.normpath(folder / PurePosixPath(asset.src)))


def copy_assets(assets: Iterable[Asset], folder: Path, root: Path | None = None) -> list[Path]:
    """Put every image at its `src` from `folder`, the page's; gives the files that were written.

    Nothing is written outside `root`, the folder of all pages (default: `folder`): AssetError.
    Each copy is complete or absent. A file that is there with the same bytes is left alone, and so is the
    source itself, when the page is written beside its spec.
    """
    written = []
    for asset in {asset.src: asset for asset in assets}.values():
        target = place(asset, folder)
        if not target.is_relative_to(os.path.normpath(root or folder)):
            raise AssetError("E0307", f"`{asset.src}` leads out of the folder of the pages")
        if write_atomic(target, asset.path.read_bytes()):
            written.append(target)
    return written


def _find(folder: Path, src: str) -> Path:
    """File systems differ in how they spell `é`: take the spelling that is there."""
    path = folder / PurePosixPath(src)
    decomposed = folder / PurePosixPath(unicodedata.normalize("NFD", src))
    return decomposed if decomposed.exists() and not path.exists() else path


def _similar(path: Path) -> str:
    import difflib

    if not path.parent.is_dir():
        return ""
    names = [entry.name for entry, _ in zip(path.parent.iterdir(), range(500), strict=False)]
    same = [name for name in names if name.casefold() == path.name.casefold()]
    close = same or difflib.get_close_matches(path.name, names, 1)
    return f"did you mean `{close[0]}`?" if close else ""
