"""The layers stay apart: who may import what."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pagecompiler

PACKAGE = Path(pagecompiler.__file__).parent


def imports(path: Path) -> set[str]:
    """The modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    return found


def test_one_file_loads_llama_cpp():
    users = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(name.split(".")[0] == "llama_cpp" for name in imports(path))
    }
    assert users == {"engine/llama/support.py"}


@pytest.mark.parametrize("engine", ["llama", "openai"])
def test_engines_know_engines_only(engine):
    for path in (PACKAGE / "engine" / engine).rglob("*.py"):
        own = {name for name in imports(path) if name.startswith("pagecompiler")}
        assert all(name.startswith("pagecompiler.engine") for name in own), path
