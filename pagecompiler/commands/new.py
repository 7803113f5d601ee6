"""`pagec new`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from pagecompiler.commands.screen import CONTEXT, fail


@click.command("new", context_settings=CONTEXT)
@click.argument("kind", required=False)
@click.option("-o", "--output", metavar="FILE", help="The file to write, or - for stdout.  [default: KIND.yaml]")
def new_command(kind: str | None, output: str | None) -> None:
    """Write a commented spec that compiles, with a section of a kind.

    Without KIND the kinds are listed; `page` has a section of every kind. An image that the spec shows is written
    beside it. Nothing that is there is overwritten.

    \b
    pagec new faq
    pagec new page -o index.yaml
    """
    from pagecompiler import examples

    if kind is None:
        for name in examples.names():
            click.echo(name)
        return
    if kind not in examples.names():
        from difflib import get_close_matches

        near = get_close_matches(kind, examples.names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(examples.names())}"
        fail(f"there is no kind `{kind}`; {hint}", 2)
    if output == "-":
        click.echo(examples.spec(kind), nl=False)
        return
    path = Path(output or f"{kind}.yaml")
    images = {path.parent / source.name: source.read_bytes() for source in examples.files(kind)}
    images = {target: data for target, data in images.items() if not _holds(target, data)}
    for target in (*images, path):
        if os.path.exists(target):
            fail(f"`{target}` is there already and stays as it is", 1)
    try:
        for target, data in (*images.items(), (path, examples.spec(kind).encode())):
            with target.open("xb") as file:
                file.write(data)
    except OSError as error:
        fail(f"cannot write `{error.filename}`: {error.strerror}", 1)
    click.echo(str(path))


def _holds(path: Path, data: bytes) -> bool:
    return os.path.isfile(path) and path.read_bytes() == data
