"""How commands talk to the user: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click

from pagecompiler.codes import Severity

if TYPE_CHECKING:
    from pagecompiler.batch_progress import BatchProgress
    from pagecompiler.diagnostics import Diagnostic
    from pagecompiler.engine.types import EngineStats
    from pagecompiler.progress import PlainProgress
    from pagecompiler.results import PageResult

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@dataclass(frozen=True, slots=True)
class Screen:
    """How to talk to the user."""

    quiet: bool
    verbose: bool
    color: bool

    def say(self, text: str) -> None:
        if not self.quiet:
            click.echo(text, err=True)

    def error(self, text: str) -> None:
        """Say what went wrong, also with --quiet."""
        click.echo(f"pagec: error: {text}", err=True)

    def report(self, findings: Iterable[Diagnostic], sources: Mapping[str, str]) -> None:
        """Print findings with their lines of `sources` (file name → text); warnings and notes not with --quiet."""
        from pagecompiler.diagnostics import render

        for finding in findings:
            if finding.severity is Severity.ERROR or not self.quiet:
                text = render(finding, sources.get(finding.file or ""), color=self.color)
                click.echo(text, err=True, color=self.color)

    def say_spent(self, spent: EngineStats | None) -> None:
        """Say what the engine did, if it decoded anything."""
        from pagecompiler.progress import spent_line

        if spent is not None and spent.verify_passes:
            self.say(spent_line(spent))

    def explain(self, result: PageResult) -> None:
        """Say why each block of a page was built, reused or to be built (`--why`)."""
        if result.plan is None and result.ok:
            click.echo(f"{result.spec}: nothing that the page was made of has changed", err=True)
        for block in result.blocks:
            state = "failed, to be built since" if block.state == "failed" else f"{block.state}:"
            if block.why:
                click.echo(f"{result.spec}: {block.block.name} {state} {block.why}", err=True)

    def progress(self) -> PlainProgress | Any:
        from pagecompiler.progress import LiveProgress, PlainProgress, QuietProgress

        if self.quiet:
            return QuietProgress()
        if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
            return LiveProgress(color=self.color)
        return PlainProgress() if self.verbose else QuietProgress()

    def batch_progress(self) -> BatchProgress:
        from pagecompiler.batch_progress import BatchProgress

        return BatchProgress(live=sys.stderr.isatty() and os.environ.get("TERM") != "dumb", quiet=self.quiet)


def screen_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--no-color", is_flag=True, help="No colours; NO_COLOR in the environment does the same."),
        click.option("-v", "--verbose", is_flag=True, help="Say more, also what llama.cpp prints."),
        click.option("-q", "--quiet", is_flag=True, help="Only errors on stderr."),
    ):
        command = option(command)
    return command


def make_screen(options: dict[str, Any]) -> Screen:
    quiet, verbose, no_color = options.pop("quiet"), options.pop("verbose"), options.pop("no_color")
    color = not no_color and not os.environ.get("NO_COLOR") and sys.stderr.isatty()
    return Screen(quiet, verbose, color)


def fail(message: str, exit_code: int) -> NoReturn:
    """Say one thing on stderr and exit."""
    click.echo(f"pagec: error: {message}", err=True)
    raise click.exceptions.Exit(exit_code)


def count(number: int, one: str, many: str = "") -> str:
    """A number with its noun: `1 error`, `2 errors`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
