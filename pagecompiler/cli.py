"""The command line: puts the commands together and turns what happens into an exit code."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

import click

from pagecompiler.commands.batch import batch_command
from pagecompiler.commands.bench import bench_command
from pagecompiler.commands.check import check_command
from pagecompiler.commands.compile import compile_command
from pagecompiler.commands.doctor import doctor_command
from pagecompiler.commands.explain import explain_command, prompt_command
from pagecompiler.commands.interrupts import INTERRUPTS
from pagecompiler.commands.model import model_group
from pagecompiler.commands.new import new_command
from pagecompiler.commands.screen import CONTEXT
from pagecompiler.commands.watch import watch_command

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

INTERRUPTED = 130
_STDOUT = "standard output"


class _Stdout(io.FileIO):
    """Standard output as a file whose errors have its name; those of a reader that has gone need none."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            error.filename = _STDOUT
            raise


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The `pagec` command. Always exits: 0 done, 1 failed, 2 usage, 130 interrupted, 143 terminated."""
    INTERRUPTS.install()
    try:
        _prepare_streams()
        args = None if arguments is None else list(arguments)
        code = cli.main(args=args, prog_name="pagec", standalone_mode=False)
        if code is None:  # it ended by itself; `watch` ends with 0 after Ctrl-C
            INTERRUPTS.check()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("pagec: interrupted, no page was changed half-way", err=True)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _forget_output()
        sys.exit(1)
    except OSError as error:
        if error.filename != _STDOUT:
            raise
        click.echo(f"pagec: error: cannot write to {_STDOUT}: {error.strerror}", err=True)
        _forget_output()
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _prepare_streams() -> None:
    """Raises OSError when there is no standard output."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    out = sys.stdout
    if out is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), _STDOUT)
    if isinstance(getattr(out.buffer, "raw", out.buffer), io.FileIO):
        raw = _Stdout(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), line_buffering=bool(out.line_buffering))
    for stream in (sys.stdout, sys.stderr):
        # A pipe or a Windows console may have another encoding; pages and specs are UTF-8.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _forget_output() -> None:
    """Python must not complain when it flushes at exit."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="pagec", prog_name="pagec")
def cli() -> None:
    """Compile YAML page specs into finished, valid HTML pages with a local language model.

    \b
    pagec compile specs/kettle.yaml            output/kettle.html
    pagec compile site/*.yaml -o public        one page for each spec
    pagec batch site -o public                 every spec under a folder
    pagec compile - < kettle.yaml > page.html  from stdin to stdout
    pagec check --strict specs/*.yaml          everything that needs no model
    pagec bench specs/kettle.yaml              which way of decoding is fastest here
    pagec explain E0303                        what a message means
    """


for command in (
    compile_command,
    batch_command,
    watch_command,
    bench_command,
    new_command,
    check_command,
    explain_command,
    prompt_command,
    model_group,
    doctor_command,
):
    cli.add_command(command)


if __name__ == "__main__":
    main()
