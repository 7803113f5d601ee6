"""What watching and batches cost with a model in its own process.

    python benchmarks/incremental.py edit       a save in watch mode, from the file to the page
    python benchmarks/incremental.py item       one item added, against a cold compile of the page
    python benchmarks/incremental.py batch      many specs at once, against one after another

Each prints its figures with what they are made of. `--model` takes what `pagec --model` takes.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from pagecompiler.api import engine_maker
from pagecompiler.batch import Batch
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.changes import Changes
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.types import Decoding, Prefer
from pagecompiler.folder import FolderSpec, find_specs
from pagecompiler.models import choose_model
from pagecompiler.spec import load_spec
from pagecompiler.watch import Watch

ROUNDS = 5
DEBOUNCE_SECONDS = 0.08
KINDS = (
    ("prose", "paragraphs", "words of part @"),
    ("stats", "items", "{value: 3, label: years}"),
    ("faq", "items", "{question: Why?, answer: Because.}"),
    ("steps", "items", "{title: Fill it, text: Half full.}"),
)


def page_of(blocks: int, *, items: int = 2, word: str = "words") -> str:
    """A spec of so many blocks, style included, nearly all of different structure; the last has so many items."""
    sections = []
    for number in range(blocks - 4):
        kind, key, entry = KINDS[number % len(KINDS)]
        entries = ", ".join([entry.replace("@", str(number))] * (2 + number // len(KINDS)))
        sections.append(f"- {{kind: {kind}, heading: Part {number}, {key}: [{entries}]}}")
    last = ", ".join(f"{{title: Number {n}, text: It is so., href: /{n}}}" for n in range(items))
    return (
        "title: Page\nnav: {brand: Acme, links: [{text: Top, href: '#top'}]}\nhero: {heading: Page}\nsections:\n"
        + "\n".join(sections).replace("words", word)
        + f"\n- {{kind: features, heading: More, items: [{last}]}}\n"
    )


def source_of(model: str, decoding: Decoding, lanes: int = 5) -> EngineSource:
    choice = choose_model(model)
    return EngineSource(choice, engine_maker(choice, lanes, decoding, child=True))


def edit(model: str) -> None:
    """Median seconds from the end of a save to the new page, for pages of 30 blocks."""
    with tempfile.TemporaryDirectory() as name:
        spec, page = Path(name) / "page.yaml", Path(name) / "out" / "page.html"
        spec.write_text(page_of(30), encoding="utf-8")
        source = source_of(model, Decoding())
        changes = Changes(debounce_seconds=DEBOUNCE_SECONDS, ignored=[page.parent])
        results: list[tuple[float, PageResult]] = []
        heard = threading.Condition()

        def told(result: PageResult, sources: Mapping[str, str]) -> None:
            with heard:
                results.append((time.perf_counter(), result))
                heard.notify_all()

        watch = Watch(spec, source, CompileOptions(output=page), changes, told=told)
        thread = threading.Thread(target=watch.run)
        thread.start()
        rows = []
        for number in range(2 * ROUNDS + 1):
            with heard:
                heard.wait_for(lambda: len(results) > number)  # noqa: B023
            if not results[-1][1].ok:
                raise SystemExit(f"the page does not compile: {results[-1][1].diagnostics}")
            time.sleep(0.5)
            started, used = time.perf_counter(), time.process_time()
            spec.write_text(page_of(30, word=f"word{number}"), encoding="utf-8")
            with heard:
                heard.wait_for(lambda: len(results) > number + 1)  # noqa: B023
            ended, result = results[-1]
            tokens = sum(len(c.tokens) for block in result.blocks for c in block.completions)
            rows.append((ended - started, result.seconds, time.process_time() - used, len(result.blocks), tokens))
        changes.close()
        thread.join()
        source.close()
    total = statistics.median(row[0] for row in rows[1:])
    build = statistics.median(row[1] for row in rows[1:])
    print(f"{rows[0][3]} blocks, {rows[-1][4]} tokens decoded; medians of {len(rows) - 1} saves:")
    print(f"  {total * 1000:6.0f} ms from the save to the page")
    print(f"  {DEBOUNCE_SECONDS * 1000:6.0f} ms debounce")
    print(f"  {build * 1000:6.0f} ms plan, link, stitch, validate, write")
    print(f"  {(total - DEBOUNCE_SECONDS - build) * 1000:6.0f} ms event, look, load")
    print(f"  {(total - DEBOUNCE_SECONDS) * 1000:6.0f} ms beside the debounce")
    used = statistics.median(row[2] for row in rows[1:])
    print(f"  {used * 1000:6.0f} ms of CPU in all, which is what it takes where nothing else runs")


def item(model: str) -> None:
    """One more item in one block of a page, against the whole page, both with the model loaded, in turn."""
    with tempfile.TemporaryDirectory() as name:
        spec, cache = Path(name) / "page.yaml", Path(name) / "cache"
        source = source_of(model, Decoding())
        cold, added = [], []

        def build(items: int, *, read: bool) -> PageResult:
            spec.write_text(page_of(16, items=items), encoding="utf-8")
            options = CompileOptions(output=Path(name) / "page.html", cache_dir=cache, read_cache=read)
            result = compile_spec(load_spec(spec), source, options)
            if not result.ok:
                raise SystemExit(f"the page does not compile: {result.diagnostics}")
            return result

        build(2, read=False)
        for number in range(ROUNDS):
            cold.append(build(2, read=False).seconds)
            result = build(3 + number, read=True)
            added.append(result.seconds)
            written = [block.block.name for block in result.blocks if block.completions]
            assert written == ["more"], written
        source.close()
    one, all_of_it = statistics.median(added), statistics.median(cold)
    print(
        f"median of {ROUNDS}, in turn: cold {all_of_it:.3f} s, one item more {one:.3f} s, share {one / all_of_it:.2f}"
    )


def batch(model: str, folders: list[Path], lanes: int, count: int) -> None:
    """Tokens a second of a batch and of the same specs one after another, without any reuse, in turn.

    The batch has twice the lanes, as `pagec batch` has by default.
    """
    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "out"
        specs = [spec for folder in folders for spec in find_specs(folder, output)]
        specs = [spec for spec in specs if _loads(spec)][:count]
        sequential = source_of(model, Decoding(), lanes)
        together = source_of(model, Decoding(prefer=Prefer.THROUGHPUT), 2 * lanes)
        nothing = CompileOptions(output=output, lanes=lanes, attempts=1, read_cache=False, write_cache=False)

        def one_by_one() -> list[PageResult]:
            return [
                compile_spec(load_spec(spec.path), sequential, replace(nothing, output=spec.output)) for spec in specs
            ]

        def at_once(options: CompileOptions = nothing) -> list[PageResult]:
            results: list[PageResult] = []
            options = replace(options, lanes=2 * lanes)
            work = Batch(None, specs, together, options, told=lambda result, sources: results.append(result))
            work.survey()
            work.run()
            return results

        sequential.get(), together.get()
        rates: dict[str, list[float]] = {"one by one": [], "batch": []}
        for turn in range(ROUNDS):
            for label, run in (("one by one", one_by_one), ("batch", at_once)):
                started = time.perf_counter()
                results = run()
                seconds = time.perf_counter() - started
                rates[label].append(_tokens(results) / seconds)
                print(f"{turn} {label:<11} {seconds:6.1f} s {_tokens(results):6} tokens {rates[label][-1]:6.0f} tok/s")
        ratios = [b / a for a, b in zip(rates["one by one"], rates["batch"], strict=True)]
        print(
            f"{len(specs)} specs, ratio median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )
        before = _peak()
        results = at_once(replace(nothing, attempts=3, read_cache=True, write_cache=True, cache_dir=Path(name) / "c"))
        blocks = sum(len(result.blocks) for result in results)
        written = sum(bool(block.completions) for result in results for block in result.blocks)
        print(f"with reuse: {written} of {blocks} blocks decoded, {sum(result.ok for result in results)} pages good")
        print(f"memory of this process: {before} MiB before, {_peak()} MiB after")
        sequential.close(), together.close()


def _loads(spec: FolderSpec) -> bool:
    try:
        page = load_spec(spec.path).page
    except CompileError:
        return False
    return not any(getattr(part, "brief", None) for part in (page.hero, *page.sections))


def _tokens(results: list[PageResult]) -> int:
    return sum(len(c.tokens) for result in results for block in result.blocks for c in block.completions)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["edit", "item", "batch"])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of specs for `batch`")
    parser.add_argument("--model", default="pagec-mini")
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--count", type=int, default=24)
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, model {options.model}")
    runs: dict[str, Callable[[], None]] = {
        "edit": lambda: edit(options.model),
        "item": lambda: item(options.model),
        "batch": lambda: batch(options.model, options.folders, options.lanes, options.count),
    }
    runs[options.what]()


if __name__ == "__main__":
    main()
