"""From a finished page to files: the images first, and then the page."""

from __future__ import annotations

import contextlib
import glob
import os
import time
from collections.abc import Iterable, MutableMapping
from pathlib import Path

from pagecompiler.assets import Asset, AssetError, copy_assets, place
from pagecompiler.diagnostics import Diagnostic, diagnostic
from pagecompiler.files import LEFTOVER_SECONDS, real_path, real_place, temporary_names, write_atomic
from pagecompiler.inputs import Inputs, digest_file
from pagecompiler.record import PageRecord


def write_page(
    html: str, output: Path, assets: Iterable[Asset], root: Path | None, places: MutableMapping[Path, Path]
) -> tuple[Inputs, Inputs]:
    """Write the images and then the page, so that a page that is there is complete; gives the copies of images, and
    those of them that were written now.

    `root` is the folder of all pages, `places` which image of this run stands where: two images for one file are
    refused. What a killed build of the page left behind goes. Raises OSError and AssetError.
    """
    assets = list(assets)
    targets = {real_place(place(asset, output.parent)): asset for asset in assets}
    for path, asset in targets.items():
        other = places.get(path, asset.path)
        if other != asset.path and digest_file(other) != digest_file(asset.path):
            raise AssetError("E0807", f"`{other}` and `{asset.path}` would both be put at `{path}`")
    written = {real_place(path) for path in copy_assets(assets, output.parent, root)}
    places.update({path: asset.path for path, asset in targets.items()})
    write_atomic(output, html.encode())
    _remove_leftovers(output)
    copies = {str(path): digest_file(path) for path, asset in targets.items() if real_path(path) != asset.path}
    put = {name: digest for name, digest in copies.items() if Path(name) in written}
    return tuple(copies.items()), tuple(put.items())


def put_before(before: PageRecord | None, output: Path, put: Inputs) -> Inputs:
    """What was put beside a page by this build and, as far as it is still there, by earlier ones."""
    if before is None or before.output != str(real_place(output)):
        return put
    return tuple({**{name: digest for name, digest in before.put if os.path.exists(name)}, **dict(put)}.items())


def write_problem(error: OSError) -> Diagnostic:
    """What is said of a file that cannot be written."""
    name = error.filename2 or error.filename or "the output"
    return diagnostic("E0801", f"cannot write `{name}`: {error.strerror or error}")


def _remove_leftovers(output: Path) -> None:
    for path in map(Path, glob.glob(temporary_names(output))):
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()
