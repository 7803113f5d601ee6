"""The pipeline above the engine: reuse, equal prompts, failures that change nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec, default_cache_dir
from pagecompiler.cache import Fragment, FragmentCache
from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.reference import ReferenceEngine, write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Request, Sampling
from pagecompiler.models import ModelChoice
from pagecompiler.prompts import FORMAT
from pagecompiler.record import read_record
from pagecompiler.spec import LoadedSpec

Load = Callable[[str], LoadedSpec]

MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)

PAGE = """
hero: {heading: A kettle, text: Boils one litre in 90 seconds.}
sections:
- {kind: prose, heading: One, paragraphs: [first]}
- {kind: prose, heading: Two, paragraphs: [second]}
- {kind: faq, heading: Questions, items: [{question: Why?, answer: Because it is so.}]}
"""


def _answer(request: Request) -> str:
    return write(request.messages[-1].content)


class Compiler:
    """Compiles with a scripted engine and counts what was asked."""

    def __init__(self, folder: Path) -> None:
        self.output = folder / "out" / "page.html"
        self.cache = folder / "cache"
        self.script: Callable[[Request], str] = _answer
        self.engine: ScriptedEngine | None = None

    def __call__(self, loaded: LoadedSpec, **options: object) -> PageResult:
        self.engine = None

        def make() -> ScriptedEngine:
            self.engine = ScriptedEngine(self.script)
            return self.engine

        given = {"output": self.output, "cache_dir": self.cache, **options}
        return compile_spec(loaded, EngineSource(MODEL, make), CompileOptions(**given))  # type: ignore[arg-type]

    @property
    def asked(self) -> list[str]:
        return [request.label for request in self.engine.requests] if self.engine else []


@pytest.fixture
def build(tmp_path: Path) -> Compiler:
    return Compiler(tmp_path)


def test_a_page_is_written_with_every_text_once(load: Load, build: Compiler) -> None:
    result = build(load(PAGE))
    assert result.ok and result.diagnostics == ()
    assert build.output.read_text(encoding="utf-8") == result.html
    text = BeautifulSoup(result.html or "", "html5lib").main.get_text("\n")  # type: ignore[union-attr]
    for expected in ("A kettle", "Boils one litre in 90 seconds.", "first", "Two", "Why?", "Because it is so."):
        assert text.count(expected) == 1


def test_equal_prompts_are_decoded_once_also_without_a_cache(load: Load, build: Compiler) -> None:
    result = build(load(PAGE), read_cache=False, write_cache=False)
    assert sorted(build.asked) == ["hero", "one", "questions", "style"]
    assert {block.block.name: block.state for block in result.blocks}["two"] == "reused"
    assert not build.cache.exists()


def test_a_text_edit_relinks_without_an_engine(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    result = build(load(PAGE.replace("first", "premier").replace("A kettle", "No kettle")))
    assert result.ok and build.engine is None
    assert "premier" in (result.html or "") and "No kettle" in (result.html or "")
    assert {block.state for block in result.blocks} == {"reused"}


def test_a_relink_gives_the_bytes_of_a_fresh_build(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    edited = load(PAGE.replace("first", "premier"))
    assert build(edited).html == build(edited, read_cache=False).html


def test_one_new_item_writes_one_block(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    build(load(PAGE.replace("[{question", "[{question: How?, answer: So.}, {question")))
    assert build.asked == ["questions"]


def test_other_sampling_or_model_is_another_key(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    build(load(PAGE), sampling=Sampling(temperature=0.5))
    assert len(build.asked) == 4


def test_a_retry_is_kept_under_the_first_key(load: Load, build: Compiler) -> None:
    tries: list[str] = []

    def script(request: Request) -> str:
        tries.append(request.label)
        return "no" if tries.count("hero") == 1 and request.label == "hero" else _answer(request)

    build.script = script
    result = build(load(PAGE))
    assert result.ok and {b.block.name: len(b.completions) for b in result.blocks}["hero"] == 2
    assert build(load(PAGE)).ok and build.engine is None


def test_a_failed_block_changes_no_page_and_keeps_the_good_blocks(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    before = build.output.read_bytes()
    longer = PAGE.replace("Because it is so.", "Because it is so. " * 9).replace("[first]", "[first one two three]")
    build.script = lambda request: "no" if request.label == "questions" else _answer(request)
    result = build(load(longer))
    assert not result.ok and result.output is None
    assert build.output.read_bytes() == before
    assert {d.code for d in result.diagnostics} == {"E0401"}
    assert all(d.span is not None for d in result.diagnostics)
    build.script = _answer
    build(load(longer))
    assert build.asked == ["questions"]


def test_what_was_refused_can_be_kept(load: Load, build: Compiler, tmp_path: Path) -> None:
    build.script = lambda request: "I would rather not." if request.label == "hero" else _answer(request)
    build(load(PAGE), attempts=2, keep_failed=tmp_path / "failed")
    kept = sorted((tmp_path / "failed").iterdir())
    assert [path.name for path in kept] == ["page.hero.1.txt", "page.hero.2.txt"]
    assert kept[0].read_text(encoding="utf-8") == "I would rather not."


def test_a_damaged_cache_entry_is_a_miss(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    entries = list((build.cache / "fragments").rglob("*.json"))
    for entry in entries:
        entry.write_bytes(entry.read_bytes()[:-9])
    assert build(load(PAGE)).ok
    assert len(build.asked) == len(entries) == 4


def test_a_fragment_that_no_longer_links_is_written_again(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    for path in (build.cache / "fragments").rglob("*.json"):
        entry = json.loads(path.read_bytes())
        if "hero" in entry["text"]:
            path.unlink()
            FragmentCache(build.cache).put(path.stem, Fragment("<p>old</p>"))
    assert build(load(PAGE)).ok
    assert build.asked == ["hero"]


def test_a_model_that_cannot_be_loaded_is_one_finding(load: Load, tmp_path: Path) -> None:
    def make() -> ScriptedEngine:
        raise ModelLoadError("the file is damaged", hint="pull it again")

    result = compile_spec(load(PAGE), EngineSource(MODEL, make), CompileOptions(cache_dir=tmp_path / "c"))
    assert [(d.code, d.message, d.file) for d in result.diagnostics] == [("E0703", "the file is damaged", result.spec)]


def test_a_model_of_another_format_is_refused_before_it_is_loaded(load: Load, tmp_path: Path) -> None:
    model = ModelChoice("other.gguf", Path("other.gguf"), "x", "test", FORMAT + 1)

    def make() -> ReferenceEngine:
        raise AssertionError("loaded")

    result = compile_spec(load(PAGE), EngineSource(model, make), CompileOptions(cache_dir=tmp_path / "c"))
    assert [d.code for d in result.diagnostics] == ["E0702"]


def test_a_brief_is_an_error_before_any_decode(load: Load, build: Compiler) -> None:
    result = build(load("sections:\n- {kind: prose, heading: H, brief: Two paragraphs on kettles.}"))
    assert [d.code for d in result.diagnostics] == ["E0701"]
    assert build.engine is None
    assert result.diagnostics[0].span is not None and result.diagnostics[0].span.line == 3


def test_an_output_that_is_a_folder_is_one_finding(load: Load, build: Compiler) -> None:
    build.output.mkdir(parents=True)
    result = build(load(PAGE))
    assert [d.code for d in result.diagnostics] == ["E0801"]
    assert list(build.output.parent.iterdir()) == [build.output]


def test_the_record_names_the_blocks_and_the_page(load: Load, build: Compiler, tmp_path: Path) -> None:
    build(load(PAGE))
    record = read_record(build.cache, str((tmp_path / "page.yaml").resolve()))
    assert record is not None
    assert [block.name for block in record.blocks] == ["style", "hero", "one", "two", "questions"]
    assert record.output == str(build.output)


def test_the_cache_stands_at_the_project_root(load: Load, tmp_path: Path) -> None:
    loaded = load(PAGE)
    assert default_cache_dir(loaded) == tmp_path / ".pagec"
    (tmp_path.parent / "pagec.toml").touch()
    try:
        assert default_cache_dir(loaded) == tmp_path.parent / ".pagec"
    finally:
        (tmp_path.parent / "pagec.toml").unlink()


def test_the_cache_folder_hides_itself_from_git(load: Load, build: Compiler) -> None:
    build(load(PAGE))
    assert (build.cache / ".gitignore").read_text() == "*\n"


def test_a_source_tells_what_its_engine_did_since_the_last_look(load: Load, tmp_path: Path) -> None:
    engines: list[ScriptedEngine] = []

    def make() -> ScriptedEngine:
        engines.append(ScriptedEngine(_answer))
        return engines[-1]

    source = EngineSource(MODEL, make)
    options = CompileOptions(output=tmp_path / "out.html", cache_dir=tmp_path / "cache")
    assert source.spent() is None, "no model was needed yet"
    compile_spec(load(PAGE), source, options)
    first = source.spent()
    assert first is not None and first.tokens > 0
    assert source.spent() is None, "nothing happened since"
    compile_spec(load(PAGE.replace("Two", "Two and three")), source, options)
    assert source.spent() is None, "a relink decodes nothing"
    engines[0].stats().target_passes = engines[0].stats().tokens = 5  # its process was started again
    again = source.spent()
    assert again is not None and again.tokens == 5
