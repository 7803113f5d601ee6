"""Commented specs that compile: one for each kind of section, for `pagec new` and the manual."""

from __future__ import annotations

import textwrap
from pathlib import Path

from pagecompiler.resources import data_path
from pagecompiler.schema import KINDS

WHOLE = "page"
"""The name of the spec that has all kinds."""

PICTURE = "picture.svg"


def names() -> list[str]:
    """What there is a spec for."""
    return [*KINDS, WHOLE]


def section(kind: str) -> str:
    """The section of a kind as an entry of `sections`, not indented."""
    return _read(f"{kind}.yaml")


def spec(name: str) -> str:
    """A whole spec with a section of this kind, or with all of them. Raises KeyError for another name.

    >>> spec("faq").splitlines()[0].split("#")[0].strip()
    'title: Acme Kettle'
    """
    if name not in names():
        raise KeyError(name)
    kinds = list(KINDS) if name == WHOLE else [name]
    sections = "".join(textwrap.indent(section(kind), "  ") for kind in kinds)
    return _read("_page.yaml") + sections + _read("_footer.yaml")


def files(name: str) -> list[Path]:
    """The images that a spec needs beside it."""
    return [data_path("examples") / PICTURE] if PICTURE in spec(name) else []


def _read(name: str) -> str:
    return (data_path("examples") / name).read_text(encoding="utf-8")
