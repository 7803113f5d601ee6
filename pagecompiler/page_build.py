"""One page through the pipeline, in the steps between which an engine works for it."""

from __future__ import annotations

import errno
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Self

from pagecompiler import ids
from pagecompiler.assets import Asset, AssetError, resolve
from pagecompiler.cache import Fragment, FragmentCache, fragment_key, prepare_folder
from pagecompiler.claims import Claims
from pagecompiler.cleaning import clean
from pagecompiler.codes import Severity
from pagecompiler.diagnostics import CompileError, Diagnostic, diagnostic
from pagecompiler.engine.base import EngineError
from pagecompiler.engine.types import Message
from pagecompiler.files import real_path, real_place, write_atomic
from pagecompiler.generate import Task, engine_diagnostic
from pagecompiler.inputs import digest_file, missed_images, read_inputs
from pagecompiler.languages import labels
from pagecompiler.link import LinkContext, link
from pagecompiler.lint import lint
from pagecompiler.lock import PageLock
from pagecompiler.models import ModelChoice
from pagecompiler.options import CompileOptions, default_cache_dir, page_settings, prompt_style
from pagecompiler.plan import STYLE, Block, Plan, make_plan
from pagecompiler.prompts import FORMAT, PromptStyle, block_messages
from pagecompiler.publish import put_before, write_page, write_problem
from pagecompiler.reasons import SAME, why_written
from pagecompiler.rebuild import previous_texts
from pagecompiler.record import BlockRecord, PageRecord, read_record, write_record
from pagecompiler.results import BlockResult, PageResult
from pagecompiler.spec import LoadedSpec
from pagecompiler.stitch import share_rules, stitch
from pagecompiler.style import check_style, page_css, palette_css
from pagecompiler.validate import validate_page


class PageBuild:
    """One page on its way: `start` says what must be written, `take` is told of each finished task, and when
    nothing is missing any more (`ready`) `finish` makes the page.

    `claims` are those of the run, where it builds more pages than this; `page` is the number of its tasks.
    Nobody else can build the page until the build is closed.
    """

    def __init__(
        self,
        loaded: LoadedSpec,
        model: ModelChoice,
        options: CompileOptions,
        *,
        claims: Claims | None = None,
        page: int = 0,
    ) -> None:
        self.loaded = loaded
        self.model = model
        self.options = options
        self.page = page
        self.started = time.perf_counter()
        self.findings: list[Diagnostic] = list(loaded.warnings)
        self.plan: Plan | None = None
        self.blocks: list[BlockResult] = []
        self.assets: dict[str, Asset] = {}
        self.prompts = prompt_style(model, options)
        self.cache_dir = options.cache_dir or default_cache_dir(loaded)
        self.cache = FragmentCache(self.cache_dir, read=options.read_cache, write=options.write_cache)
        self.claims = claims or Claims()
        self.tasks: dict[str, Task] = {}  # by key: also those of other pages that this one waits for
        self.owners: dict[str, BlockResult] = {}
        self.taken: set[str] = set()
        self.inputs = list(read_inputs(loaded))
        self.palette = ""
        self.record: PageRecord | None = None
        self.lock: PageLock | None = None

    def start(self) -> list[Task]:
        """Plan the page, reuse what there is, and give the tasks for the rest; none if something is wrong."""
        tasks: list[Task] = []
        with self.findings_of_errors():
            self.palette, notes = palette_css(self.loaded)
            self.findings += [*notes, *lint(self.loaded, self.model.name, self.prompts)]
            if self.failed():
                return []
            if self.options.output is not None:
                if self.options.output.is_dir():
                    raise IsADirectoryError(errno.EISDIR, "there is a folder of that name", str(self.options.output))
                self.lock = PageLock(self.options.output)
            if self.loaded.path is not None:
                output = self.options.output
                place = None if output is None else str(real_place(output))
                self.record = read_record(self.cache_dir, str(real_path(self.loaded.path)), place)
            self.make_plan()
            self.find_assets()
            self.reuse()
            tasks = self.make_tasks()
        if self.failed():
            self.owners.clear()
            self.tasks.clear()  # a page that waits for nothing is ready
            return []
        return tasks

    @property
    def ready(self) -> bool:
        """Whether all that the page waits for is written, or has failed."""
        return all(key in self.taken if key in self.owners else task.finished for key, task in self.tasks.items())

    def take(self, task: Task) -> None:
        """A task of this page is finished: keep what it wrote at once, so that no interruption loses it."""
        key = next(key for key, known in self.tasks.items() if known is task)
        self.taken.add(key)
        block = self.owners[key]
        block.state = "built" if task.fragment is not None else "failed"
        block.completions = task.completions
        block.fragment = task.fragment
        block.diagnostics = tuple(
            finding if finding.file is not None else replace(finding, file=self.loaded.name)
            for finding in task.diagnostics
        )
        self.claims.settle(key, task.fragment)
        with self.findings_of_errors():
            self.keep_rejected(task)
            if task.fragment is not None:
                self.keep(key, task.fragment)

    def fail(self, error: EngineError) -> None:
        """The engine cannot go on; what is missing will not be written."""
        self.findings.append(replace(engine_diagnostic(error), file=self.loaded.name))
        for key in self.owners:
            self.claims.settle(key, None)

    def finish(self) -> PageResult:
        """Link the blocks and write the page."""
        html: str | None = None
        with self.findings_of_errors():
            for block in self.blocks:
                if block.fragment is None and block.state == "reused" and block.key in self.tasks:
                    self.share(block, self.tasks[block.key])
                if block.fragment is None:  # nothing was reused, also where the build ended before it was asked for
                    block.state = "failed"
                self.findings += block.diagnostics
            made = None if self.failed() else self.stitch()
            if made is not None:
                self.write(made)
                html = made
        self.close()
        return PageResult(
            spec=self.loaded.name,
            output=self.options.output if html is not None else None,
            html=html,
            seconds=time.perf_counter() - self.started,
            model=self.model.name,
            plan=self.plan,
            blocks=tuple(self.blocks),
            diagnostics=tuple(self.findings),
            inputs=tuple(self.inputs),
            method="plain" if self.model.is_reference else self.options.decoding.method.value,
        )

    def close(self) -> None:
        """Let others build the page. A build that is given up is closed, too."""
        if self.lock is not None:
            self.lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def findings_of_errors(self) -> Iterator[None]:
        """What goes wrong in here becomes a finding."""
        try:
            yield
        except CompileError as error:
            self.findings += error.diagnostics
        except AssetError as error:  # gone or changed since the spec was checked
            self.findings.append(diagnostic(error.code, error.message, file=self.loaded.name, hint=error.hint))
        except OSError as error:
            self.findings.append(write_problem(error))

    def stitch(self) -> str | None:
        linked = [block.linked for block in self.blocks if block.linked is not None]
        style = next(block for block in self.blocks if block.block.kind == STYLE)
        css = page_css(self.palette, style.css, share_rules(linked))
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
        groups = {block.name: group.name for group in plan.groups for block in group.blocks}
        self.blocks = [
            BlockResult(block, groups[block.name], self.key(block), self.messages(block)) for block in plan.all_blocks
        ]
        self.plan = plan

    def find_assets(self) -> None:
        """All images of the page: those of slots, the one for other sites, and the icon."""
        page = self.loaded.page
        images = [slot.image for block in self.blocks for slot in block.block.structure.slots]
        sources = [image.src for image in (*images, page.image) if image is not None]
        for source in (*sources, *([page.favicon] if page.favicon else [])):
            if source not in self.assets:
                asset = self.find_asset(source)
                self.assets[source] = asset
                self.inputs.append((str(asset.path), digest_file(asset.path)))

    def find_asset(self, source: str) -> Asset:
        try:
            return resolve(source, self.loaded.folder, self.loaded.root)
        except AssetError as error:
            self.inputs += missed_images([error.path] if error.path is not None else [])
            raise

    def messages(self, block: Block) -> tuple[Message, ...]:
        return block_messages(block.structure, self.loaded.page, self.prompts)

    def key(self, block: Block) -> str:
        return fragment_key(self.messages(block), self.model.id, self.options.sampling)

    def reuse(self) -> None:
        """Take what still links from the cache or from this run; a fragment that no longer does is written again."""
        for block in self.blocks:
            fragment, block.why = self.cache.get(block.key), SAME
            if fragment is None:
                fragment, block.why = self.claims.fragment(block.key), "another page of this run has the same prompt"
            problems = self.accept(block, fragment.text) if fragment is not None else ()
            if problems:
                block.why = f"its fragment does not link any more ({problems[0].code})"
            elif fragment is not None:
                block.fragment = fragment
                if block.why != SAME:  # the other page may have a cache of its own
                    self.keep(block.key, fragment)
            else:
                read = self.options.read_cache
                block.why = why_written(block.block, block.key, self.record, read_cache=read)

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

    def make_tasks(self) -> list[Task]:
        """Tasks for what is missing; equal prompts are decoded once, by the first block that has them."""
        for block in self.blocks:
            if block.fragment is not None:
                continue
            if block.key in self.owners:
                block.why = f"`{self.owners[block.key].block.name}` has the same prompt"
                continue
            other = self.claims.task(block.key)
            if other is not None:
                block.why = "another page of this run has the same prompt"
                self.tasks[block.key] = other
                continue
            full = self.prompts is PromptStyle.FULL
            task = Task(
                block.block,
                block.group,
                block.messages,
                self.checker(block),
                repair=full,
                page=self.page,
                trace=self.options.trace,
            )
            self.owners[block.key], self.tasks[block.key] = block, task
        tasks = [self.tasks[key] for key in self.owners]
        if not tasks:
            return []
        if self.options.locked:
            raise CompileError(tuple(self.refuse(block) for block in self.owners.values()))
        if self.prompts is PromptStyle.COMPACT:
            self.require_format()
        self.guess_from_last_page(tasks)
        for key in self.owners:
            self.claims.claim(key, self.tasks[key])
        return tasks

    def refuse(self, block: BlockResult) -> Diagnostic:
        message = f"the block `{block.block.name}` would be written: {block.why}"
        return self.loaded.diagnostic("E0705", message, block.block.path)

    def guess_from_last_page(self, tasks: list[Task]) -> None:
        """Let the fragments of the page's last build be guesses for what is written now."""
        if not self.options.decoding.previous or self.loaded.path is None:
            return
        guesses = previous_texts(self.record, [block.block for block in self.blocks], self.cache.get)
        for task in tasks:
            task.previous = guesses.get(task.block.name, "")

    def checker(self, block: BlockResult) -> Callable[[str], tuple[Diagnostic, ...]]:
        return lambda text: self.accept(block, text)

    def share(self, block: BlockResult, task: Task) -> None:
        """Link a block with the fragment that another one of the same prompt has just got."""
        if task.fragment is None:
            block.state = "failed"
            if block.key not in self.owners:
                path = block.block.path
                problems = [finding for finding in task.diagnostics if finding.severity is Severity.ERROR]
                block.diagnostics = tuple(self.loaded.diagnostic(p.code, p.message, path, p.hint) for p in problems)
            return
        block.fragment = task.fragment
        block.diagnostics = self.accept(block, task.fragment.text)
        if block.key not in self.owners:
            self.keep(block.key, task.fragment)

    def require_format(self) -> None:
        model = self.model
        if model.format != FORMAT:
            said = "no pagec.format" if model.format is None else f"pagec.format {model.format}"
            message = f"the model `{model.name}` has {said}, this pagec needs {FORMAT}"
            raise CompileError((diagnostic("E0702", message, file=self.loaded.name),))

    def keep(self, key: str, fragment: Fragment) -> None:
        """Put an accepted fragment into the cache, even when other blocks fail: it need not be written again."""
        if self.options.write_cache:
            with self.cache_warnings():
                prepare_folder(self.cache_dir)
                self.cache.put(key, fragment)

    @contextmanager
    def cache_warnings(self) -> Iterator[None]:
        """A cache that cannot be written costs time, but no page."""
        try:
            yield
        except OSError as error:
            warning = diagnostic("W0805", f"cannot keep what was written: {error.strerror or error}")
            if warning not in self.findings:
                self.findings.append(warning)

    def keep_rejected(self, task: Task) -> None:
        folder = self.options.keep_failed
        for number, text in enumerate(task.rejected, 1):
            if folder is not None:
                write_atomic(folder / f"{_stem(self.loaded)}.{task.block.name}.{number}.txt", text.encode())

    def write(self, html: str) -> None:
        output = self.options.output
        if output is None:
            return
        copies, put = write_page(html, output, self.assets.values(), self.options.output_root, self.claims.places)
        if self.options.write_cache and self.loaded.path is not None:
            blocks = tuple(
                BlockRecord(b.block.name, b.block.kind, b.block.structure.description, b.key) for b in self.blocks
            )
            record = PageRecord(
                str(real_place(output)),
                hashlib.sha256(html.encode()).hexdigest(),
                blocks,
                page_settings(self.model, self.options, self.loaded.site),
                tuple(self.inputs),
                copies,
                put_before(self.record, output, put),
            )
            with self.cache_warnings():
                prepare_folder(self.cache_dir)
                write_record(self.cache_dir, str(real_path(self.loaded.path)), record)
                clean(self.cache_dir)


def _stem(loaded: LoadedSpec) -> Path:
    """The name of a spec without its suffix, with the folders that tell it from others of the run."""
    if loaded.path is None:
        return Path("stdin")
    path, root = real_path(loaded.path), real_path(loaded.root)
    return (path.relative_to(root) if path.is_relative_to(root) else Path(path.name)).with_suffix("")
