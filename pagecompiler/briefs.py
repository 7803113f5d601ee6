"""Words of the model's own: how many, in which elements, and what they may not say.

Facts come from the spec, so a number, address or mail address in such words must stand in the spec or in the brief.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pagecompiler import schema
from pagecompiler.languages import looks_like
from pagecompiler.slots import count_words

ELEMENTS = frozenset({"p", "li", "strong", "em", "code", "h3", "summary", "a"})
"""Where words of the model's own may stand in a block with a brief."""

FEWEST_WORDS = 4

_WORD_LIMITS = {"hero": 40, "cta": 40, "prose": 220, "features": 160, "steps": 160, "faq": 260}
_TOLERANCE = 1.5

_NUMBER = re.compile(r"\d+(?:[.,:/\u2009\u202f'’]\d+)*")
_ADDRESS = re.compile(r"(?:https?://|www\.)[^\s<>\"']*[^\s<>\"'.,;:!?)]|[^\s<>@]+@[^\s<>@]+\.[a-z]{2,}", re.IGNORECASE)
_HOST = re.compile(r"\b(?:[a-z0-9-]+\.)+(?:com|org|net|info|io|dev|app|example)\b", re.IGNORECASE)
_MARKS = re.compile(r"\*\*|__|```|\]\(|^#{1,6} |</?think", re.MULTILINE)
_PLACEHOLDER = re.compile(r"lorem ipsum|\[(?:your|insert|placeholder|name)\b|\bTODO\b|\bTBD\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WordProblem:
    code: str
    message: str


def word_limit(kind: str) -> int:
    """About how many words a brief of this kind is answered with at most."""
    return _WORD_LIMITS[kind]


def check_own_words(pieces: Sequence[str], kind: str, brief: str, page: schema.PageSpec) -> Iterator[WordProblem]:
    """What is wrong with the words that a model wrote for a brief; `pieces` are its text nodes in order."""
    text = "\n".join(piece.strip() for piece in pieces if piece.strip())
    count = count_words(text)
    if count < FEWEST_WORDS:
        yield WordProblem("E0419", "the brief is not answered")
        return
    limit = word_limit(kind)
    if count > limit * _TOLERANCE:
        yield WordProblem("E0420", f"{count} words for a brief, at most about {limit} were asked for")
    known = "\n".join([brief, *_texts(page)])
    for name, pattern in (("number", _NUMBER), ("address", _ADDRESS), ("address", _HOST)):
        have = set(pattern.findall(known))
        for found in dict.fromkeys(pattern.findall(text)):
            if found not in have:
                yield WordProblem("E0421", f"the {name} `{found[:40]}` is neither in the spec nor in the brief")
    if mark := _MARKS.search(text):
        yield WordProblem("E0422", f"marks instead of markup: `{mark[0]}`")
    if placeholder := _PLACEHOLDER.search(text):
        yield WordProblem("E0422", f"a placeholder: `{placeholder[0]}`")
    if not looks_like(text, page.lang):
        yield WordProblem("E0423", f"the words do not look like `{page.lang}`")


def _texts(value: object) -> Iterator[str]:
    """All texts of a spec, briefs included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, schema.Model):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
