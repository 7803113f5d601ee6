"""pagec compiles a YAML page spec into one finished, valid HTML page with a local language model.

>>> from pagecompiler import compile_page, load_spec
>>> result = compile_page(load_spec("specs/kettle.yaml"))  # doctest: +SKIP
>>> result.html[:15]  # doctest: +SKIP
'<!DOCTYPE html>'
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pagecompiler.api import compile_page
    from pagecompiler.engine.base import Engine
    from pagecompiler.spec import load_spec

__all__ = ["Engine", "compile_page", "load_spec"]

_HOMES = {"Engine": "pagecompiler.engine.base", "compile_page": "pagecompiler.api", "load_spec": "pagecompiler.spec"}


def __getattr__(name: str) -> Any:
    # Imported at the first use: the command line must start fast.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
