"""Kill pagec at random moments and look at what is left.

    python benchmarks/kill.py --kills 200

A folder of specs, each with two contents, is built by `pagec batch` and `pagec watch`, which are killed with SIGINT,
SIGTERM or SIGKILL, half of them with --force, so that the model writes. Afterwards every page must be one of its two,
no page may be missing that was there, no process may be left, and the next batch must bring every page to the spec's
content. Exits with 1 and says where if not.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pagecompiler import cli

PAGES = 4
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
PATIENCE_SECONDS = 30.0


def spec(page: int, version: int) -> str:
    """One of the two contents of a page; the second one is much longer and has more items."""
    items = ", ".join(f"{{title: Item {n}, text: Page {page}}}" for n in range(2 + page + version))
    paragraphs = ", ".join([f"words of version {version}"] * (1 + 200 * version))
    return (
        f"title: Page {page}\nhero: {{heading: Page {page}}}\nsections:\n"
        f"- {{kind: features, heading: Why, items: [{items}]}}\n"
        f"- {{kind: prose, heading: More, paragraphs: [{paragraphs}]}}\n"
    )


class Site:
    """The folder, its pages, and what they may be. `seconds` is what a batch takes that nobody kills."""

    def __init__(self, folder: Path, model: str) -> None:
        self.folder = folder
        self.model = model
        self.versions = [0] * PAGES
        self.left_over = False
        self.seconds = 0.0
        self.expected: list[list[bytes]] = [[] for _ in range(PAGES)]
        (folder / "site").mkdir(parents=True)
        for version in (1, 0):
            for page in range(PAGES):
                self.save(page, version)
            started = time.perf_counter()
            self.run(["batch"], kill_after=None)
            self.seconds = max(self.seconds, time.perf_counter() - started)
            for page in range(PAGES):
                self.expected[page].append(self.page(page).read_bytes())

    def page(self, number: int) -> Path:
        return self.folder / "out" / f"{number}.html"

    def save(self, page: int, version: int) -> None:
        self.versions[page] = version
        path = self.folder / "site" / f"{page}.yaml"
        other = path.with_suffix(".new")
        other.write_text(spec(page, version), encoding="utf-8")
        other.replace(path)

    def run(
        self, command: Sequence[str], *, kill_after: float | None, number: int = 0, saves: Sequence[int] = ()
    ) -> int:
        """Run a command, with its options, in a process of its own; gives how it ended."""
        # An early SIGINT must not raise in the child's copy of this program, which would then tidy up.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        child = os.fork()
        if child == 0:
            self._become(command)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        for page in saves:
            time.sleep((kill_after or 0) / (len(saves) + 1))
            self.save(page, 1 - self.versions[page])
        if kill_after is not None:
            time.sleep(kill_after / (len(saves) + 1))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
        ended = _wait(child) if kill_after is not None else os.waitpid(child, 0)[1]
        self.left_over = not _is_empty(child)
        return ended

    def _become(self, command: Sequence[str]) -> None:
        code = 1
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            os.setpgid(0, 0)
            os.chdir(self.folder)
            silent = os.open(os.devnull, os.O_RDWR)
            for stream in (1, 2):
                os.dup2(silent, stream)
            cli.main([*command, "site", "-o", "out", "--model", self.model, "-q"])
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            os._exit(code)

    def problems(self, *, finished: bool) -> list[str]:
        """What is wrong with the pages: each is one of its two contents, or, when finished, the spec's."""
        found = []
        for page in range(PAGES):
            content = self.page(page).read_bytes() if self.page(page).exists() else None
            good = [self.expected[page][1 - self.versions[page]]] if finished else self.expected[page]
            if content is None:
                found.append(f"page {page} is lost")
            elif content not in good:
                found.append(f"page {page} has {len(content)} bytes of something else")
        if self.left_over:
            found.append("a process is left")
        names = {path.name for path in (self.folder / "out").iterdir() if not path.name.startswith(".")}
        return found + [f"there is {name}" for name in names - {f"{page}.html" for page in range(PAGES)}]


def _wait(process: int) -> int:
    """How a process ends that was told to."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    sys.exit(f"process {process} does not end")


def _is_empty(group: int) -> bool:
    """Whether the processes of a group end; the engine's own one notices that nobody listens any more."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", default="reference")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = str(Path(name) / "home")
        site = Site(Path(name), options.model)
        for kill in range(options.kills):
            command = (["batch"], ["watch", "--debounce", "1"])[kill % 2]
            number = chance.choice(SIGNALS)
            for page in range(PAGES):
                site.save(page, chance.randrange(2))
            saves = [chance.randrange(PAGES) for _ in range(4)] if command[0] == "watch" else []
            force = ["--force"] if chance.randrange(2) else []
            ended = site.run([*command, *force], kill_after=chance.uniform(0, site.seconds), number=number, saves=saves)
            what = " ".join([command[0], *force])
            counts[f"{what} {signal.Signals(number).name}" if ended else f"{what} had finished"] += 1
            problems = site.problems(finished=False)
            if site.run(["batch"], kill_after=None) != 0:
                problems.append("the next batch failed")
            problems += site.problems(finished=True)
            if problems:
                sys.exit(f"kill {kill} ({what}, {signal.Signals(number).name}): {'; '.join(problems)}")
    for what, count in sorted(counts.items()):
        print(f"{count:4}  {what}")
    print(f"{options.kills} kills: no partial page, no lost page, no process left, every next batch completed")


if __name__ == "__main__":
    main()
