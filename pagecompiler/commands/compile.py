"""`pagec compile`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagecompiler.commands.interrupts import INTERRUPTS
from pagecompiler.commands.options import (
    build_options,
    chosen_model,
    compile_options,
    decoding_options,
)
from pagecompiler.commands.screen import CONTEXT, Screen, fail, make_screen, screen_options
from pagecompiler.commands.specs import load, read_spec, refuse_folders, shown
from pagecompiler.files import real_path

if TYPE_CHECKING:
    from pagecompiler.build import CompileOptions, EngineSource, PageResult
    from pagecompiler.claims import Claims
    from pagecompiler.generate import Listener, Progress
    from pagecompiler.outputs import Output
    from pagecompiler.reporting.attempts import Attempts


@click.command("compile", context_settings=CONTEXT)
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option("-o", "--output", metavar="PATH", help="A file (.html), a folder, or - for stdout.  [default: output/]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object about the build on stdout.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write a report as HTML: the lanes over time, and how every token came to be.",
)
@build_options
@screen_options
def compile_command(
    specs: tuple[str, ...], output: str | None, as_json: bool, report: Path | None, **options: Any
) -> None:
    """Compile specs into pages; prints the path of each page.

    SPEC is a YAML file, or - for stdin. A page that is not valid is never written: then the old one stays.

    \b
    pagec compile specs/kettle.yaml
    pagec compile specs/kettle.yaml -o public/index.html
    pagec compile a.yaml b.yaml --json
    pagec compile a.yaml --force --report report.html
    pagec compile a.yaml --engine http://localhost:8000

    Defaults stand in pagec.toml beside the specs or above them (that of the first spec counts) and in the user's
    config.toml.
    """
    from pagecompiler.api import engine_maker
    from pagecompiler.build import EngineSource
    from pagecompiler.claims import Claims
    from pagecompiler.outputs import OutputError, plan_outputs
    from pagecompiler.reporting.attempts import Attempts

    screen = make_screen(options)
    refuse_folders(specs, batch=True)
    try:
        outputs = plan_outputs(specs, output, json=as_json)
    except OutputError as error:
        fail(str(error), error.exit_code)
    _check_report(report, specs, outputs)
    model = chosen_model(options, specs[0], screen)
    decoding = decoding_options(options)
    source = EngineSource(model, engine_maker(model, options["lanes"], decoding, screen.say, screen.verbose))
    claims = Claims()
    results: list[PageResult] = []
    recorded: list[Attempts] = []
    try:
        for spec, target in zip(specs, outputs, strict=True):
            attempts = Attempts()
            settings = replace(compile_options(options, model, decoding, target.path), trace=report is not None)
            result = _compile_one(spec, source, settings, screen, attempts.hear, claims)
            results.append(result)
            recorded.append(attempts)
            if options["why"]:
                screen.explain(result)
            if result.html is not None and not as_json:
                _print_page(result, screen)
        spent = source.spent()
    finally:
        source.close()
    if report is not None:
        _write_report(report, list(zip(results, recorded, strict=True)), screen)
    screen.say_spent(spent)
    if as_json:
        from pagecompiler.report import pages_json

        click.echo(json.dumps(pages_json(results, spent), ensure_ascii=False))
    if not all(result.ok for result in results):
        raise click.exceptions.Exit(1)


def _check_report(report: Path | None, specs: Sequence[str], outputs: Sequence[Output]) -> None:
    """Exits with 2 when the report would overwrite a spec, a page or an image."""
    if report is None:
        return
    paths = [*(Path(spec) for spec in specs if spec != "-"), *(each.path for each in outputs if each.path is not None)]
    if real_path(report) in [real_path(path) for path in paths]:
        fail(f"--report {report} is a spec or a page of this run; name another file", 2)
    if report.suffix.lower() not in (".html", ".htm"):  # it could be an image of a page
        fail(f"--report {report}: a report is a page; name another file, ending in .html", 2)


def _write_report(report: Path, builds: Sequence[tuple[PageResult, Attempts]], screen: Screen) -> None:
    """Exits with 1 when it cannot be written."""
    from pagecompiler.files import write_atomic
    from pagecompiler.reporting.build_report import build_report

    try:
        write_atomic(report, build_report(builds).encode())
    except OSError as error:
        fail(f"cannot write the report `{report}`: {error.strerror or error}", 1)
    screen.say(f"report: {report}")


def _compile_one(
    spec: str, source: EngineSource, settings: CompileOptions, screen: Screen, recorder: Listener, claims: Claims
) -> PageResult:
    from pagecompiler.build import PageResult, compile_spec
    from pagecompiler.diagnostics import CompileError

    data = read_spec(spec)
    try:
        loaded = load(spec, data)
    except CompileError as error:
        screen.report(error.diagnostics, error.sources)
        return PageResult(shown(spec), None, None, 0.0, source.model.name, None, (), error.diagnostics)
    with screen.progress() as progress:

        def listener(step: Progress) -> None:
            INTERRUPTS.check()
            progress(step)
            recorder(step)

        result = compile_spec(loaded, source, settings, listener, claims)
    screen.report(result.diagnostics, loaded.sources)
    if result.ok:
        decoded = sum(len(c.tokens) for block in result.blocks for c in block.completions)
        reused = sum(block.state == "reused" for block in result.blocks)
        screen.say(
            f"{shown(spec)}: {len(result.blocks)} blocks, {reused} reused, {decoded} tokens, {result.seconds:.2f} s"
        )
    elif result.output is None and settings.output is not None and os.path.isfile(settings.output):
        screen.say(f"{shown(spec)}: failed, {settings.output} stays as it was")
    return result


def _print_page(result: PageResult, screen: Screen) -> None:
    if result.output is not None:
        click.echo(str(result.output))
        return
    # Not click.echo: the page must come out byte for byte, also on Windows.
    sys.stdout.flush()
    sys.stdout.buffer.write((result.html or "").encode())
    sys.stdout.buffer.flush()
