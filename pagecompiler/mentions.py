"""Whether a file is named anywhere: in pages, styles and whatever else may show it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, unquote

from pagecompiler.files import real_path

SHOWING = frozenset(
    """.html .htm .xhtml .xht .shtml .php .css .scss .js .mjs .ts .jsx .vue .json .webmanifest .svg .xml .rss .atom
    .md .mdx .txt""".split()
)  # fmt: skip
"""What may show an image, or list it."""

_PLAIN = re.compile(r"[\w.%-]+")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def unnamed(files: Iterable[Path], places: Iterable[tuple[Path, Collection[str]]]) -> Iterator[Path]:
    """Those files whose name stands in no text of the places, each a folder and the suffixes that count there.

    Only names are compared, so a file stays that is in another folder than the one that is meant. Raises OSError when
    a folder or a text cannot be read.

    >>> list(unnamed([Path("a.svg")], []))
    [PosixPath('a.svg')]
    """
    left = {path: _spellings(path.name) for path in files}
    for text in (text for folder, suffixes in places for text in _texts(folder, suffixes)):
        # Nearly all names are words, and a set of words is quick; in the others anything may be inside.
        words = {part for word in _PLAIN.findall(text) for part in (word, word.strip(".-%"))}
        left = {path: names for path, names in left.items() if not any(_stands(name, words, text) for name in names)}
    yield from left


def _stands(name: str, words: set[str], text: str) -> bool:
    return name in words if _PLAIN.fullmatch(name) else name in text


def _spellings(name: str) -> set[str]:
    return {name, quote(os.fsencode(name)), name.replace("'", "''")}


def _texts(folder: Path, suffixes: Collection[str]) -> Iterator[str]:
    """The texts in a folder (a real path) and behind the links in it, as they are, and with character references and
    percent signs read.
    """
    seen: set[Path] = set()
    for place, folders, names in os.walk(folder, onerror=_raise, followlinks=True):
        real = {name: real_path(Path(place, name)) for name in folders}
        # Links may lead in circles, or to everything there is.
        folders[:] = [name for name in folders if real[name] not in seen and not folder.is_relative_to(real[name])]
        seen.update(real.values())
        for path in (Path(place, name) for name in names):
            if path.suffix.lower() in suffixes and path.is_file():  # no pipe
                text = _decoded(path.read_bytes())
                yield "\n".join([text, unescape(text), unquote(unescape(text))])


def _decoded(data: bytes) -> str:
    if data.startswith(_WIDE):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _raise(error: OSError) -> None:
    raise error
