"""Two thousand specs through one server: memory stays flat, nothing is lost, twice interrupted and taken up again."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pagecompiler.commands.batch import SERVED_LANES
from pagecompiler.engine.reference import write

from .engine.fake_server import FakeServer, Stream

PAGES = 2000
STOPS = (250, 600)
"""After how many pages the first two runs are interrupted."""

WARM = 150
"""Pages that a run writes before its memory is looked at."""

MOST_GROWTH_MIB = 8.0
"""Between the first third of the pages behind the warm ones and the last third, on average."""

MOST_MIB = 200.0


def spec(number: int) -> str:
    """A page whose one section has a structure that no other page has: each bit decides on a link."""
    items = "".join(
        f"  - {{title: Item {bit}, {'href: /more' if number >> bit & 1 else 'text: A text.'}}}\n" for bit in range(11)
    )
    return f"title: Page {number}\nhero: {{heading: Page {number}}}\nsections:\n- kind: features\n  heading: All\n  items:\n{items}"


async def late_answer(stream: Stream) -> None:
    """Late enough that many pages are in flight."""
    await asyncio.sleep(1.0)
    await stream.open()
    text = stream.server.answer(stream)
    middle = len(text) // 2
    await stream.text(text[:middle])
    await stream.text(text[middle:])
    await stream.finish()


@dataclass
class Run:
    """What one run of the batch said, and its memory in MiB after each page."""

    code: int = 0
    pages: list[str] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    said: str = ""


def memory_mib(process: int) -> float:
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def batch(folder: Path, url: str, *options: str, stop_after: int | None = None) -> Run:
    run = Run()
    command = [sys.executable, "-m", "pagecompiler.cli", "batch", "site", "-o", "out", "--engine", url, *options]
    with (
        (folder / "stderr").open("w") as stderr,
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            run.pages.append(line.rstrip("\n"))
            run.memory.append(memory_mib(process.pid))
            if len(run.pages) == stop_after:
                process.send_signal(signal.SIGINT)
    run.code = process.returncode
    run.said = (folder / "stderr").read_text()
    return run


def states(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.html")}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_two_thousand_specs(tmp_path: Path) -> None:
    names = [f"{number // 100:02}/{number:04}" for number in range(PAGES)]
    for number, name in enumerate(names):
        path = tmp_path / "site" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(spec(number))
    everything = sorted(f"out/{name}.html" for name in names)

    with FakeServer(write, model="pagec-mini", act=late_answer) as server:
        finished: dict[Path, int] = {}
        for stop in STOPS:
            run = batch(tmp_path, server.url, stop_after=stop)
            assert run.code == 130, run.said
            now = states(tmp_path / "out")
            assert stop <= len(now) < PAGES
            assert finished.items() <= now.items()  # what was finished was not written again
            finished = now
        last = batch(tmp_path, server.url)
        assert last.code == 0, last.said
        counts = re.search(rf"{PAGES} pages: (\d+) built(?:, (\d+) relinked)?", last.said)
        assert counts is not None, last.said
        built, relinked = (int(number or 0) for number in counts.groups())
        # An interruption may come between a page's fragments and its file, or between its file and the note of it.
        assert relinked <= 2 and 0 <= built + relinked - (PAGES - len(finished)) <= 1, last.said
        assert sorted(last.pages) == everything
        assert finished.items() <= states(tmp_path / "out").items()
        # Only what was under way at an interruption is asked for twice.
        asked = Counter(body["messages"][-1]["content"] for body in server.requests)
        assert max(asked.values()) <= 1 + len(STOPS)
        assert 8 < server.most_running <= SERVED_LANES + 2
        assert sum(asked.values()) - len(asked) <= len(STOPS) * (SERVED_LANES + 2)

        before = len(server.requests)
        again = batch(tmp_path, server.url, "--json")
        assert [page["output"] for page in json.loads("".join(again.pages))["pages"]] == everything
        assert f"{PAGES} unchanged" in again.said and len(server.requests) == before
    for number in (0, 1, PAGES - 1):
        html = (tmp_path / everything[number]).read_text()
        assert f"<title>Page {number}</title>" in html and html.count('href="/more"') == number.bit_count()

    written = last.memory[len(finished) + WARM :]
    third = len(written) // 3
    growth = sum(written[-third:]) / third - sum(written[:third]) / third
    assert growth < MOST_GROWTH_MIB and max(written) < MOST_MIB
