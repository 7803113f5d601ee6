"""`pagec batch`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pagecompiler.commands.interrupts import INTERRUPTS
from pagecompiler.commands.options import (
    build_options,
    chosen_model,
    compile_options,
    decoding_options,
)
from pagecompiler.commands.screen import CONTEXT, Screen, count, fail, make_screen, screen_options
from pagecompiler.files import real_path, real_place
from pagecompiler.outputs import DEFAULT_FOLDER, STDOUT

BATCH_LANES = 10
SERVED_LANES, SERVED_JOBS = 256, 64
"""Enough to fill a large server; what each one takes of it is found out while it works."""

if TYPE_CHECKING:
    from pagecompiler.batch import Batch, BatchState
    from pagecompiler.build import PageResult
    from pagecompiler.folder import FolderSpec
    from pagecompiler.orphans import Orphans
    from pagecompiler.reporting.page_reports import PageReports


@click.command("batch", context_settings=CONTEXT)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=DEFAULT_FOLDER,
    metavar="DIR",
    show_default=True,
    help="The folder of the pages; it gets the structure of DIR.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), help=f"Pages in flight.  [default: 8, with --engine {SERVED_JOBS}]"
)
@click.option("--index", is_flag=True, help="Write pagec-index.html, a page with links to all pages.")
@click.option(
    "--prune",
    is_flag=True,
    help="Remove pages whose spec has gone, and images that no page shows, if nobody changed them.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object about all pages on stdout.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write a report of each page that is built or fails, as HTML, into a folder that is like the output's.",
)
@build_options
@screen_options
def batch_command(
    folder: Path, output: Path, jobs: int | None, index: bool, prune: bool, as_json: bool, report: Path | None,
    **options: Any,
) -> None:  # fmt: skip
    """Compile every spec under a folder, many pages at a time.

    Ten lanes are used where neither --lanes nor a config file says otherwise, with --engine as many as the servers
    take, up to 256. A small model is loaded twice where there are two cores, and each of the two has half of the lanes.
    Names that begin with _ or . are no specs. What is finished and current is not built again, so an interrupted
    batch goes on where it was. With `url` in _site.yaml a sitemap.xml is written.

    \b
    pagec batch site -o public
    pagec batch site --index --prune
    pagec batch site --json
    pagec batch site --force --report reports
    pagec batch site --engine http://a:8000,http://b:8000
    """
    from pagecompiler.api import engine_maker
    from pagecompiler.batch import DEFAULT_JOBS, Batch
    from pagecompiler.build import EngineSource
    from pagecompiler.folder import INDEX_NAME, find_specs
    from pagecompiler.outputs import OutputError

    screen = make_screen(options)
    if not os.path.isdir(folder):
        fail(f"`{folder}` is not a folder" if os.path.exists(folder) else f"there is no folder `{folder}`", 2)
    if str(output) == STDOUT or output.suffix.lower() in (".html", ".htm"):
        fail(f"`{output}` is no folder, but the pages of a folder need one", 2)
    try:
        specs = find_specs(folder, output)
    except OutputError as error:
        fail(str(error), error.exit_code)
    names = {spec.output.name: spec.name for spec in specs if spec.output.parent == output}
    if index and INDEX_NAME in names:
        fail(f"--index would take the place of the page of `{names[INDEX_NAME]}`; rename the spec", 2)
    gone = _find_orphans(folder, output, specs, options["cache_dir"]).pages if prune or not specs else []
    if not specs and not gone:
        fail(f"there is no spec under `{folder}`", 2)
    reports = _page_reports(report, output, specs)
    model = chosen_model(options, str(folder / "."), screen)
    served = bool(model.servers)
    _prefer_throughput(options, SERVED_LANES if served else BATCH_LANES)
    decoding = decoding_options(options)
    source = EngineSource(
        model, engine_maker(model, options["lanes"], decoding, screen.say, screen.verbose, child=True, spread=True)
    )
    told = _Told(screen, [spec.name for spec in specs], reports, why=options["why"], as_json=as_json)
    settings = replace(compile_options(options, model, decoding, output), trace=reports is not None)
    with screen.batch_progress() as progress:
        told.before_line = progress.clear

        def watched(state: BatchState) -> None:
            INTERRUPTS.check()
            progress(state)

        pages = jobs or (SERVED_JOBS if served else DEFAULT_JOBS)
        batch = Batch(
            folder,
            specs,
            source,
            settings,
            jobs=pages,
            began=reports.began if reports is not None else lambda build: None,
            told=told.add,
            listener=reports.hear if reports is not None else lambda progress: None,
            watched=watched,
            gone=[kept.page for kept in gone] if prune else [],
        )
        try:
            batch.survey()
            batch.run()
            spent = source.spent()
        finally:
            source.close()
    orphans = _find_orphans(folder, output, specs, options["cache_dir"])
    problem = _after(batch, orphans, folder, output, screen, index=index, remove=prune)
    told.summary()
    screen.say_spent(spent)
    if as_json:
        from pagecompiler.report import engine_json

        engine = None if spent is None else engine_json(spent)
        click.echo(json.dumps({"version": 1, "pages": told.pages, "engine": engine}, ensure_ascii=False))
    if told.failed or told.report_problem or problem:
        raise click.exceptions.Exit(1)


def _prefer_throughput(options: dict[str, Any], lanes: int) -> None:
    """Where nobody has said otherwise: tokens a second count, and with many pages there is work for more lanes."""
    context = click.get_current_context()
    defaults = {parameter.name: parameter.default for parameter in context.command.params}
    for name, value in (("prefer", "throughput"), ("lanes", lanes)):
        if context.get_parameter_source(name) is ParameterSource.DEFAULT and options[name] == defaults[name]:
            options[name] = value


def _page_reports(folder: Path | None, output: Path, specs: Sequence[FolderSpec]) -> PageReports | None:
    """What writes the reports, if any are wanted; exits with 2 when one would overwrite a page."""
    from pagecompiler.reporting.page_reports import PageReports

    if folder is None:
        return None
    reports = PageReports(folder, output, specs)
    if not {real_path(spec.output) for spec in specs}.isdisjoint(real_path(place) for place in reports.places):
        fail(f"--report {folder}: reports would take the place of pages; name another folder", 2)
    return reports


class _Told:
    """What is said about pages, and all that is kept of them, in the order of their specs."""

    def __init__(
        self, screen: Screen, specs: Sequence[str], reports: PageReports | None, *, why: bool, as_json: bool
    ) -> None:
        self._screen = screen
        self._specs = specs
        self._reports = reports
        self.report_problem = False
        self._why = why
        self._as_json = as_json
        self.before_line: Callable[[], None] = lambda: None
        self._pages: dict[str, dict[str, Any]] = {}
        self._failed: dict[str, str] = {}
        self._counts = dict.fromkeys(("built", "reused", "unchanged"), 0)
        self._blocks = self._decoded = self._tokens = 0

    def add(self, result: PageResult, sources: Mapping[str, str]) -> None:
        from pagecompiler.report import page_json

        self.before_line()
        self._screen.report(result.diagnostics, sources)
        if self._why:
            self._screen.explain(result)
        decoded = sum(block.state == "built" for block in result.blocks)
        self._blocks += len(result.blocks)
        self._decoded += decoded
        self._tokens += sum(len(c.tokens) for block in result.blocks for c in block.completions)
        if result.ok:
            self._counts["unchanged" if result.plan is None else "built" if decoded else "reused"] += 1
            if not self._as_json:
                click.echo(str(result.output))
        else:
            errors = [finding for finding in result.diagnostics if finding.severity == "error"]
            self._failed[result.spec] = errors[0].message if errors else "no page"
        if self._as_json:
            self._pages[result.spec] = page_json(result)
        if self._reports is not None:
            self._write_report(self._reports, result)

    def _write_report(self, reports: PageReports, result: PageResult) -> None:
        try:
            reports.finish(result)
        except OSError as error:
            self._screen.error(f"cannot write the report of {result.spec}: {error.strerror or error}")
            self.report_problem = True

    @property
    def failed(self) -> list[tuple[str, str]]:
        """The pages that failed, and why."""
        return [(name, self._failed[name]) for name in self._specs if name in self._failed]

    @property
    def pages(self) -> list[dict[str, Any]]:
        """What is told of each page with --json."""
        return [self._pages[name] for name in self._specs if name in self._pages]

    def summary(self) -> None:
        """The table of failures, and one line about everything."""
        from pagecompiler.diagnostics import printable

        if self.failed:
            width = max(len(name) for name, _ in self.failed)
            click.echo("failed:", err=True)
            for name, message in self.failed:
                click.echo(f"  {printable(name):<{width}}  {printable(message)}", err=True)
        pages = sum(self._counts.values()) + len(self._failed)
        self._screen.say(
            f"{count(pages, 'page')}: {self._counts['built']} built, {self._counts['reused']} relinked,"
            f" {self._counts['unchanged']} unchanged, {len(self._failed)} failed;"
            f" {self._decoded} of {self._blocks} blocks written, {self._tokens} tokens"
        )


def _find_orphans(folder: Path, output: Path, specs: Sequence[FolderSpec], cache: Path | None) -> Orphans:
    from pagecompiler.orphans import find_caches, find_orphans

    caches = find_caches(folder) if cache is None else {cache}
    return find_orphans(folder, output, caches, {real_place(spec.output) for spec in specs})


def _after(
    batch: Batch, orphans: Orphans, folder: Path, output: Path, screen: Screen, *, index: bool, remove: bool
) -> bool:  # fmt: skip
    """What concerns the folder as a whole: orphans, sitemap, index. Gives whether something could not be done."""
    from pagecompiler.listing import SITEMAP_NAME, compile_index, has_own_sitemap, write_sitemap
    from pagecompiler.orphans import prune
    from pagecompiler.publish import write_problem

    if not remove:
        for kept in orphans.pages:
            screen.say(f"{kept.page} stays, but its spec {kept.spec} has gone (--prune removes the page)")
        for path in orphans.unused():
            screen.say(f"{path} stays, but no page shows it any more (--prune removes it)")
    pages = [facts for facts in batch.facts.values() if facts is not None and os.path.exists(facts.spec.output)]
    try:
        if remove:
            prune(orphans, screen.say)
        sitemap, own = output / SITEMAP_NAME, has_own_sitemap(output)
        if any(page.address for page in pages) and os.path.lexists(sitemap) and not own:
            screen.say(f"{sitemap} stays as it is: pagec did not write it")
        elif write_sitemap(pages, output) is None and own and None not in batch.facts.values():
            screen.say(f"{sitemap} stays, but no page of {folder} has an address")
        if not index:
            return False
        result = compile_index(pages, folder, output)
        screen.report(result.diagnostics, {})
        return not result.ok
    except OSError as error:
        screen.report([write_problem(error)], {})
        return True
