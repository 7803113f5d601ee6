"""The command line: parse, call, print, exit code. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pagecompiler.codes import Severity

if TYPE_CHECKING:
    from pagecompiler.build import CompileOptions, EngineSource, PageResult
    from pagecompiler.diagnostics import Diagnostic
    from pagecompiler.models import ModelChoice
    from pagecompiler.progress import PlainProgress
    from pagecompiler.spec import LoadedSpec

INTERRUPTED = 130
TERMINATED = 143

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The `pagec` command. Always exits: 0 done, 1 failed, 2 usage, 130 interrupted, 143 terminated."""
    for stream in (sys.stdout, sys.stderr):
        # A pipe or a Windows console may have another encoding; pages and specs are UTF-8.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(TERMINATED))
    try:
        args = None if arguments is None else list(arguments)
        code = cli.main(args=args, prog_name="pagec", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("pagec: interrupted, no page was changed half-way", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader has gone; Python must not complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


@click.group(context_settings=_CONTEXT)
@click.version_option(package_name="pagec", prog_name="pagec")
def cli() -> None:
    """Compile YAML page specs into finished, valid HTML pages with a local language model.

    \b
    pagec compile specs/kettle.yaml            output/kettle.html
    pagec compile site/*.yaml -o public        one page for each spec
    pagec compile - < kettle.yaml > page.html  from stdin to stdout
    pagec check --strict specs/*.yaml          everything that needs no model
    pagec explain E0303                        what a message means
    """


@dataclass(frozen=True, slots=True)
class Screen:
    """How to talk to the user."""

    quiet: bool
    verbose: bool
    color: bool

    def say(self, text: str) -> None:
        if not self.quiet:
            click.echo(text, err=True)

    def report(self, findings: Iterable[Diagnostic], sources: Mapping[str, str]) -> None:
        """Print findings with their lines of `sources` (file name → text); warnings and notes not with --quiet."""
        from pagecompiler.diagnostics import render

        for finding in findings:
            if finding.severity is Severity.ERROR or not self.quiet:
                text = render(finding, sources.get(finding.file or ""), color=self.color)
                click.echo(text, err=True, color=self.color)

    def progress(self) -> PlainProgress | Any:
        from pagecompiler.progress import LiveProgress, PlainProgress, QuietProgress

        if self.quiet:
            return QuietProgress()
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            return LiveProgress(color=self.color)
        return PlainProgress() if self.verbose else QuietProgress()


def _screen_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--no-color", is_flag=True, help="No colours; NO_COLOR in the environment does the same."),
        click.option("-v", "--verbose", is_flag=True, help="Say more, also what llama.cpp prints."),
        click.option("-q", "--quiet", is_flag=True, help="Only errors on stderr."),
    ):
        command = option(command)
    return command


def _screen(options: dict[str, Any]) -> Screen:
    quiet, verbose, no_color = options.pop("quiet"), options.pop("verbose"), options.pop("no_color")
    color = not no_color and not os.environ.get("NO_COLOR") and sys.stderr.isatty()
    return Screen(quiet, verbose, color)


def _build_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that compile and every later build command share."""
    number = click.IntRange
    for option in (
        click.option("--keep-failed", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Keep what the model wrote when it was refused."),
        click.option("--force", is_flag=True, help="Write every block again; the cache is filled, not read."),
        click.option("--no-cache", is_flag=True, help="Neither read nor fill the cache."),
        click.option("--cache-dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     envvar="PAGEC_CACHE_DIR", help="Where fragments are kept.  [default: .pagec at the project root]"),
        click.option("--seed", type=number(0, 2**32 - 1), default=0, show_default=True, help="Seed of the sampler."),
        click.option("--min-p", type=click.FloatRange(0, 1),
                     help="Drop tokens below this share of the likeliest.  [default: 0, for other models 0.05]"),
        click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
                     help="Keep the likeliest tokens up to this probability."),
        click.option("--top-k", type=number(0), default=0, show_default=True, help="Keep this many; 0 keeps all."),
        click.option("--temperature", type=click.FloatRange(0, 2),
                     help="0 takes the likeliest token.  [default: 0 for pagec-mini, 0.2 for other models]"),
        click.option("--attempts", type=number(1, 20), default=3, show_default=True,
                     help="How often a block may be written; 1 means no second try."),
        click.option("--prompts", type=click.Choice(["auto", "compact", "full"]), default="auto", show_default=True,
                     help="Compact prompts are for models trained on them, full ones for all others."),
        click.option("--lanes", type=number(1, 64), default=5, show_default=True, help="Blocks written at once."),
        click.option("--model", metavar="FILE|NAME",
                     help="A GGUF file, pagec-mini, or reference (rules only).  [default: PAGEC_MODEL or pagec-mini]"),
    ):  # fmt: skip
        command = option(command)
    return command


@cli.command("compile", context_settings=_CONTEXT)
@click.argument("specs", nargs=-1, required=True, metavar="SPEC...")
@click.option("-o", "--output", metavar="PATH", help="A file (.html), a folder, or - for stdout.  [default: output/]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object about the build on stdout.")
@_build_options
@_screen_options
def compile_command(specs: tuple[str, ...], output: str | None, as_json: bool, **options: Any) -> None:
    """Compile specs into pages; prints the path of each page.

    SPEC is a YAML file, or - for stdin. A page that is not valid is never written: then the old one stays.

    \b
    pagec compile specs/kettle.yaml
    pagec compile specs/kettle.yaml -o public/index.html
    pagec compile a.yaml b.yaml --json
    """
    from pagecompiler.api import engine_maker
    from pagecompiler.build import EngineSource
    from pagecompiler.outputs import OutputError, plan_outputs

    screen = _screen(options)
    _refuse_folders(specs)
    try:
        outputs = plan_outputs(specs, output, json=as_json)
    except OutputError as error:
        _fail(str(error), error.exit_code)
    model = _model(options["model"])
    screen.say(f"model: {model.name} ({model.source})")
    source = EngineSource(model, engine_maker(model, options["lanes"]))
    results: list[PageResult] = []
    try:
        for spec, target in zip(specs, outputs, strict=True):
            settings = _compile_options(options, model, target.path)
            result = _compile_one(spec, source, settings, screen)
            results.append(result)
            if result.html is not None and not as_json:
                _print_page(result, screen)
    finally:
        source.close()
    if as_json:
        from pagecompiler.report import pages_json

        click.echo(json.dumps(pages_json(results), ensure_ascii=False))
    if not all(result.ok for result in results):
        raise click.exceptions.Exit(1)


def _compile_one(spec: str, source: EngineSource, settings: CompileOptions, screen: Screen) -> PageResult:
    from pagecompiler.build import PageResult, compile_spec
    from pagecompiler.diagnostics import CompileError

    data = _read(spec)
    try:
        loaded = _load(spec, data)
    except CompileError as error:
        screen.report(error.diagnostics, error.sources)
        return PageResult(_shown(spec), None, None, 0.0, source.model.name, None, (), error.diagnostics)
    with screen.progress() as progress:
        result = compile_spec(loaded, source, settings, progress)
    screen.report(result.diagnostics, loaded.sources)
    if result.ok:
        decoded = sum(len(c.tokens) for block in result.blocks for c in block.completions)
        reused = sum(block.state == "reused" for block in result.blocks)
        screen.say(
            f"{_shown(spec)}: {len(result.blocks)} blocks, {reused} reused, {decoded} tokens, {result.seconds:.2f} s"
        )
    elif result.output is None and settings.output is not None and settings.output.exists():
        screen.say(f"{_shown(spec)}: failed, {settings.output} stays as it was")
    return result


def _print_page(result: PageResult, screen: Screen) -> None:
    if result.output is not None:
        click.echo(str(result.output))
        return
    # Not click.echo: the page must come out byte for byte, also on Windows.
    sys.stdout.flush()
    sys.stdout.buffer.write((result.html or "").encode())
    sys.stdout.buffer.flush()


@cli.command("check", context_settings=_CONTEXT)
@click.argument("specs", nargs=-1, metavar="SPEC...")
@click.option("--plan", "show_plan", is_flag=True, help="Show the build groups, their blocks and expected lengths.")
@click.option("--schema", "show_schema", is_flag=True, help="Print the JSON Schema of a spec, for editors.")
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@click.option("--json", "as_json", is_flag=True, help="The findings as one JSON object on stdout.")
@_screen_options
def check_command(
    specs: tuple[str, ...], show_plan: bool, show_schema: bool, strict: bool, as_json: bool, **options: Any
) -> None:
    """Check specs without a model: YAML, schema, links, ids, images.

    \b
    pagec check specs/*.yaml
    pagec check --plan specs/kettle.yaml
    pagec check --schema > pagec.schema.json
    """
    screen = _screen(options)
    if show_schema:
        from pagecompiler.schema import json_schema

        click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return
    if not specs:
        raise click.UsageError("Missing argument 'SPEC...'.")
    _refuse_folders(specs)
    findings: list[Diagnostic] = []
    for spec in specs:
        found, loaded, sources = _check_one(spec)
        found = [finding.as_error() for finding in found] if strict else found
        findings += found
        screen.report(found, sources)
        if loaded is not None and show_plan:
            _print_plan(loaded)
    if as_json:
        from pagecompiler.report import check_json

        click.echo(json.dumps(check_json(findings), ensure_ascii=False))
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    others = len(findings) - errors
    counts = f"{_count(errors, 'error')}, {_count(others, 'warning or note', 'warnings and notes')}"
    screen.say(f"{len(specs)} checked, {counts}")
    if errors:
        raise click.exceptions.Exit(1)


def _check_one(spec: str) -> tuple[list[Diagnostic], LoadedSpec | None, Mapping[str, str]]:
    from pagecompiler.diagnostics import CompileError
    from pagecompiler.lint import lint
    from pagecompiler.style import palette_css

    data = _read(spec)
    try:
        loaded = _load(spec, data)
    except CompileError as error:
        return list(error.diagnostics), None, error.sources
    _, notes = palette_css(loaded)
    return [*loaded.warnings, *notes, *lint(loaded)], loaded, loaded.sources


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _print_plan(loaded: LoadedSpec) -> None:
    from pagecompiler.ids import section_ids
    from pagecompiler.plan import make_plan

    for group in make_plan(loaded.page, section_ids(loaded.page)).groups:
        tokens = sum(block.expected_tokens for block in group.blocks)
        blocks = ", ".join(
            f"{block.name} ({block.kind})" if block.name != block.kind else block.name for block in group.blocks
        )
        click.echo(f"{group.name:<7} about {tokens:>4} tokens  {blocks}")


@cli.command("explain", context_settings=_CONTEXT)
@click.argument("code", required=False)
def explain_command(code: str | None) -> None:
    """Explain a diagnostic code, or list all codes.

    \b
    pagec explain E0303
    pagec explain
    """
    from pagecompiler.codes import CODES
    from pagecompiler.diagnostics import explain

    if code is None:
        for name, entry in CODES.items():
            click.echo(f"{name}  {entry.title}")
        return
    if code.upper() not in CODES:
        from difflib import get_close_matches

        near = get_close_matches(code.upper(), CODES, n=1)
        _fail(f"there is no code `{code}`" + (f", did you mean {near[0]}?" if near else ""), 2)
    click.echo(explain(code.upper()))


@cli.command("prompt", context_settings=_CONTEXT)
@click.argument("spec")
@click.argument("block", required=False)
@click.option("--prompts", type=click.Choice(["compact", "full"]), default="compact", show_default=True,
              help="For models trained on pagec's prompts, or for all others.")
def prompt_command(spec: str, block: str | None, prompts: str) -> None:
    """Show what a model is asked for a block of a spec; without BLOCK list the blocks.

    \b
    pagec prompt specs/kettle.yaml
    pagec prompt specs/kettle.yaml hero
    """
    from pagecompiler.diagnostics import CompileError
    from pagecompiler.ids import section_ids
    from pagecompiler.plan import make_plan
    from pagecompiler.prompts import PromptStyle, block_messages

    style = PromptStyle(prompts)
    screen = Screen(quiet=False, verbose=False, color=sys.stderr.isatty() and not os.environ.get("NO_COLOR"))
    data = _read(spec)
    try:
        loaded = _load(spec, data)
    except CompileError as error:
        screen.report(error.diagnostics, error.sources)
        raise click.exceptions.Exit(1) from None
    plan = make_plan(loaded.page, section_ids(loaded.page), prompts=style)
    blocks = {entry.name: entry for entry in plan.all_blocks}
    if block is None:
        for name, entry in blocks.items():
            click.echo(f"{name}  {entry.kind}")
        return
    if block not in blocks:
        _fail(f"`{spec}` has no block `{block}`; it has {', '.join(blocks)}", 2)
    for message in block_messages(blocks[block].structure, loaded.page, style):
        click.echo(f"[{message.role}]\n{message.content}")


def _read(spec: str) -> bytes:
    """The bytes of a spec. Exits with 2 when there is no such file."""
    if spec == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(spec).read_bytes()
    except OSError as error:
        _fail(f"cannot read the spec `{spec}`: {error.strerror}", 2)


def _load(spec: str, data: bytes) -> LoadedSpec:
    from pagecompiler.spec import load_spec

    return load_spec(spec, data=data)


def _shown(spec: str) -> str:
    return "<stdin>" if spec == "-" else spec


def _refuse_folders(specs: Sequence[str]) -> None:
    for spec in specs:
        if spec != "-" and Path(spec).is_dir():
            _fail(f"`{spec}` is a folder; name the specs in it, for example {spec.rstrip('/')}/*.yaml", 2)


def _model(option: str | None) -> ModelChoice:
    from pagecompiler.engine.base import EngineError
    from pagecompiler.models import ModelNotFoundError, choose_model

    try:
        return choose_model(option)
    except ModelNotFoundError as error:
        _fail(str(error), error.exit_code)
    except EngineError as error:
        _fail(f"{error.message}. {error.hint}".strip(), 2)


def _compile_options(options: dict[str, Any], model: ModelChoice, output: Path | None) -> CompileOptions:
    from pagecompiler.build import CompileOptions
    from pagecompiler.prompts import PromptStyle

    cache = not options["no_cache"]
    given = {name: options[name] for name in ("temperature", "top_k", "top_p", "min_p", "seed")}
    prompts = options["prompts"]
    return CompileOptions(
        output=output,
        attempts=options["attempts"],
        lanes=options["lanes"],
        sampling=replace(model.sampling, **{name: value for name, value in given.items() if value is not None}),
        prompts=None if prompts == "auto" else PromptStyle(prompts),
        read_cache=cache and not options["force"],
        write_cache=cache,
        cache_dir=options["cache_dir"],
        keep_failed=options["keep_failed"],
    )


def _fail(message: str, exit_code: int) -> NoReturn:
    click.echo(f"pagec: error: {message}", err=True)
    raise click.exceptions.Exit(exit_code)


if __name__ == "__main__":
    main()
