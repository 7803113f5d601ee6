"""The ids of a page: slugs, explicit ids, reserved ids, and what an anchor may point to."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence

from pagecompiler import schema
from pagecompiler.hrefs import anchor_target

ALWAYS_DEFINED = frozenset({"main", "top"})
RESERVED = ALWAYS_DEFINED | {"nav", "hero", "footer", "header", "style", "skip", "page"}

_HEADING = "-heading"


def slug(text: str) -> str:
    """NFC, lower case, letters and digits of any script, `-` between; '' if nothing is left.

    >>> slug("Why this kettle?"), slug("価格 (税込)"), slug("!")
    ('why-this-kettle', '価格-税込', '')
    """
    # Not \w: it leaves out the combining marks that are parts of words in many scripts.
    folded = unicodedata.normalize("NFC", text).lower()
    words = "".join(char if unicodedata.category(char)[0] in "LMN" else " " for char in folded).split()
    return unicodedata.normalize("NFC", "-".join(words))


def heading_id(section_id: str) -> str:
    """The id of the heading of a section."""
    return section_id + _HEADING


def problem(identifier: str) -> tuple[str, str] | None:
    """Code and message for an explicit id that cannot be used, or None."""
    kinds = [unicodedata.category(char)[0] for char in identifier]
    if kinds[0] not in "LN" or not all(
        kind in "LMN" or char in "-_." for kind, char in zip(kinds, identifier, strict=True)
    ):
        return "E0305", f"`{identifier}` is not an id"
    if identifier.casefold() in RESERVED:
        return "E0306", f"the id `{identifier}` is used by the compiler"
    return None


def section_ids(page: schema.PageSpec) -> list[str]:
    """The id of every section, in order. Explicit ids stay; slugs get `-2`, `-3`, … where one is taken."""
    return allocate([(section.id, section.heading) for section in page.sections])


def allocate(sections: Sequence[tuple[str | None, str]]) -> list[str]:
    """Ids for (explicit id, heading) pairs, unique whatever the case, also against the headings' ids.

    >>> allocate([(None, "Prices"), ("prices", "All"), (None, "…")])
    ['prices-2', 'prices', 'section-3']
    """
    taken = set(RESERVED)
    for explicit, _ in sections:
        if explicit is not None:
            taken |= _both(explicit)
    result = []
    # Where counting goes on: a thousand equal headings are not counted from 2 a thousand times.
    last: dict[str, int] = {}
    for position, (explicit, heading) in enumerate(sections, 1):
        if explicit is not None:
            result.append(explicit)
            continue
        base = slug(heading) or f"section-{position}"
        number = last.get(base, 1)
        name = base if number == 1 else f"{base}-{number}"
        while _both(name) & taken:
            number += 1
            name = f"{base}-{number}"
        last[base] = number
        taken |= _both(name)
        result.append(name)
    return result


def defined(href: str, identifiers: Collection[str]) -> bool:
    """Whether an anchor points to one of the page's ids, `#top`, `#main` or just `#`."""
    target = unicodedata.normalize("NFC", anchor_target(href))
    return not target or target in ALWAYS_DEFINED or target in identifiers


def _both(identifier: str) -> set[str]:
    return {identifier.casefold(), heading_id(identifier).casefold()}
