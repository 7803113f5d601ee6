"""`pagec bench`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pagecompiler.commands.hardware import hardware_of, hardware_options
from pagecompiler.commands.interrupts import INTERRUPTS
from pagecompiler.commands.options import MOST_GUESSED, MOST_LANES_HERE, chosen_model, model_option
from pagecompiler.commands.screen import CONTEXT, Screen, count, fail, make_screen, screen_options
from pagecompiler.commands.specs import load, read_spec, refuse_folders

if TYPE_CHECKING:
    from pagecompiler.bench.arms import Arms
    from pagecompiler.bench.bench import Bench
    from pagecompiler.bench.figures import BenchResult, MachineFigures
    from pagecompiler.engine.types import Decoding
    from pagecompiler.models import ModelChoice
    from pagecompiler.options import CompileOptions
    from pagecompiler.spec import LoadedSpec

INTERRUPTED = 130
_GB = 1e9
_TEXT_WIDTH = 150  # of a result that goes into a file or a pipe


def _numbers(most: int) -> Callable[[click.Context, click.Parameter, str], tuple[int, ...]]:
    """What parses several numbers, as `1,5`; each one counts once."""

    def parse(context: click.Context, parameter: click.Parameter, value: str) -> tuple[int, ...]:
        parts = value.split(",")
        if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= most for part in parts):
            raise click.BadParameter(f"`{value}` is no list of numbers from 1 to {most}, as in 1,5")
        return tuple(dict.fromkeys(int(part) for part in parts))

    return parse


def _bench_options(command: Callable[..., None]) -> Callable[..., None]:
    number = click.IntRange
    command = hardware_options(command)
    for option in (
        click.option("--seed", type=number(0, 2**32 - 1), default=0, show_default=True, help="Seed of the sampler."),
        click.option("--min-p", type=click.FloatRange(0, 1), help="Drop tokens below this share of the likeliest."),
        click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
                     help="Keep the likeliest tokens up to this probability."),
        click.option("--top-k", type=number(0), default=0, show_default=True, help="Keep this many; 0 keeps all."),
        click.option("--temperature", type=click.FloatRange(0, 2),
                     help="0 takes the likeliest token.  [default: 0 for pagec-mini, 0.2 for other models]"),
        click.option("--attempts", type=number(1, 20), default=1, show_default=True,
                     help="How often a block may be written; another try is another text."),
        click.option("--prompts", type=click.Choice(["auto", "compact", "full"]), default="auto", show_default=True,
                     help="Compact prompts are for models trained on them, full ones for all others."),
        click.option("--bandwidth", type=click.FloatRange(0, min_open=True), metavar="GB/S",
                     help="What the memory of the device gives.  [default: measured; on a GPU what plain reads]"),
        click.option("--runs", type=number(1, 1000), default=5, show_default=True,
                     help="Timed rounds; a first one is thrown away."),
        click.option("--pages", type=number(1, 100), default=1, show_default=True,
                     help="Copies of the page that are written at once; lookup finds them in each other."),
        click.option("--lanes", "loads", callback=_numbers(1024), metavar="N,N", default="1,5", show_default=True,
                     help="Loads: with one lane the longest group alone, else the whole page."),
        click.option("--depths", callback=_numbers(MOST_GUESSED), default="1,2,3,4", metavar="N,N", show_default=True,
                     help="How many tokens are guessed at once, each an arm of its own."),
        click.option("--method", "methods", type=click.Choice(["draft", "mtp", "lookup", "auto"]), multiple=True,
                     help="Only this beside plain; may be given several times.  [default: all]"),
        click.option("--draft-device", metavar="NAME", help="The device that the draft model runs on."),
        click.option("--draft-model", metavar="FILE|NAME",
                     help="A smaller model of the same vocabulary.  [default: for pagec-mini pagec-mini-draft]"),
        click.option("--engine", metavar="URL[,URL...]", help="Measure running servers instead of a model here."),
        click.option("--model", metavar="FILE|NAME", help="The model to measure.  [default: what a build takes here]"),
        click.option("--report", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                     help="Write the report as HTML: charts, the lanes over time, every token."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout."),
        click.option("--forget", is_flag=True, help="Measure nothing; drop what was found for this model."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command("bench", context_settings=CONTEXT)
@click.argument("spec", metavar="SPEC", required=False)
@_bench_options
@screen_options
def bench_command(
    spec: str | None, loads: tuple[int, ...], depths: tuple[int, ...], methods: tuple[str, ...], forget: bool,
    as_json: bool, report: Path | None, **options: Any,
) -> None:  # fmt: skip
    """Measure every decode method on a spec, on this machine.

    --method auto starts from the winner from then on, in every build.

    All arms write the same prompts in turn, round by round, beside plain decoding and beside a page by rule. Nothing
    is judged within the noise of the machine. A text that plain decoding would not have written fails the command.

    \b
    pagec bench specs/kettle.yaml
    pagec bench specs/kettle.yaml --depths 1,2 --report bench.html
    pagec bench specs/kettle.yaml --method mtp --lanes 1,5,10 --pages 2
    pagec bench specs/kettle.yaml --engine http://localhost:8000 --lanes 1,5,20 --pages 4
    pagec bench --forget

    Exits with 1 when an arm is defective or no valid page is made, with 130 when it was interrupted: then the figures
    until then are shown.
    """
    from pagecompiler.bench.bench import BenchError
    from pagecompiler.diagnostics import CompileError
    from pagecompiler.engine.base import EngineError

    screen = make_screen(options)
    if spec is None and not forget:
        raise click.MissingParameter(param_type="argument", param_hint="SPEC")
    spec = spec or "-"  # the folder of the config files is that of the spec, else this one
    refuse_folders((spec,))
    options["method"] = "auto"
    model = chosen_model(options, spec, screen)
    if max(loads) > MOST_LANES_HERE and not model.servers:
        fail(f"--lanes: a model here has at most {MOST_LANES_HERE}, more are for --engine", 2)
    arms = _arms(model, methods, depths, options)
    if model.servers:
        _refuse_with_servers()
    if forget:
        _forget(model, arms, screen)
        return
    data = read_spec(spec)
    if report is not None and spec != "-" and report.resolve() == Path(spec).resolve():
        fail(f"--report {report} is the spec; name another file", 2)
    try:
        loaded = load(spec, data)
    except CompileError as error:
        screen.report(error.diagnostics, error.sources)
        raise click.exceptions.Exit(1) from None
    with _progress(screen) as say:
        bench = _bench(loaded, model, arms, loads, report is not None, options, say)
        try:
            result = bench.run()
        except BenchError as error:
            screen.report(error.diagnostics, loaded.sources)
            raise click.exceptions.Exit(1) from None
        except EngineError as error:
            fail(f"{error.message}. {error.hint}".rstrip(". ") + ".", error.exit_code)
    if as_json:
        from pagecompiler.bench.json_report import bench_json

        click.echo(json.dumps(bench_json(result), ensure_ascii=False))
    else:
        _print(result, screen)
    if report is not None:
        _write_report(report, result, screen)
    if result.complete and model.path is not None:
        _remember(bench, result, model, arms, screen)
    if not result.complete:
        raise click.exceptions.Exit(INTERRUPTED)
    if result.defective:
        raise click.exceptions.Exit(1)


def _refuse_with_servers() -> None:
    """Exits with 2 for options that mean nothing there."""
    context = click.get_current_context()
    for name, option in (("methods", "--method"), ("depths", "--depths"), ("bandwidth", "--bandwidth")):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            fail(f"{option} is for a model here; with --engine the server decides how it decodes", 2)


def _arms(model: ModelChoice, methods: tuple[str, ...], depths: tuple[int, ...], options: dict[str, Any]) -> Arms:
    from pagecompiler.bench.arms import choose_arms
    from pagecompiler.engine.types import Method

    name = options["draft_model"]
    draft = model_option(name).path if name is not None else None
    if name is not None and draft is None:
        fail(f"`{name}` cannot draft: it is no model file", 2)
    return choose_arms(model, [Method(method) for method in methods], depths, draft)


def _bench(
    loaded: LoadedSpec, model: ModelChoice, arms: Arms, loads: tuple[int, ...], trace: bool, options: dict[str, Any],
    say: Callable[[str], None],
) -> Bench:  # fmt: skip
    from pagecompiler.bench.arms import decoding_of
    from pagecompiler.bench.bench import Bench, Settings
    from pagecompiler.bench.machine import describe_model
    from pagecompiler.bench.served import ServedEngine
    from pagecompiler.engine.base import Engine
    from pagecompiler.engine.llama.library import native_support
    from pagecompiler.engine.llama.referee import Referee
    from pagecompiler.engine.openai.client import engine_key
    from pagecompiler.engine.openai.endpoints import steady_policy
    from pagecompiler.engine.openai.engine import OpenAIEngine
    from pagecompiler.engine.trimmed import find_trimmed
    from pagecompiler.engine.types import Decoding
    from pagecompiler.engine_maker import EngineMaker

    base = Decoding(draft_device=options["draft_device"], hardware=hardware_of(options))
    machine = _machine(model, options["bandwidth"], base, say)
    trimmed = find_trimmed(model.path, model.id) if model.path is not None else None

    def make(arm: Any, lanes: int) -> Callable[[list[Any]], Engine]:
        if model.servers:
            return lambda demands: serve(lanes)
        decoding = base if model.path is None else decoding_of(arm, base, arms.draft)
        return EngineMaker(model, lanes, decoding, lambda note: None, False, False)

    def serve(lanes: int) -> ServedEngine:
        engine = OpenAIEngine(model.servers, model.name, key=engine_key(), policy=steady_policy(lanes))
        return ServedEngine(engine, model.servers)

    def referee() -> Referee:
        assert model.path is not None and machine.threads is not None
        layers = -1 if native_support().gpu and base.hardware.gpu_layers is None else base.hardware.gpu_layers or 0
        return Referee(model.path, threads=machine.threads, gpu_layers=layers)

    settings = Settings(
        loaded=loaded,
        model=model,
        arms=arms,
        lanes=loads,
        runs=options["runs"],
        pages=options["pages"],
        options=_compile_options(options, model, base),
        trace=trace,
        command=shlex.join(["pagec", *sys.argv[1:]]),
    )
    return Bench(settings, machine, describe_model(model, arms.draft, trimmed), make, referee, say=say)


def _compile_options(options: dict[str, Any], model: ModelChoice, decoding: Decoding) -> CompileOptions:
    from pagecompiler.options import CompileOptions
    from pagecompiler.prompts import PromptStyle

    given = {name: options[name] for name in ("temperature", "top_k", "top_p", "min_p", "seed")}
    prompts = options["prompts"]
    return CompileOptions(
        attempts=options["attempts"],
        sampling=replace(model.sampling, **{name: value for name, value in given.items() if value is not None}),
        prompts=None if prompts == "auto" else PromptStyle(prompts),
        decoding=decoding,
    )


def _machine(
    model: ModelChoice, bandwidth: float | None, decoding: Decoding, say: Callable[[str], None]
) -> MachineFigures:
    from pagecompiler.bench.machine import describe_machine, measure_bandwidth

    machine = describe_machine(model, decoding.hardware.threads)
    if bandwidth is not None:
        return replace(machine, bandwidth=bandwidth * _GB, bandwidth_from="given")
    if machine.gpus or model.path is None or machine.threads is None:
        return machine
    say("how fast memory is read")
    return replace(machine, bandwidth=measure_bandwidth(machine.threads), bandwidth_from="measured")


def _forget(model: ModelChoice, arms: Arms, screen: Screen) -> None:
    from pagecompiler.bench.remember import forget
    from pagecompiler.engine.llama.tuning import Tuning
    from pagecompiler.models import tuning_path

    if model.path is None:
        fail(f"`{model.name}` is no model file: nothing is kept for it", 2)
    gone = forget(Tuning(tuning_path()), model.path, arms.draft)
    screen.say(f"{model.name}: {count(gone, 'verdict')} forgotten")


def _remember(bench: Bench, result: BenchResult, model: ModelChoice, arms: Arms, screen: Screen) -> None:
    from pagecompiler.bench.remember import remember
    from pagecompiler.engine.llama.tuning import Tuning
    from pagecompiler.models import tuning_path

    assert model.path is not None
    kept = remember(result, bench.measured, Tuning(tuning_path()), model.path, arms.draft)
    if kept:
        screen.say("kept for --method auto; `pagec bench --forget` drops it")


def _print(result: BenchResult, screen: Screen) -> None:
    from rich.console import Console

    from pagecompiler.bench.text import bench_text

    terminal = sys.stdout.isatty()
    console = Console(
        file=sys.stdout,
        color_system="auto" if terminal and screen.color else None,
        width=None if terminal else _TEXT_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for part in bench_text(result):
        console.print(part, soft_wrap=isinstance(part, str))


def _write_report(report: Path, result: BenchResult, screen: Screen) -> None:
    """Exits with 1 when it cannot be written."""
    from pagecompiler.files import write_atomic
    from pagecompiler.reporting.bench_report import bench_report

    try:
        write_atomic(report, bench_report(result).encode())
    except OSError as error:
        fail(f"cannot write the report `{report}`: {error.strerror or error}", 1)
    screen.say(f"report: {report}")


@contextmanager
def _progress(screen: Screen) -> Iterator[Callable[[str], None]]:
    """What is told of each run before it begins: a line that changes, with -v lines, else nothing is shown."""
    from rich.console import Console

    def telling(show: Callable[[str], None]) -> Callable[[str], None]:
        def say(line: str) -> None:
            INTERRUPTS.check()
            show(line)

        return say

    if screen.quiet or not sys.stderr.isatty():
        yield telling(screen.say if screen.verbose else lambda line: None)
        return
    console = Console(file=sys.stderr, no_color=not screen.color, highlight=False, markup=False)
    with console.status("") as status:
        yield telling(status.update)
