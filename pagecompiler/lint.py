"""Findings about a spec that need neither a model nor a page: warnings, and briefs that the model cannot write."""

from __future__ import annotations

from collections.abc import Iterator

from pagecompiler import schema
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.highlight import is_known
from pagecompiler.moods import MAX_MOOD_WORDS, MOOD_WORDS, split_mood
from pagecompiler.prompts import PromptStyle
from pagecompiler.slots import Path
from pagecompiler.spec import LoadedSpec


def lint(
    loaded: LoadedSpec, model: str | None = None, prompts: PromptStyle = PromptStyle.COMPACT
) -> Iterator[Diagnostic]:
    """What to say of a spec before anything is decoded. Without the name of a model its briefs are not looked at."""
    yield from _shared_image(loaded)
    yield from _languages(loaded)
    if prompts is PromptStyle.COMPACT:
        yield from _mood(loaded)
        if model is not None:
            yield from _briefs(loaded, model)


def _shared_image(loaded: LoadedSpec) -> Iterator[Diagnostic]:
    page = loaded.page
    if page.image is not None and page.url is None:
        message = f"without `url` other sites cannot find the image `{page.image.src}`"
        yield loaded.diagnostic("W0315", message, ("image", "src"))


def _mood(loaded: LoadedSpec) -> Iterator[Diagnostic]:
    _, unknown = split_mood(loaded.page.theme.mood or "")
    if unknown:
        words = ", ".join(f"`{word}`" for word in unknown)
        hint = f"up to {MAX_MOOD_WORDS} of: {', '.join(MOOD_WORDS)}"
        yield loaded.diagnostic("W0520", f"mood words that pagec-mini leaves out: {words}", ("theme", "mood"), hint)


def _languages(loaded: LoadedSpec) -> Iterator[Diagnostic]:
    for index, section in enumerate(loaded.page.sections):
        if isinstance(section, schema.Code) and section.language and not is_known(section.language):
            message = f"no colours for the language `{section.language}`, its code stays plain"
            yield loaded.diagnostic("W0418", message, ("sections", index, "language"))


def _briefs(loaded: LoadedSpec, model: str) -> Iterator[Diagnostic]:
    places: list[tuple[Path, str | None]] = [(("hero", "brief"), loaded.page.hero.brief)]
    places += [
        (("sections", index, "brief"), getattr(section, "brief", None))
        for index, section in enumerate(loaded.page.sections)
    ]
    for path, brief in places:
        if brief is not None:
            yield loaded.diagnostic("E0701", f"`{model}` chooses markup and style, it writes no text", path)
