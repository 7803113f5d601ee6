"""Block → chat messages, from templates/prompts. The texts of a spec are values here, never template source."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from pagecompiler import schema
from pagecompiler.engine.types import Message
from pagecompiler.moods import split_mood
from pagecompiler.resources import template_dir
from pagecompiler.slots import Structure

FORMAT = 1
"""Number of the prompts and the vocabulary; a model trained on another number is refused."""


def block_messages(structure: Structure) -> tuple[Message, ...]:
    """The messages that ask for one block or for the style; the first is the same for all blocks of all pages."""
    user = _template("block.j2").render(description=structure.description)
    return (Message("system", _template("instructions.j2").render()), Message("user", user))


def style_structure(theme: schema.Theme) -> Structure:
    """The description of a page's style: font and mood words. Colours and mode belong to the compiler."""
    lines = ["kind: style", f"font: {theme.font}"]
    known, _ = split_mood(theme.mood or "")
    if known:
        lines.append(f"mood: {', '.join(known)}")
    return Structure("style", tuple(lines), ())


@cache
def _template(name: str) -> Template:
    folder = template_dir() / "prompts" / "compact"
    # Plain text, no HTML: autoescaping would change the descriptions.
    environment = Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, autoescape=False)
    return environment.get_template(name)
