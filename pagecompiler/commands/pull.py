"""`pagec model pull`."""

from __future__ import annotations

import sys
from typing import Any

import click

from pagecompiler.commands.screen import CONTEXT, fail, make_screen, screen_options


@click.command("pull", context_settings=CONTEXT)
@click.argument("name", required=False, metavar="[NAME|hf:OWNER/REPO[:QUANT]]")
@click.option("--draft", is_flag=True, help="Pull the draft model qwen3.5-0.8b (with NAME: as well).")
@screen_options
def pull_command(name: str | None, draft: bool, **options: Any) -> None:
    """Download a model; what broke off goes on. Prints the path of each file.

    Without a name it is qwen3.5-9b: unsloth/Qwen3.5-9B-MTP-GGUF at Q4_K_M, 5.6 GB, which is then the default of every
    build. Other names are qwen3.5-4b, qwen3.5-2b and, for drafts, qwen3.5-0.8b.
    HF_TOKEN, HF_ENDPOINT and HF_HUB_OFFLINE mean what they mean to huggingface_hub; PAGEC_MODELS is the folder.

    \b
    pagec model pull
    pagec model pull hf:unsloth/Qwen3.5-4B-MTP-GGUF:Q8_0
    pagec model pull --draft
    """
    from pagecompiler.hub import PullError, check_pulled, parse_name, pull
    from pagecompiler.model_store import DEFAULT_NAME, DRAFT_NAME

    screen = make_screen(options)
    names = [name] if name is not None else [] if draft else [DEFAULT_NAME]
    try:
        for each in [parse_name(entry) for entry in [*names, *([DRAFT_NAME] if draft else [])]]:
            stored = pull(each, screen.say, progress=sys.stderr.isatty() and not screen.quiet)
            shape = check_pulled(stored)
            block = "with an MTP block" if shape.mtp_layers else "without an MTP block"
            screen.say(f"{stored.name}: {shape.architecture}, {stored.size / 1e9:.2f} GB, {block}")
            click.echo(str(stored.path))
    except PullError as error:
        fail(f"{error}; {error.hint}" if error.hint else str(error), error.exit_code)
