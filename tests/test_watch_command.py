"""`pagec watch` as a user meets it: a process that is told to end, with the embedded model."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from pagecompiler.resources import data_path

PATIENCE = 60.0
SPEC = "title: T\nhero: {heading: H}\nsections:\n- {kind: prose, heading: One, paragraphs: [@]}\n"
ITEM = "- {kind: steps, heading: How, items: [{title: Fill it}, {title: Wait}]}\n"
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "page.yaml"
    path.write_text(SPEC.replace("@", "first"), encoding="utf-8")
    return path


@pytest.fixture
def start(spec: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def starter(*options: str, model: str = "reference", stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "pagecompiler.cli", "watch", "page.yaml", "--debounce", "1", "--model", model]
        process = subprocess.Popen(
            [*command, *options], cwd=spec.parent, stdout=stdout, stderr=subprocess.PIPE, text=True
        )
        started.append(process)
        return process

    yield starter
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def said(process: subprocess.Popen[str], text: str) -> None:
    """Wait until something is said on stderr."""
    assert process.stderr is not None
    assert any(text in heard for heard in iter(process.stderr.readline, "")), f"never said: {text}"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_how_it_ends(start: Start, number: signal.Signals, code: int) -> None:
    process = start()
    assert "output/page.html: " in line(process)
    process.send_signal(number)
    assert process.wait(PATIENCE) == code


def test_without_a_good_page_it_ends_as_interrupted(spec: Path, start: Start) -> None:
    spec.write_text("title: [", encoding="utf-8")
    process = start()
    said(process, "the page stays as it was")
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130


def test_one_line_for_each_rebuild(spec: Path, start: Start) -> None:
    """Written once, relinked after an edit of a text, one block written after another item."""
    spec.write_text(SPEC.replace("@", "first") + ITEM, encoding="utf-8")
    process = start(model="pagec-mini")
    told = re.compile(r"\d\d:\d\d:\d\d output/page\.html: \d+\.\d\d s, (\d) of (\d) groups reused, (\d+) tokens\n")

    def counts() -> tuple[int, int, int]:
        match = told.fullmatch(line(process))
        assert match is not None
        reused, groups, tokens = map(int, match.groups())
        return reused, groups, tokens

    assert counts()[:2] == (0, 4) and (spec.parent / "output" / "page.html").exists()
    spec.write_text(SPEC.replace("@", "second") + ITEM, encoding="utf-8")
    assert counts() == (4, 4, 0)
    spec.write_text(SPEC.replace("@", "second") + ITEM.replace("]}", ", {title: Pour}]}"), encoding="utf-8")
    reused, groups, tokens = counts()
    assert (reused, groups) == (3, 4) and tokens > 0
    before = (spec.parent / "output" / "page.html").read_bytes()
    spec.write_text("title: T\nhero: {headin: H}\n", encoding="utf-8")
    said(process, "page.yaml:2:8: error[E0203]")
    said(process, "page.yaml: failed, the page stays as it was")
    assert (spec.parent / "output" / "page.html").read_bytes() == before


@pytest.mark.skipif(not Path("/proc/thread-self/children").exists(), reason="finds the process of the engine there")
def test_the_engine_may_die(spec: Path, start: Start) -> None:
    process = start(model="pagec-mini")
    assert "0 of 3 groups reused" in line(process)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    engines = [pid for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    assert len(engines) == 1
    os.kill(int(engines[0]), signal.SIGKILL)
    spec.write_text(SPEC.replace("@", "first") + ITEM, encoding="utf-8")
    told = line(process)
    assert "3 of 4 groups reused" in told and ", 0 tokens" not in told
    assert "Fill it" in (spec.parent / "output" / "page.html").read_text(encoding="utf-8")


def test_one_object_for_each_rebuild(spec: Path, start: Start) -> None:
    schemas = {name: json.loads(data_path(name).read_text()) for name in ("compile.schema.json", "check.schema.json")}
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas.values()
    )
    process = start("--json")
    for text in ("second", "[", "third"):
        report = json.loads(line(process))
        Draft202012Validator(schemas["compile.schema.json"], registry=registry).validate(report)
        assert [page["spec"] for page in report["pages"]] == ["page.yaml"]
        spec.write_text(SPEC.replace("@", text), encoding="utf-8")


@pytest.mark.parametrize("option", [(), ("--clear",)])
def test_the_screen_is_cleared_only_when_asked(start: Start, option: tuple[str, ...]) -> None:
    reader, terminal = os.openpty()
    start(*option, stdout=terminal)
    os.close(terminal)
    shown = b""
    while b"tokens" not in shown:
        shown += os.read(reader, 4096)
    os.close(reader)
    assert shown.startswith(b"\x1b[2J") == bool(option)
