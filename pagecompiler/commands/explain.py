"""`pagec explain` and `pagec prompt`: what is behind a message and behind a block."""

from __future__ import annotations

import os
import sys

import click

from pagecompiler.commands.screen import CONTEXT, Screen, fail
from pagecompiler.commands.specs import load, read_spec


@click.command("explain", context_settings=CONTEXT)
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
        fail(f"there is no code `{code}`" + (f", did you mean {near[0]}?" if near else ""), 2)
    click.echo(explain(code.upper()))


@click.command("prompt", context_settings=CONTEXT)
@click.argument("spec")
@click.argument("block", required=False)
@click.option(
    "--prompts",
    type=click.Choice(["compact", "full"]),
    default="compact",
    show_default=True,
    help="For models trained on pagec's prompts, or for all others.",
)
def prompt_command(spec: str, block: str | None, prompts: str) -> None:
    """Show what a model is asked for a block of a spec.

    Without BLOCK the blocks are listed.

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
    data = read_spec(spec)
    try:
        loaded = load(spec, data)
        plan = make_plan(loaded.page, section_ids(loaded.page), prompts=style)
        asked = {entry.name: block_messages(entry.structure, loaded.page, style) for entry in plan.all_blocks}
    except CompileError as error:
        screen.report(error.diagnostics, error.sources)
        raise click.exceptions.Exit(1) from None
    blocks = {entry.name: entry for entry in plan.all_blocks}
    if block is None:
        for name, entry in blocks.items():
            click.echo(f"{name}  {entry.kind}")
        return
    if block not in blocks:
        fail(f"`{spec}` has no block `{block}`; it has {', '.join(blocks)}", 2)
    for message in asked[block]:
        click.echo(f"[{message.role}]\n{message.content}")
