"""What goes wrong with a disk is one clear error, and the last good page stays."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pagecompiler.lock import PageLock

SPEC = "title: T\nhero: {heading: H}\nsections:\n- {kind: prose, heading: One, paragraphs: [@]}\n"
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'
DROP_CAPABILITY, OVERRIDE_RIGHTS, READ_ALL = 24, 1, 2


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose rights may be changed by the test."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o777)
    (path / "page.yaml").write_text(SPEC.replace("@", "first"), encoding="utf-8")
    yield path
    for place in [path, *(entry for entry in path.rglob("*") if entry.is_dir())]:
        place.chmod(0o777)
    shutil.rmtree(path)


def pagec(
    folder: Path, *arguments: str, model: str = "reference", file_bytes: int | None = None, ordinary: bool = False
) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if file_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
        if ordinary and os.geteuid() == 0:
            # The superuser as one for whom the rights of files hold, too.
            for capability in (OVERRIDE_RIGHTS, READ_ALL):
                ctypes.CDLL(None).prctl(DROP_CAPABILITY, capability, 0, 0, 0)

    command = [sys.executable, "-m", "pagecompiler.cli", *arguments, "--model", model]
    environment = {**os.environ, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "home")}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, preexec_fn=limit, env=environment)


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert "Traceback" not in done.stderr
    return [line for line in done.stderr.splitlines() if "error" in line]


def pages(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_full_disk(folder: Path) -> None:
    assert pagec(folder, "compile", "page.yaml").returncode == 0
    before = (folder / "output" / "page.html").read_bytes()
    (folder / "page.yaml").write_text(SPEC.replace("@", "second"), encoding="utf-8")
    done = pagec(folder, "compile", "page.yaml", file_bytes=len(before) // 2)
    assert done.returncode == 1
    assert [line.partition(": cannot write")[0] for line in errors(done)] == ["error[E0801]"]
    assert (folder / "output" / "page.html").read_bytes() == before
    assert pages(folder / "output") == ["page.html"]
    assert pagec(folder, "compile", "page.yaml").returncode == 0
    assert "second" in (folder / "output" / "page.html").read_text(encoding="utf-8")


def test_an_image_for_which_there_is_no_room(folder: Path) -> None:
    (folder / "a.svg").write_text(PICTURE + " " * 200_000, encoding="utf-8")
    (folder / "page.yaml").write_text("title: T\nhero: {heading: H, image: {src: a.svg, alt: A}}\n", encoding="utf-8")
    done = pagec(folder, "compile", "page.yaml", file_bytes=100_000)
    assert done.returncode == 1 and len(errors(done)) == 1
    assert pages(folder / "output") == [], "no page without its image, no part of one"


def test_folders_that_cannot_be_written(folder: Path) -> None:
    assert pagec(folder, "compile", "page.yaml", ordinary=True).returncode == 0
    output = folder / "output"
    before = (output / "page.html").read_bytes()
    (folder / "page.yaml").write_text(SPEC.replace("@", "second"), encoding="utf-8")
    output.chmod(0o555)
    done = pagec(folder, "compile", "page.yaml", ordinary=True)
    assert done.returncode == 1
    assert [line.partition(": cannot write")[0] for line in errors(done)] == ["error[E0801]"]
    assert "Permission denied" in done.stderr and (output / "page.html").read_bytes() == before
    output.chmod(0o777)
    # A cache that cannot be written costs time, but no page.
    shutil.rmtree(folder / ".pagec")
    folder.chmod(0o555)
    done = pagec(folder, "compile", "page.yaml", ordinary=True)
    assert done.returncode == 0 and "warning[W0805]" in done.stderr
    assert "second" in (output / "page.html").read_text(encoding="utf-8")


def test_a_folder_that_cannot_be_read_is_not_one_without_specs(folder: Path) -> None:
    (folder / "blog").mkdir()
    (folder / "page.yaml").rename(folder / "blog" / "page.yaml")
    assert pagec(folder, "batch", ".").returncode == 0
    (folder / "blog").chmod(0)
    done = pagec(folder, "batch", ".", "--prune", ordinary=True)
    assert done.returncode == 2 and "cannot read the folder `./blog`: Permission denied" in done.stderr
    assert pages(folder / "output") == ["page.html"]


@pytest.mark.parametrize("command", ["compile", "batch"])
def test_a_page_where_a_folder_is(folder: Path, command: str) -> None:
    (folder / "output" / "page.html").mkdir(parents=True)
    target = "page.yaml" if command == "compile" else "."
    done = pagec(folder, command, target)
    assert done.returncode == 1
    assert "error[E0801]: cannot write `output/page.html`: there is a folder of that name" in done.stderr


def test_an_output_folder_where_a_file_is(folder: Path) -> None:
    (folder / "output").write_text("mine", encoding="utf-8")
    done = pagec(folder, "compile", "page.yaml")
    assert done.returncode == 1 and len(errors(done)) == 1
    assert (folder / "output").read_text(encoding="utf-8") == "mine"


def test_a_spec_that_is_named_like_its_page(folder: Path) -> None:
    spec = folder / "page.html"
    (folder / "page.yaml").rename(spec)
    before = spec.read_bytes()
    for command in ("compile", "watch"):
        done = pagec(folder, command, "page.html", "-o", ".")
        assert done.returncode == 2 and "would take the place of the spec" in done.stderr
    assert spec.read_bytes() == before


def test_two_images_for_one_file(folder: Path) -> None:
    for name, width in (("a", "4"), ("b", "5")):
        (folder / name).mkdir()
        (folder / name / "picture.svg").write_text(PICTURE.replace("4", width), encoding="utf-8")
        figure = "- {kind: figure, heading: F, image: {src: picture.svg, alt: A}}\n"
        (folder / name / f"{name}.yaml").write_text(SPEC.replace("@", "x") + figure, encoding="utf-8")
    done = pagec(folder, "compile", "a/a.yaml", "b/b.yaml", "-o", "out")
    assert done.returncode == 1 and len(errors(done)) == 1 and "E0807" in done.stderr
    assert pages(folder / "out") == ["a.html", "picture.svg"]
    assert (folder / "out" / "picture.svg").read_bytes() == (folder / "a" / "picture.svg").read_bytes()
    (folder / "b" / "picture.svg").write_bytes((folder / "a" / "picture.svg").read_bytes())
    assert pagec(folder, "compile", "a/a.yaml", "b/b.yaml", "-o", "out").returncode == 0


def test_what_a_killed_build_left_beside_its_page_goes(folder: Path) -> None:
    (folder / "out").mkdir()
    old, new, other = (
        folder / "out" / f".{name}.tmp" for name in ("page.html.12345678", "page.html.abcdefgh", "other.html.12345678")
    )
    for path in (old, new, other):
        path.write_text("<!DOCTYPE", encoding="utf-8")
    mine = folder / "out" / ".page.html.old.tmp"
    mine.touch()
    for path in (old, other, mine):
        os.utime(path, (time.time() - 7200,) * 2)
    assert pagec(folder, "compile", "page.yaml", "-o", "out").returncode == 0
    assert pages(folder / "out") == [other.name, new.name, mine.name, "page.html"]


def test_two_builds_of_one_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "home"))
    with PageLock(folder / "output" / "page.html"):
        done = pagec(folder, "compile", "page.yaml")
        assert done.returncode == 1
        assert errors(done) == ["error[E0804]: `output/page.html` is being built by another pagec"]
        assert pagec(folder, "compile", "page.yaml", "-o", "other.html").returncode == 0
    assert pagec(folder, "compile", "page.yaml").returncode == 0


@pytest.mark.parametrize("arguments", [("compile", "page.yaml", "-v"), ("batch", ".", "-v")])
def test_nothing_of_a_spec_is_kept_or_logged(
    folder: Path, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the cache nor in what llama.cpp logs, which for a batch goes through a temporary file."""
    secret = "Zanzibar"
    (folder / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(folder / "tmp"))
    (folder / "page.yaml").write_text(SPEC.replace("@", secret).replace("H}", f"{secret}}}"), encoding="utf-8")
    done = pagec(folder, *arguments, model="pagec-mini")
    assert done.returncode == 0 and secret not in done.stdout + done.stderr
    places = [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert sorted(path.name for path in places) == ["page.html", "page.yaml"]
