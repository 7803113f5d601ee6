"""Block → chat messages, from templates/prompts. The texts of a spec are values here, never template source."""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from pagecompiler import schema
from pagecompiler.briefs import word_limit
from pagecompiler.engine.types import Message
from pagecompiler.languages import english_name
from pagecompiler.moods import split_mood
from pagecompiler.resources import template_dir
from pagecompiler.slots import Structure
from pagecompiler.templating import Templates

FORMAT = 1
"""Number of the compact prompts and the vocabulary; a model trained on another number is refused."""


class PromptStyle(StrEnum):
    """Compact prompts are for models trained on them; full ones explain the task to any other model."""

    COMPACT = "compact"
    FULL = "full"


def block_messages(
    structure: Structure, page: schema.PageSpec | None = None, style: PromptStyle = PromptStyle.COMPACT
) -> tuple[Message, ...]:
    """The messages that ask for one block or for the style; the first is the same for all blocks of all pages.

    Only full prompts need the page: its mood, and its texts where a brief asks for words of the model's own.
    Raises CompileError when a template cannot be used.
    """
    values: dict[str, object] = {"description": structure.description, "kind": structure.kind}
    if style is PromptStyle.FULL and page is not None:
        values |= {"mood": page.theme.mood if structure.kind != "style" else None, "brief": structure.brief}
        if structure.brief is not None:
            values |= {
                "page": page,
                "language": english_name(page.lang),
                "words": word_limit(structure.kind),
                "own_texts": [(slot.number, slot.values[0]) for slot in structure.slots if slot.image is None],
            }
    templates = _templates(style)
    user = templates.render("block.j2", **values)
    return (Message("system", templates.render("instructions.j2")), Message("user", user))


def repair_message(problems: tuple[str, ...]) -> str:
    """What a model is told after its answer was refused. Raises CompileError when the template cannot be used."""
    return _templates(PromptStyle.FULL).render("repair.j2", problems=problems)


def style_structure(theme: schema.Theme, style: PromptStyle = PromptStyle.COMPACT) -> Structure:
    """The description of a page's style: font and mood. Colours and mode belong to the compiler.

    A compact prompt has only the mood words that its models were trained on.
    """
    lines = ["kind: style", f"font: {theme.font}"]
    mood = theme.mood if style is PromptStyle.FULL else ", ".join(split_mood(theme.mood or "")[0])
    if mood:
        lines.append(f"mood: {mood}")
    return Structure("style", tuple(lines), ())


@cache
def _templates(style: PromptStyle) -> Templates:
    # Plain text, no HTML: autoescaping would change the descriptions.
    folder = template_dir() / "prompts" / style.value
    return Templates(folder, autoescape=False, trim_blocks=True, lstrip_blocks=True)
