"""The pipeline: load → plan → reuse → generate → clean → link → stitch → validate → write."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pagecompiler import ids
from pagecompiler.assets import Asset, AssetError, copy_assets, resolve
from pagecompiler.cache import Fragment, FragmentCache, fragment_key, prepare_folder
from pagecompiler.codes import Severity
from pagecompiler.diagnostics import CompileError, Diagnostic, diagnostic
from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.types import Completion, Decoding, Message, Sampling
from pagecompiler.files import write_atomic
from pagecompiler.generate import Listener, Task, engine_diagnostic, generate
from pagecompiler.languages import labels
from pagecompiler.link import LinkContext, LinkedBlock, link
from pagecompiler.lint import lint
from pagecompiler.models import ModelChoice
from pagecompiler.plan import STYLE, Block, Plan, make_plan
from pagecompiler.prompts import FORMAT, PromptStyle, block_messages
from pagecompiler.rebuild import previous_texts
from pagecompiler.record import BlockRecord, PageRecord, read_record, write_record
from pagecompiler.spec import LoadedSpec
from pagecompiler.stitch import share_rules, stitch
from pagecompiler.style import check_style, page_css, palette_css
from pagecompiler.validate import validate_page

PROJECT_MARKS = ("pagec.toml", "_site.yaml")
CACHE_NAME = ".pagec"


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How to compile. `output` None keeps the page in the result only; `cache_dir` None is `.pagec` at the project.

    `prompts` None takes compact ones for a model that was trained on them, else full ones.
    """

    output: Path | None = None
    attempts: int = 3
    lanes: int = 5
    sampling: Sampling = field(default_factory=Sampling)
    read_cache: bool = True
    write_cache: bool = True
    cache_dir: Path | None = None
    keep_failed: Path | None = None
    prompts: PromptStyle | None = None
    decoding: Decoding = field(default_factory=Decoding)


@dataclass(slots=True)
class BlockResult:
    """What became of one block. `completions` are those decoded for it in this run; a reused block has none."""

    block: Block
    group: str
    key: str
    messages: tuple[Message, ...]
    state: Literal["built", "reused", "failed"] = "reused"
    completions: list[Completion] = field(default_factory=list)
    fragment: Fragment | None = None
    linked: LinkedBlock | None = None
    css: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class PageResult:
    """A finished build. `html` is None when it failed; `diagnostics` holds warnings and notes too."""

    spec: str
    output: Path | None
    html: str | None
    seconds: float
    model: str
    plan: Plan | None
    blocks: tuple[BlockResult, ...]
    diagnostics: tuple[Diagnostic, ...]
    method: str = "plain"

    @property
    def ok(self) -> bool:
        return self.html is not None


class EngineSource:
    """Makes the engine of a model at the first request for it, and keeps it: a relink never makes one."""

    def __init__(self, model: ModelChoice, make: Callable[[], Engine]) -> None:
        self.model = model
        self._make = make
        self._engine: Engine | None = None

    def get(self) -> Engine:
        """The engine. Raises EngineError when the model cannot be loaded."""
        if self._engine is None:
            self._engine = self._make()
        return self._engine

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def compile_spec(
    loaded: LoadedSpec,
    source: EngineSource,
    options: CompileOptions = CompileOptions(),
    listener: Listener = lambda progress: None,
) -> PageResult:
    """Compile a loaded spec; whatever is wrong is in the result's diagnostics, and then nothing is written."""
    return _PageBuild(loaded, source, options, listener).run()


def default_cache_dir(loaded: LoadedSpec) -> Path:
    """`.pagec` in the nearest folder with `pagec.toml` or `_site.yaml`, else in the spec's folder."""
    for folder in (loaded.folder, *loaded.folder.parents):
        if any((folder / mark).exists() for mark in PROJECT_MARKS):
            return folder / CACHE_NAME
    return loaded.folder / CACHE_NAME


class _PageBuild:
    def __init__(self, loaded: LoadedSpec, source: EngineSource, options: CompileOptions, listener: Listener) -> None:
        self.loaded = loaded
        self.source = source
        self.options = options
        self.listener = listener
        self.started = time.perf_counter()
        self.findings: list[Diagnostic] = list(loaded.warnings)
        self.plan: Plan | None = None
        self.blocks: list[BlockResult] = []
        self.assets: dict[str, Asset] = {}
        compact = source.model.format is not None
        self.prompts = options.prompts or (PromptStyle.COMPACT if compact else PromptStyle.FULL)
        self.cache_dir = options.cache_dir or default_cache_dir(loaded)
        self.cache = FragmentCache(self.cache_dir, read=options.read_cache, write=options.write_cache)

    def run(self) -> PageResult:
        try:
            html = self.build()
            if html is not None:
                self.write(html)
        except CompileError as error:
            self.findings += error.diagnostics
            html = None
        except EngineError as error:
            self.findings.append(engine_diagnostic(error))
            html = None
        except AssetError as error:  # gone or changed since the spec was checked
            self.findings.append(diagnostic(error.code, error.message, file=self.loaded.name, hint=error.hint))
            html = None
        except OSError as error:
            self.findings.append(_write_problem(error))
            html = None
        return PageResult(
            spec=self.loaded.name,
            output=self.options.output if html is not None else None,
            html=html,
            seconds=time.perf_counter() - self.started,
            model=self.source.model.name,
            plan=self.plan,
            blocks=tuple(self.blocks),
            diagnostics=tuple(self.findings),
            method="plain" if self.source.model.is_reference else self.options.decoding.method.value,
        )

    def build(self) -> str | None:
        palette, notes = palette_css(self.loaded)
        self.findings += [*notes, *lint(self.loaded, self.source.model.name, self.prompts)]
        if self.failed():
            return None
        self.make_plan()
        self.find_assets()
        self.reuse()
        self.decode()
        self.keep()
        for block in self.blocks:
            self.findings += block.diagnostics
        if self.failed():
            return None
        linked = [block.linked for block in self.blocks if block.linked is not None]
        style = next(block for block in self.blocks if block.block.kind == STYLE)
        css = page_css(palette, style.css, share_rules(linked))
        html = stitch(self.loaded.page, linked, css)
        self.findings += validate_page(html, language=self.loaded.page.lang)
        return None if self.failed() else html

    def failed(self) -> bool:
        return any(finding.severity is Severity.ERROR for finding in self.findings)

    def make_plan(self) -> None:
        section_ids = ids.section_ids(self.loaded.page)
        plan = make_plan(
            self.loaded.page,
            section_ids,
            prompts=self.prompts,
            is_cached=lambda block: self.cache.get(self.key(block)) is not None,
        )
        self.plan = plan
        groups = {block.name: group.name for group in plan.groups for block in group.blocks}
        for block in plan.all_blocks:
            self.blocks.append(BlockResult(block, groups[block.name], self.key(block), self.messages(block)))

    def find_assets(self) -> None:
        """All images of the page: those of slots, the one for other sites, and the icon."""
        page = self.loaded.page
        images = [slot.image for block in self.blocks for slot in block.block.structure.slots]
        sources = [image.src for image in (*images, page.image) if image is not None]
        for source in (*sources, *([page.favicon] if page.favicon else [])):
            self.assets[source] = resolve(source, self.loaded.folder, self.loaded.root)

    def messages(self, block: Block) -> tuple[Message, ...]:
        return block_messages(block.structure, self.loaded.page, self.prompts)

    def key(self, block: Block) -> str:
        return fragment_key(self.messages(block), self.source.model.id, self.options.sampling)

    def reuse(self) -> None:
        """Take from the cache what still links; a fragment that no longer does is written again."""
        for block in self.blocks:
            fragment = self.cache.get(block.key)
            if fragment is not None and not self.accept(block, fragment.text):
                block.fragment = fragment

    def accept(self, block: BlockResult, text: str) -> tuple[Diagnostic, ...]:
        """Link a fragment, or check a style; what is wrong with it, and if nothing is, keep the result."""
        if block.block.kind == STYLE:
            style = check_style(text)
            block.css = style.css
            return tuple(
                self.loaded.diagnostic(p.code, f"style: {p.message} (line {p.line} of the fragment)", ("theme",))
                for p in style.problems
            )
        linked = link(block.block, text, LinkContext(self.loaded, self.assets, self.labels()))
        if not linked.diagnostics:
            block.linked = linked
        return linked.diagnostics

    def labels(self) -> dict[str, str]:
        return labels(self.loaded.page.lang, self.loaded.page.labels)

    def decode(self) -> None:
        """Write what is missing; equal prompts are decoded once, by the first block that has them."""
        owners: dict[str, tuple[BlockResult, Task]] = {}
        for block in self.blocks:
            if block.fragment is None and block.key not in owners:
                full = self.prompts is PromptStyle.FULL
                task = Task(block.block, block.group, block.messages, self.checker(block), repair=full)
                owners[block.key] = (block, task)
        if not owners:
            return
        self.guess_from_last_page([task for _, task in owners.values()])
        if self.prompts is PromptStyle.COMPACT:
            self.require_format()
        generate(
            [task for _, task in owners.values()],
            self.source.get(),
            lanes=self.options.lanes,
            attempts=self.options.attempts,
            sampling=self.options.sampling,
            listener=self.listener,
        )
        for block, task in owners.values():
            block.state = "built" if task.fragment is not None else "failed"
            block.completions = task.completions
            block.fragment = task.fragment
            block.diagnostics = task.diagnostics
            self.keep_rejected(task)
        for block in self.blocks:
            if block.fragment is None and block.state == "reused":
                self.share(block, owners[block.key][0])

    def guess_from_last_page(self, tasks: list[Task]) -> None:
        """Let the fragments of the page's last build be guesses for what is written now."""
        if not self.options.decoding.previous or self.loaded.path is None:
            return
        record = read_record(self.cache_dir, str(self.loaded.path.resolve()))
        guesses = previous_texts(record, [block.block for block in self.blocks], self.cache.get)
        for task in tasks:
            task.previous = guesses.get(task.block.name, "")

    def checker(self, block: BlockResult) -> Callable[[str], tuple[Diagnostic, ...]]:
        return lambda text: self.accept(block, text)

    def share(self, block: BlockResult, owner: BlockResult) -> None:
        """Link a block with the fragment that another one of the same prompt has just got."""
        if owner.fragment is None:
            block.state = "failed"
            return
        block.fragment = owner.fragment
        block.diagnostics = self.accept(block, owner.fragment.text)

    def require_format(self) -> None:
        model = self.source.model
        if model.format != FORMAT:
            said = "no pagec.format" if model.format is None else f"pagec.format {model.format}"
            message = f"the model `{model.name}` has {said}, this pagec needs {FORMAT}"
            raise CompileError((diagnostic("E0702", message),))

    def keep(self) -> None:
        """Put accepted fragments into the cache, even when other blocks failed: they need not be written again."""
        if not self.options.write_cache:
            return
        prepare_folder(self.cache_dir)
        for block in self.blocks:
            if block.state == "built" and block.fragment is not None:
                self.cache.put(block.key, block.fragment)

    def keep_rejected(self, task: Task) -> None:
        folder = self.options.keep_failed
        for number, text in enumerate(task.rejected, 1):
            if folder is not None:
                write_atomic(folder / f"{_stem(self.loaded)}.{task.block.name}.{number}.txt", text.encode())

    def write(self, html: str) -> None:
        """Images first, then the page: a page that is there is complete."""
        output = self.options.output
        if output is None:
            return
        copy_assets(self.assets.values(), output.parent)
        data = html.encode()
        write_atomic(output, data)
        if self.options.write_cache and self.loaded.path is not None:
            blocks = tuple(
                BlockRecord(b.block.name, b.block.kind, b.block.structure.description, b.key) for b in self.blocks
            )
            record = PageRecord(str(output.resolve()), hashlib.sha256(data).hexdigest(), blocks)
            write_record(self.cache_dir, str(self.loaded.path.resolve()), record)


def _stem(loaded: LoadedSpec) -> str:
    return loaded.path.stem if loaded.path is not None else "stdin"


def _write_problem(error: OSError) -> Diagnostic:
    name = error.filename2 or error.filename or "the output"
    return diagnostic("E0801", f"cannot write `{name}`: {error.strerror or error}")
