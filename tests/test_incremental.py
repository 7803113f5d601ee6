"""Incremental builds: why a block is written, builds that may not write, what an interruption leaves."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.claims import Claims
from pagecompiler.engine.reference import write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Sampling
from pagecompiler.generate import Progress, generate
from pagecompiler.inputs import FileDigests, is_current
from pagecompiler.lock import PageLock, being_built
from pagecompiler.models import ModelChoice
from pagecompiler.options import page_settings
from pagecompiler.page_build import PageBuild
from pagecompiler.prompts import FORMAT
from pagecompiler.record import PageRecord, read_record
from pagecompiler.spec import LoadedSpec, load_spec

Load = Callable[[str], LoadedSpec]
MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)
PAGE = """
hero: {heading: A kettle}
sections:
- {kind: prose, heading: One, paragraphs: [first]}
- {kind: prose, heading: Two, paragraphs: [second]}
- {kind: faq, heading: Questions, items: [{question: Why?, answer: Because.}]}
"""
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'


class Compiler:
    def __init__(self, folder: Path) -> None:
        self.output = folder / "out" / "page.html"
        self.cache = folder / "cache"
        self.engine = ScriptedEngine(lambda request: write(request.messages[-1].content))

    def __call__(
        self, loaded: LoadedSpec, listener: Callable[[Progress], None] = lambda progress: None, **options: object
    ) -> PageResult:
        given = {"output": self.output, "cache_dir": self.cache, **options}
        settings = CompileOptions(**given)  # type: ignore[arg-type]
        return compile_spec(loaded, EngineSource(MODEL, lambda: self.engine), settings, listener)

    def why(self, loaded: LoadedSpec, **options: object) -> dict[str, str]:
        result = self(loaded, **options)
        assert result.ok, result.diagnostics
        return told(result)

    def record(self, loaded: LoadedSpec) -> PageRecord | None:
        assert loaded.path is not None
        return read_record(self.cache, str(loaded.path.resolve()))


def told(result: PageResult) -> dict[str, str]:
    """What became of the blocks, and why."""
    return {block.block.name: f"{block.state}: {block.why}" for block in result.blocks}


@pytest.fixture
def build(tmp_path: Path) -> Compiler:
    return Compiler(tmp_path)


def test_why_each_block_was_built_or_reused(load: Load, build: Compiler) -> None:
    first = build.why(load(PAGE))
    assert first["hero"] == "built: the page has no earlier build"
    assert first["two"] == "reused: `one` has the same prompt"
    assert set(build.why(load(PAGE)).values()) == {"reused: its prompt is the same"}

    longer = load(PAGE.replace("[{question", "[{question: How?, answer: So.}, {question"))
    assert build.why(longer)["questions"] == "built: its structure changed: `- question short` came"
    assert build.why(load(PAGE.replace("A kettle", "A kettle for us")))["hero"] == (
        "built: its structure changed: `heading short` became `heading line`"
    )
    another = load(PAGE + "- {kind: cta, heading: Buy, actions: [{text: Buy, href: /buy}]}\n")
    assert build.why(another)["buy"] == "built: the block is new"
    warm = build.why(load(PAGE), sampling=Sampling(temperature=0.5))
    assert warm["hero"] == "built: the model, the sampling, the brief or the prompts are others"
    assert build.why(load(PAGE), read_cache=False)["hero"] == "built: the cache is not read"


def test_why_says_when_the_cache_has_lost_a_fragment_or_it_links_no_more(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    record = build.record(load(PAGE))
    assert record is not None
    keys = {block.name: block.key for block in record.blocks}
    files = {name: build.cache / "fragments" / key[:2] / f"{key}.json" for name, key in keys.items()}
    files["hero"].unlink()
    files["questions"].write_bytes(files["one"].read_bytes())
    why = build.why(load(PAGE))
    assert why["hero"] == "built: its fragment is not in the cache any more"
    assert why["questions"].startswith("built: its fragment does not link any more (E04")


def test_what_may_not_be_written_has_failed(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    why = told(build(load(PAGE.replace("A kettle", "A kettle for us")), locked=True))
    assert why.pop("hero").startswith("failed: its structure changed")
    assert set(why.values()) == {"reused: its prompt is the same"}


def test_what_was_not_looked_for_has_failed_without_a_reason(load: Load, build: Compiler, tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text(PICTURE, encoding="utf-8")
    loaded = load("hero: {heading: H, image: {src: a.svg, alt: A}}")
    (tmp_path / "a.svg").unlink()
    assert set(told(build(loaded)).values()) == {"failed: "}


def test_locked_fails_rather_than_decode(load: Load, build: Compiler) -> None:
    result = build(load(PAGE), locked=True)
    assert not result.ok and not build.engine.requests
    assert {finding.code for finding in result.diagnostics} == {"E0705"}
    assert all(finding.span is not None for finding in result.diagnostics)
    build(load(PAGE))
    before = len(build.engine.requests)
    assert build(load(PAGE.replace("first", "erste")), locked=True).ok
    assert len(build.engine.requests) == before


def test_an_interruption_keeps_the_blocks_that_are_written(load: Load, build: Compiler) -> None:
    done: list[str] = []

    def stop(progress: Progress) -> None:
        if progress.state == "done":
            done.append(progress.block)
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(load(PAGE), listener=stop)
    build.engine = ScriptedEngine(lambda request: write(request.messages[-1].content))
    assert build(load(PAGE)).ok
    # The one whose end was being told is lost, the other one is not.
    assert len(build.engine.requests) == 3


def test_a_cache_that_cannot_be_written_is_a_warning(load: Load, build: Compiler) -> None:
    build.cache.write_text("a file where the folder should be", encoding="utf-8")
    result = build(load(PAGE))
    assert result.ok and build.output.exists()
    assert {finding.code for finding in result.diagnostics} == {"W0805"}


def test_a_record_is_current_until_something_changes(build: Compiler, tmp_path: Path) -> None:
    spec, picture = tmp_path / "page.yaml", tmp_path / "a.svg"
    spec.write_text("title: T\nhero: {heading: H, image: {src: a.svg, alt: A}}\n", encoding="utf-8")
    picture.write_text(PICTURE, encoding="utf-8")
    site = tmp_path / "_site.yaml"

    def current(**options: object) -> bool:
        settings = page_settings(MODEL, CompileOptions(**options), site if site.exists() else None)  # type: ignore[arg-type]
        return is_current(build.record(load_spec(spec)), settings, build.output, FileDigests())

    def rebuilt() -> bool:
        return build(load_spec(spec)).ok and current()

    assert not current() and rebuilt()
    assert not current(sampling=Sampling(seed=1))
    spec.write_bytes(b"\xef\xbb\xbf" + spec.read_bytes().replace(b"\n", b"\r\n"))
    assert current(), "the text is the same"
    spec.write_text(spec.read_text(encoding="utf-8-sig") + "description: D\n", encoding="utf-8")
    assert not current() and rebuilt()
    picture.write_text(PICTURE.replace("4", "8"), encoding="utf-8")
    assert not current() and rebuilt()
    site.write_text("footer: {text: F}\n", encoding="utf-8")
    assert not current() and rebuilt()
    site.write_text("footer: {text: G}\n", encoding="utf-8")
    assert not current() and rebuilt()
    (build.output.parent / "a.svg").unlink()
    assert not current() and rebuilt()
    build.output.write_text("someone else's", encoding="utf-8")
    assert not current() and rebuilt()


def test_digests_are_remembered_only_for_files_at_rest(tmp_path: Path) -> None:
    digests, file = FileDigests(), tmp_path / "a.svg"
    file.write_text("one", encoding="utf-8")
    long_ago = time.time_ns() - 60 * 10**9
    first = digests(str(file))
    file.write_text("two", encoding="utf-8")
    os.utime(file, ns=(long_ago, long_ago))
    second = digests(str(file))
    assert first != second
    file.write_text("six", encoding="utf-8")
    os.utime(file, ns=(long_ago, long_ago))
    assert digests(str(file)) == second, "same size, time and inode"
    assert digests(str(tmp_path / "absent")) == ""


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names there are Unicode")
def test_a_name_that_is_not_utf_8_can_be_locked(tmp_path: Path) -> None:
    page = tmp_path / os.fsdecode(b"a\xff.html")
    with PageLock(page):
        assert being_built(page)
    assert not being_built(page)


def test_one_build_of_a_page_at_a_time(load: Load, build: Compiler) -> None:
    with PageLock(build.output):
        result = build(load(PAGE))
    assert [finding.code for finding in result.diagnostics] == ["E0804"] and not build.output.exists()
    assert build(load(PAGE)).ok
    with PageBuild(load(PAGE), MODEL, CompileOptions(output=build.output)) as first:
        first.start()
        assert not build(load(PAGE)).ok
    assert build(load(PAGE)).ok


def test_a_lock_goes_with_its_process(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal\nfrom pathlib import Path\nfrom pagecompiler.lock import PageLock\n"
        "lock = PageLock(Path(sys.argv[1]))\nprint('held', flush=True)\nsys.stdin.read()"
    )
    output = tmp_path / "page.html"
    with subprocess.Popen(
        [sys.executable, "-c", code, str(output)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        with pytest.raises(Exception, match="another pagec"):
            PageLock(output)
        process.kill()
    PageLock(output).release()


def test_a_page_where_a_folder_is(load: Load, build: Compiler) -> None:
    build.output.mkdir(parents=True)
    result = build(load(PAGE))
    assert [(finding.code, finding.message) for finding in result.diagnostics] == [
        ("E0801", f"cannot write `{build.output}`: there is a folder of that name")
    ]
    assert not build.engine.requests, "said before anything is decoded"


def test_pages_of_one_run_share_what_they_write(load: Load, build: Compiler, tmp_path: Path) -> None:
    claims = Claims()
    options = CompileOptions(output=None, read_cache=False, write_cache=False)
    one = PageBuild(load(PAGE), MODEL, options, claims=claims)
    two = PageBuild(load(PAGE.replace("first", "erste")), MODEL, options, claims=claims, page=1)
    tasks = one.start()
    assert len(tasks) == 4 and two.start() == []
    assert not one.ready and not two.ready
    generate(tasks, build.engine, lanes=5, attempts=1, sampling=Sampling(), done=one.take)
    assert one.ready and two.ready
    assert one.finish().ok and two.finish().ok
    three = PageBuild(load(PAGE), MODEL, options, claims=claims, page=2)
    assert three.start() == [] and three.finish().ok
