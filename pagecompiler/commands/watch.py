"""`pagec watch`."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import nullcontext
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
from pagecompiler.outputs import DEFAULT_FOLDER

if TYPE_CHECKING:
    from pagecompiler.audience import Audience
    from pagecompiler.build import EngineSource, PageResult
    from pagecompiler.engine.types import Decoding
    from pagecompiler.models import ModelChoice
    from pagecompiler.orders import Orders
    from pagecompiler.serve.server import Server

INTERRUPTED = 130


@click.command("watch", context_settings=CONTEXT)
@click.argument("target", metavar="SPEC|DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    metavar="PATH",
    show_default=True,
    help="A folder, or for one spec also a file (.html).",
)
@click.option(
    "--debounce",
    type=click.IntRange(0, 10_000),
    default=80,
    show_default=True,
    metavar="MS",
    help="How long it must be quiet after a save.",
)
@click.option("--poll", is_flag=True, help="Look every half second: for file systems that tell of no changes.")
@click.option("--clear", is_flag=True, help="Clear the screen before each rebuild.")
@click.option("--serve", is_flag=True, help="Show the page and how it is written in a browser, on this machine only.")
@click.option("--open", "open_browser", is_flag=True, help="With --serve: open the browser.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    metavar="N",
    help="With --serve: the port, 0 for any.  [default: 8321 or a free one]",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each rebuild on stdout.")
@build_options
@screen_options
def watch_command(
    target: Path,
    output: Path,
    debounce: int,
    poll: bool,
    clear: bool,
    serve: bool,
    open_browser: bool,
    port: int | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Compile, and compile again on every save.

    The model is loaded once; Ctrl-C ends it. Images, _site.yaml and templates count as well. A spec that is broken
    leaves the last good page where it is. With --serve a browser shows the page as it is written, and the spec beside
    the lanes that write it.

    \b
    pagec watch page.yaml
    pagec watch page.yaml --serve --open
    pagec watch site -o public
    pagec watch /mnt/share/page.yaml --poll
    """
    from pagecompiler.api import engine_maker
    from pagecompiler.audience import Audience
    from pagecompiler.build import EngineSource
    from pagecompiler.changes import Changes
    from pagecompiler.orders import Orders
    from pagecompiler.outputs import OutputError, plan_outputs
    from pagecompiler.watch import Watch, output_places

    screen = make_screen(options)
    if not serve and (open_browser or port is not None):
        fail("--open and --port are for --serve", 2)
    folder = os.path.isdir(target)
    if not os.path.exists(target):
        fail(f"there is no spec and no folder `{target}`", 2)
    if folder and output.suffix.lower() in (".html", ".htm"):
        fail(f"`{output}` is a page, but the specs of a folder need a folder", 2)
    try:
        page = output if folder else plan_outputs([str(target)], str(output))[0].path
    except OutputError as error:
        fail(str(error), error.exit_code)
    if page is None:
        fail("watch cannot write to standard output", 2)
    model = chosen_model(options, str(target), screen)
    decoding = decoding_options(options)
    settings = compile_options(options, model, decoding, page)
    changes = Changes(debounce_seconds=debounce / 1000, ignored=output_places(target, page), poll=poll,
                      ended=lambda: INTERRUPTS.received, say=screen.say)  # fmt: skip
    orders = Orders(changes.wake)
    audience, server = _server(target, model, decoding, orders, port) if serve else (Audience(), None)

    def say(line: str) -> None:
        screen.say(line)
        audience.say(line)

    maker = engine_maker(model, options["lanes"], decoding, say, screen.verbose, child=True)
    source = EngineSource(model, maker, around=audience.observe)
    report = _Report(screen, source, why=options["why"], as_json=as_json, clear=clear)
    watch = Watch(
        target, source, settings, changes, orders=orders, told=report.add, say=screen.say, audience=audience
    )  # fmt: skip
    try:
        with server or nullcontext():
            if server is not None:
                screen.say(f"build view: {server.url}")
                screen.say(f"preview: {server.url}preview")
            if server is not None and open_browser:
                click.launch(server.url)
            watch.run()
            INTERRUPTS.check()
    except KeyboardInterrupt:
        raise click.exceptions.Exit(0 if watch.good_pages else INTERRUPTED) from None
    finally:
        changes.close()
        source.close()


def _server(
    target: Path, model: ModelChoice, decoding: Decoding, orders: Orders, port: int | None
) -> tuple[Audience, Server]:  # fmt: skip
    """What follows the watch and the server that shows it; exits with 2 when it cannot be started."""
    try:
        from pagecompiler.serve.server import PortTakenError, Server, bind
    except ModuleNotFoundError as error:
        fail(f"--serve needs the Python package {error.name}; pip install 'pagec[serve]'", 2)
    from pagecompiler.serve.board import Board
    from pagecompiler.serve.methods import method_choices

    board = Board(target if target.is_dir() else None, model.name, decoding.method.value)
    try:
        return board, Server(bind(port), board, orders, method_choices(model, decoding))
    except PortTakenError as error:
        fail(str(error), 2)


class _Report:
    """One line for each page that was built again."""

    def __init__(self, screen: Screen, source: EngineSource, *, why: bool, as_json: bool, clear: bool) -> None:
        self._screen = screen
        self._source = source
        self._why = why
        self._as_json = as_json
        self._clear = clear

    def add(self, result: PageResult, sources: Mapping[str, str]) -> None:
        from pagecompiler.report import page_json, pages_json

        if self._clear:
            click.clear()
        self._screen.report(result.diagnostics, sources)
        if self._why:
            self._screen.explain(result)
        spent = self._source.spent()
        if self._as_json:
            click.echo(json.dumps(pages_json([result], spent), ensure_ascii=False))
            return
        groups = page_json(result)["groups"]
        now = time.strftime("%H:%M:%S")
        if not result.ok:
            self._screen.say(f"{now} {result.spec}: failed, the page stays as it was")
        elif not groups:
            click.echo(f"{now} {result.output}: unchanged")
        else:
            reused = sum(group["state"] == "reused" for group in groups)
            tokens = sum(group["tokens"] for group in groups)
            share = f"{reused} of {len(groups)} groups reused"
            click.echo(f"{now} {result.output}: {result.seconds:.2f} s, {share}, {tokens} tokens")
            self._screen.say_spent(spent)
