"""A folder of specs: which files are specs, and where their pages go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.files import real_path
from pagecompiler.outputs import OutputError

SUFFIXES = (".yaml", ".yml")
INDEX_NAME = "pagec-index.html"


@dataclass(frozen=True, slots=True)
class FolderSpec:
    """A spec under a folder. `name` is its path as messages show it, `output` its page."""

    path: Path
    output: Path

    @property
    def name(self) -> str:
        return str(self.path)


def find_specs(folder: Path, output: Path) -> list[FolderSpec]:
    """All specs under a folder in a fixed order; their pages keep the structure of the folder.

    Names that begin with `_` or `.` are no specs, nor is anything in the output folder. Raises OutputError when two
    specs would be one page, links between folders counted, or a folder cannot be read.

    >>> find_specs(Path("/nowhere"), Path("out"))
    []
    """
    found: list[FolderSpec] = []
    seen: dict[str, Path] = {}
    places: dict[Path, Path] = {}
    for path in _walk(folder, real_path(output)):
        spec = FolderSpec(path, output / path.relative_to(folder).with_suffix(".html"))
        parent = spec.output.parent
        if parent not in places:
            places[parent] = real_path(parent)
        other = seen.setdefault(os.path.normcase(places[parent] / spec.output.name), path)
        if other != path:
            raise OutputError(f"`{other}` and `{path}` would both be written to `{spec.output}`")
        found.append(spec)
    return found


def _walk(folder: Path, output: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder, onerror=_refuse):
        here = Path(place)
        # The folder itself may be the output folder: then pages lie beside their specs.
        folders[:] = sorted(
            name for name in folders if not name.startswith(("_", ".")) and real_path(here / name) != output
        )
        for name in sorted(names):
            path = here / name
            # A pipe of that name would be waited for without end.
            if not name.startswith(("_", ".")) and path.suffix.lower() in SUFFIXES and not path.is_fifo():
                yield path


def _refuse(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):  # it went while one looked
        raise OutputError(f"cannot read the folder `{error.filename}`: {error.strerror}")
