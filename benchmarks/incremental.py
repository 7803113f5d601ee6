"""What watching and batches cost with a model in its own process.

    python benchmarks/incremental.py edit       a save in watch mode, from the file to the page
    python benchmarks/incremental.py item       one item added, against a cold compile of the page
    python benchmarks/incremental.py batch DIR  many specs at once, against one after another
    python benchmarks/incremental.py memory     a batch of more and more pages, this process and that of the engine

Each prints its figures with what they are made of. `--model` takes what `pagec --model` takes.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from pagecompiler.api import engine_maker
from pagecompiler.batch import Batch
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.changes import Changes
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.child import ChildEngine
from pagecompiler.engine.replicas import ReplicatedEngine
from pagecompiler.engine.types import Decoding, Prefer
from pagecompiler.folder import FolderSpec, find_specs
from pagecompiler.link import make_element
from pagecompiler.models import choose_model
from pagecompiler.page_build import PageBuild
from pagecompiler.spec import load_spec
from pagecompiler.validate import validate_fragment
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


def source_of(model: str) -> EngineSource:
    """The engine as `pagec watch` makes it."""
    choice = choose_model(model)
    return EngineSource(choice, engine_maker(choice, 5, child=True))


def batch_source(model: str, lanes: int) -> EngineSource:
    """The engines as `pagec batch` makes them."""
    choice = choose_model(model)
    return EngineSource(
        choice, engine_maker(choice, lanes, Decoding(prefer=Prefer.THROUGHPUT), child=True, spread=True)
    )


def edit(model: str) -> None:
    """Median seconds from the end of a save to the new page, for pages of 30 blocks."""
    with tempfile.TemporaryDirectory() as name:
        spec, page = Path(name) / "page.yaml", Path(name) / "out" / "page.html"
        spec.write_text(page_of(30), encoding="utf-8")
        source = source_of(model)
        changes = Changes(debounce_seconds=DEBOUNCE_SECONDS, ignored=[page.parent])
        results: list[tuple[float, PageResult]] = []
        heard = threading.Condition()

        def told(result: PageResult, sources: Mapping[str, str]) -> None:
            with heard:
                results.append((time.perf_counter(), result))
                heard.notify_all()

        watch = Watch(spec, source, CompileOptions(output=page), changes, told=told)
        thread = threading.Thread(target=watch.run)
        spent: Counter[str] = Counter()
        rows = []
        with timed(PageBuild, ("make_plan", "reuse", "stitch", "write"), spent), timed(Watch, ("update",), spent):
            thread.start()
            for number in range(2 * ROUNDS + 1):
                with heard:
                    heard.wait_for(lambda: len(results) > number)  # noqa: B023
                if not results[-1][1].ok:
                    raise SystemExit(f"the page does not compile: {results[-1][1].diagnostics}")
                time.sleep(0.5)
                spent.clear()
                started = time.perf_counter()
                spec.write_text(page_of(30, word=f"word{number}"), encoding="utf-8")
                with heard:
                    heard.wait_for(lambda: len(results) > number + 1)  # noqa: B023
                ended, result = results[-1]
                steps = {name: spent[name] for name in ("make_plan", "reuse", "stitch", "write")}
                rows.append(
                    {"total": ended - started, "build": result.seconds, "began": spent["began"] - started} | steps
                )
                assert not any(block.completions for block in result.blocks)
            changes.close()
            thread.join()
            source.close()
    middle = {name: 1000 * statistics.median(row[name] for row in rows[1:]) for name in rows[0]}
    debounce = 1000 * DEBOUNCE_SECONDS
    steps = middle["make_plan"] + middle["reuse"] + middle["stitch"] + middle["write"]
    print(f"{len(result.blocks)} blocks, none decoded; medians of {len(rows) - 1} saves in milliseconds:")
    for what, milliseconds in (
        ("from the save to the page on the disk", middle["total"]),
        ("debounce", debounce),
        ("beside the debounce, of which", middle["total"] - debounce),
        ("  the event, and waking up", middle["began"] - debounce),
        ("  what has changed, and the spec", middle["total"] - middle["began"] - middle["build"]),
        ("  plan", middle["make_plan"]),
        ("  fragments from the cache, linked", middle["reuse"]),
        ("  stitch and validate", middle["stitch"]),
        ("  write and record", middle["write"]),
        ("  lock, images, the rest", middle["build"] - steps),
    ):
        print(f"  {milliseconds:6.1f}  {what}")


@contextmanager
def timed(kind: type, names: tuple[str, ...], spent: Counter[str]) -> Iterator[None]:
    """Add up in `spent` the seconds that methods take, and keep under `began` when one was called first."""
    plain = {name: getattr(kind, name) for name in names}

    def measured(name: str) -> Callable[..., object]:
        def method(self: object, *arguments: object) -> object:
            started = time.perf_counter()
            spent.setdefault("began", started)
            try:
                return plain[name](self, *arguments)
            finally:
                spent[name] += time.perf_counter() - started

        return method

    for name in names:
        setattr(kind, name, measured(name))
    try:
        yield
    finally:
        for name, method in plain.items():
            setattr(kind, name, method)


def forget() -> None:
    """Let the next build validate and link every block, as the first one does."""
    validate_fragment.cache_clear()
    make_element.cache_clear()


def item(model: str) -> None:
    """One more item in one block of a page, against the whole page, in turn, in one process as in watch mode.

    The model is loaded for both; the page is built as if for the first time, the item is added to what is there.
    """
    with tempfile.TemporaryDirectory() as name:
        spec, cache = Path(name) / "page.yaml", Path(name) / "cache"
        source = source_of(model)
        cold, added = [], []

        def build(items: int, *, read: bool) -> PageResult:
            spec.write_text(page_of(16, items=items), encoding="utf-8")
            if not read:
                forget()
            options = CompileOptions(output=Path(name) / "page.html", cache_dir=cache, read_cache=read)
            result = compile_spec(load_spec(spec), source, options)
            if not result.ok:
                raise SystemExit(f"the page does not compile: {result.diagnostics}")
            return result

        build(2, read=False)
        for number in range(ROUNDS):
            cold.append(build(2 + number, read=False).seconds)
            result = build(3 + number, read=True)
            added.append(result.seconds)
            written = [block.block.name for block in result.blocks if block.completions]
            assert written == ["more"], written
        source.close()
    one, all_of_it = statistics.median(added), statistics.median(cold)
    print(
        f"median of {ROUNDS}, in turn, model loaded: cold {all_of_it:.3f} s ({spread(cold)}), one item more"
        f" {one:.3f} s ({spread(added)}), share {one / all_of_it:.2f}"
    )


def batch(model: str, folders: list[Path], lanes: list[int], count: int, rounds: int) -> None:
    """Tokens a second of batches and of the same specs one after another in five lanes, without any reuse, in turn."""
    with tempfile.TemporaryDirectory() as name:
        output = Path(name) / "out"
        specs = [spec for folder in folders for spec in find_specs(folder, output)]
        specs = [spec for spec in specs if _loads(spec)][:count]
        nothing = CompileOptions(output=output, read_cache=False, write_cache=False)

        def one_by_one() -> list[PageResult]:
            return [compile_spec(load_spec(spec.path), alone, replace(nothing, output=spec.output)) for spec in specs]

        def at_once(count: int, source: EngineSource, options: CompileOptions = nothing) -> list[PageResult]:
            return run_batch(specs, source, replace(options, lanes=count))

        alone = source_of(model)
        together = {count: batch_source(model, count) for count in lanes}
        arms: dict[str, tuple[EngineSource, Callable[[], list[PageResult]]]] = {"one by one": (alone, one_by_one)}
        arms |= {f"batch {count}": (source, partial(at_once, count, source)) for count, source in together.items()}
        times: dict[str, list[float]] = {label: [] for label in arms}
        rates: dict[str, list[float]] = {label: [] for label in arms}
        for turn in range(rounds + 1):
            for label, (source, run) in arms.items():
                forget()
                started, used = time.perf_counter(), time.process_time()
                results = run()
                seconds, used = time.perf_counter() - started, time.process_time() - used
                spent = source.spent()
                if turn == 0 or spent is None:  # the first turn loads the models
                    continue
                times[label].append(seconds)
                rates[label].append(_tokens(results) / seconds)
                print(
                    f"{turn} {label:<10} {seconds:5.1f} s {_tokens(results):6} tokens {rates[label][-1]:5.0f} tok/s,"
                    f" {sum(result.ok for result in results)} pages good; {spent.target_passes} passes,"
                    f" {spent.rows_per_pass:.1f} rows a pass, target {spent.target_seconds:.1f} s,"
                    f" drafts {spent.draft_seconds:.1f} s, Python of the engine {spent.python_seconds:.1f} s,"
                    f" pages {used:.1f} s of CPU",
                    flush=True,
                )
        for label in list(arms)[1:]:
            ratios = [b / a for a, b in zip(rates["one by one"], rates[label], strict=True)]
            faster = [a / b for a, b in zip(times["one by one"], times[label], strict=True)]
            print(
                f"{len(specs)} specs, {label} lanes: {statistics.median(ratios):.2f} times the tokens a second"
                f" ({spread(ratios)}), all pages {statistics.median(faster):.2f} times as fast ({spread(faster)})"
            )
        reused = replace(nothing, read_cache=True, write_cache=True, cache_dir=Path(name) / "cache")
        results = at_once(lanes[0], together[lanes[0]], reused)
        blocks = sum(len(result.blocks) for result in results)
        written = sum(bool(block.completions) for result in results for block in result.blocks)
        print(f"with reuse: {written} of {blocks} blocks decoded")
        for source in (alone, *together.values()):
            source.close()


def run_batch(specs: list[FolderSpec], source: EngineSource, options: CompileOptions) -> list[PageResult]:
    results: list[PageResult] = []
    each_page(specs, source, options, results.append)
    return results


def each_page(
    specs: list[FolderSpec], source: EngineSource, options: CompileOptions, told: Callable[[PageResult], None]
) -> None:
    work = Batch(None, specs, source, options, told=lambda result, sources: told(result))
    work.survey()
    work.run()


def spread(values: list[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"


def memory(model: str) -> None:
    """The largest memory of both processes so far, after batches of more and more pages of different structure."""
    source = batch_source(model, 10)
    chance = random.Random(0)
    options = CompileOptions(read_cache=False, write_cache=False, lanes=10)
    for count in (12, 24, 48, 96, 192):
        with tempfile.TemporaryDirectory() as name:
            specs = [FolderSpec(Path(name) / f"{page}.yaml", Path(name) / f"{page}.html") for page in range(count)]
            for spec in specs:
                spec.path.write_text(mixed_page(chance), encoding="utf-8")
            counts: Counter[str] = Counter()
            each_page(specs, source, options, lambda result: counts.update(good=result.ok, tokens=_tokens([result])))  # noqa: B023
        engine = source.get()
        engines = engine.engines if isinstance(engine, ReplicatedEngine) else (engine,)
        peaks = [str(_peak(each.process_id)) for each in engines if isinstance(each, ChildEngine)]
        print(
            f"{count:3} pages, {counts['good']} good, {counts['tokens']:6} tokens: {_peak(os.getpid())} MiB here,"
            f" {' and '.join(peaks)} MiB in each process of an engine",
            flush=True,
        )
    source.close()


def mixed_page(chance: random.Random) -> str:
    """A spec with three sections whose items differ, so that there are hardly two of the same structure."""
    sections = []
    for number in range(3):
        items = []
        for item in range(chance.randint(3, 6)):
            fields = [f"title: {' '.join(['word'] * chance.choice([1, 6]))}"]
            fields += chance.sample([f"text: {' '.join(['words'] * chance.choice([2, 8, 20]))}", f"href: /{item}"], 1)
            items.append("{" + ", ".join(fields) + "}")
        kind = chance.choice(["features", "steps"])
        sections.append(f"- {{kind: {kind}, heading: Part {number}, items: [{', '.join(items)}]}}")
    return "title: Page\nhero: {heading: Page}\nsections:\n" + "\n".join(sections) + "\n"


def _loads(spec: FolderSpec) -> bool:
    try:
        page = load_spec(spec.path).page
    except CompileError:
        return False
    return not any(getattr(part, "brief", None) for part in (page.hero, *page.sections))


def _tokens(results: list[PageResult]) -> int:
    return sum(len(c.tokens) for result in results for block in result.blocks for c in block.completions)


def _peak(process: int) -> int:
    """The largest resident memory of a process so far, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["edit", "item", "batch", "memory"])
    parser.add_argument("folders", nargs="*", type=Path, help="folders of specs for `batch`")
    parser.add_argument("--model", default="pagec-mini")
    parser.add_argument("--lanes", type=int, nargs="+", default=[10], help="of the batches; 5 for one after another")
    parser.add_argument("--count", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} CPUs, model {options.model}")
    runs: dict[str, Callable[[], None]] = {
        "edit": lambda: edit(options.model),
        "item": lambda: item(options.model),
        "batch": lambda: batch(options.model, options.folders, options.lanes, options.count, options.rounds),
        "memory": lambda: memory(options.model),
    }
    runs[options.what]()


if __name__ == "__main__":
    main()
