"""`pagec model trim`."""

from __future__ import annotations

from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import click

from pagecompiler.commands.screen import CONTEXT, fail

MIB = 1 << 20


@click.command("trim", context_settings=CONTEXT)
@click.argument("model", metavar="FILE|NAME")
@click.option("--rows", type=click.IntRange(256), default=32_768, show_default=True, help="Words to keep.")
@click.option(
    "--corpus",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE|DIR",
    help="Specs and texts like those that are to be written; may be given several times.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="[default: beside the model, ending in .mtp-ROWS.gguf]",
)
def trim_command(model: str, rows: int, corpus: tuple[Path, ...], output: Path | None) -> None:
    """Cut a draft head with the words of pages out of a model.

    It is the multi-token-prediction block in a file of its own, whose path is printed. Builds take one that lies beside
    its model. Most of a draft step is the vocabulary head. Words are kept by how often they stand in prompts, in
    fragments and in the corpus; all single bytes stay, and what is missing is mirrored by its nearest word. The target
    model approves every token as before.
    """
    from pagecompiler.engine.base import EngineError
    from pagecompiler.engine.llama.library import Model
    from pagecompiler.engine.shape import read_shape
    from pagecompiler.engine.trimmed import read_trimmed, write_trimmed
    from pagecompiler.models import ModelNotFoundError, file_digest, model_file
    from pagecompiler.prompts import PromptStyle
    from pagecompiler.trim import choose_rows, read_texts, written_texts

    if find_spec("gguf") is None:
        fail("`pagec model trim` needs gguf; pip install 'pagec[trim]'", 1)
    files = sorted(chain.from_iterable(path.rglob("*") if path.is_dir() else [path] for path in corpus))
    specs = [path for path in files if path.suffix in (".yaml", ".yml")]
    others = [path for path in files if path.is_file() and path not in specs]
    try:
        path = model_file(model, "FILE|NAME")[1]
        shape = read_shape(path)
        if shape.mtp_layers and shape.vocabulary <= rows:
            fail(f"`{model}` has {shape.vocabulary:,} words: with --rows {rows} there is nothing to cut", 2)
        tokenizer = Model(path, measure_only=True)
        texts = (file.read_text(encoding="utf-8", errors="replace") for file in others)
        style = PromptStyle.FULL if tokenizer.metadata("pagec.format") is None else PromptStyle.COMPACT
        read = read_texts(specs, style, tokenizer.chat_template() or "")
        kept = choose_rows(tokenizer, rows, chain(written_texts(specs), texts), read)
        tokenizer.close()
        click.echo(f"finding the nearest of {len(kept)} words for all others, which may take some minutes", err=True)
        target = output or path.with_name(f"{path.stem}.mtp-{len(kept)}.gguf")
        partial = target.with_name(f"{target.name}.part")
        sizes = write_trimmed(path, partial, kept, file_digest(path))
        read_trimmed(partial)
        partial.replace(target)
    except ModelNotFoundError as error:
        fail(str(error), error.exit_code)
    except EngineError as error:
        fail(f"{error.message}. {error.hint}".strip(), error.exit_code)
    except OSError as error:
        fail(f"cannot write: {error}", 1)
    less = sizes.before / max(1, sizes.after)
    after = f"{sizes.after / MIB:.1f} MiB with {len(kept)} words"
    click.echo(f"a draft step reads {sizes.before / MIB:.1f} MiB before, {after} ({less:.1f} times less)", err=True)
    click.echo(str(target))
