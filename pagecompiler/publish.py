"""From a finished page to files: the images first, and then the page."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pagecompiler.assets import Asset, copy_assets
from pagecompiler.files import write_atomic
from pagecompiler.inputs import Inputs, digest_file


def write_page(html: str, output: Path, assets: Iterable[Asset], root: Path | None) -> Inputs:
    """Write the images and then the page, so that a page that is there is complete; gives the copies.

    `root` is the folder of all pages. Raises OSError and AssetError.
    """
    assets = list(assets)
    copy_assets(assets, output.parent, root)
    write_atomic(output, html.encode())
    targets = {Path(os.path.normpath(output.resolve().parent / asset.src)): asset for asset in assets}
    return tuple((str(path), digest_file(path)) for path, asset in targets.items() if path != asset.path)
