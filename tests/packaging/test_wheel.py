"""The wheel holds every file that the program reads, and the program finds them where they are."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagecompiler import resources

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "pagecompiler"


def _files(folder: Path) -> set[str]:
    """The files under a folder, relative to it, without what Python and editors leave there."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".")
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel of this checkout. Without isolation nothing is downloaded."""
    target = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(target),
        str(REPOSITORY),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = target.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_the_wheel_holds_the_whole_package(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {f"pagecompiler/{name}" for name in _files(PACKAGE)} <= names
    assert "pagecompiler/py.typed" in names


def test_the_wheel_holds_every_template(wheel: zipfile.ZipFile) -> None:
    templates = _files(REPOSITORY / "templates")
    assert templates
    assert {f"pagecompiler/templates/{name}" for name in templates} <= set(wheel.namelist())


def test_nothing_else_gets_into_the_wheel(wheel: zipfile.ZipFile) -> None:
    roots = {name.split("/")[0] for name in wheel.namelist()}
    assert all(root == "pagecompiler" or root.endswith(".dist-info") for root in roots), roots


def test_an_unpacked_wheel_finds_its_own_templates(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    code = "from pagecompiler import resources as r; print(r.template_dir(), r.data_path('x').parent.is_dir())"
    # -S and -E keep the editable install of this checkout out of the way.
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [f"{tmp_path / 'pagecompiler' / 'templates'} True"]


def test_the_checkout_finds_the_templates_of_the_repository() -> None:
    assert resources.template_dir() == REPOSITORY / "templates"


def test_missing_templates_are_said_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(resources, "_CANDIDATES", (tmp_path / "none",))
    with pytest.raises(FileNotFoundError, match="not installed completely"):
        resources.template_dir()


def test_the_version_has_one_source() -> None:
    with (REPOSITORY / "pyproject.toml").open("rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert importlib.metadata.version("pagec") == version
    newest = re.search(r"^## (\S+)", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == version
    literal = re.compile(rf'["\']{re.escape(version)}["\']')
    repeated = [path for path in PACKAGE.rglob("*.py") if literal.search(path.read_text(encoding="utf-8"))]
    assert not repeated, f"read the version with importlib.metadata: {repeated}"
