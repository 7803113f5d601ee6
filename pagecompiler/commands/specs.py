"""Specs as commands take them: a file, or `-` for stdin."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pagecompiler.commands.screen import fail

if TYPE_CHECKING:
    from pagecompiler.spec import LoadedSpec


def read_spec(spec: str) -> bytes:
    """The bytes of a spec. Exits with 2 when there is no such file."""
    if spec == "-":
        if sys.stdin is None:
            fail("there is no standard input to read the spec from", 2)
        return sys.stdin.buffer.read()
    try:
        return Path(spec).read_bytes()
    except OSError as error:
        fail(f"cannot read the spec `{spec}`: {error.strerror}", 2)


def load(spec: str, data: bytes) -> LoadedSpec:
    """Read and check it. Raises CompileError."""
    from pagecompiler.spec import load_spec

    return load_spec(spec, data=data)


def shown(spec: str) -> str:
    """A spec as messages call it."""
    return "<stdin>" if spec == "-" else spec


def refuse_folders(specs: Sequence[str], *, batch: bool = False) -> None:
    """Exits with 2 when one of the specs is a folder; with `batch` there is a command for those."""
    for spec in specs:
        if spec != "-" and os.path.isdir(spec):
            others = f"name the specs in it, for example {spec.rstrip('/')}/*.yaml"
            hint = f"did you mean `pagec batch {spec}`?" if batch else others
            fail(f"`{spec}` is a folder; {hint}", 2)
