"""Raw model text → a clean fragment: one parser for all the shapes in which models wrap what was asked for.

Think blocks (balanced, only the closer, only the opener), code fences, whole documents and prose around the
markup are taken off. What is left is the fragment, or nothing. Clean input comes out as it went in.
"""

from __future__ import annotations

import re

_THINK_BLOCK = re.compile(r"<think(?:ing)?\s*>.*?</think(?:ing)?\s*>", re.DOTALL | re.IGNORECASE)
_THINK_CLOSER = re.compile(r"^.*</think(?:ing)?\s*>", re.DOTALL | re.IGNORECASE)
_THINK_OPENER = re.compile(r"<think(?:ing)?\s*>.*\Z", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"^[^\S\n]*(?:`{3,}|~{3,})[^\n]*$", re.MULTILINE)
_INLINE_OPENER = re.compile(r"`{3,}(?:html|css)?", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^>]*>(.*?)(?:</body\s*>|</html\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_DOCUMENT = re.compile(
    r"<!doctype\b[^>]*>|</?html\b[^>]*>|<head\b[^>]*>.*?(?:</head\s*>|(?=<body))", re.DOTALL | re.IGNORECASE
)
_STYLE = re.compile(r"<style\b[^>]*>(.*?)(?:</style\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_LAST_CLOSER = re.compile(r"(.*</[a-zA-Z][a-zA-Z0-9]*\s*>)[^<]*\Z", re.DOTALL)
_FIRST_TAG = re.compile(r"<[a-zA-Z!/]")
_UNFINISHED = re.compile(r"(?:<[^<>]*|\{\{?[0-9]*\}?)\Z")


def clean_fragment(raw: str) -> str:
    """The markup of a block in a model's answer; empty when there is none.

    >>> clean_fragment("Here you are:\\n```html\\n<p>{{1}}</p>\\n```\\nEnjoy!")
    '<p>{{1}}</p>'
    """
    text = _without_thoughts(raw)
    text = _without_fences(text)
    body = _BODY.search(text)
    text = body[1] if body else _DOCUMENT.sub("", text)
    first = _FIRST_TAG.search(text)
    if first is None:
        return ""
    text = text[first.start() :]
    # Words behind the last closing tag go; behind an opening one they are the beginning of something cut.
    last = _LAST_CLOSER.search(text)
    return (last[1] if last else text).strip()


def clean_partial(raw: str) -> str:
    """The markup in an answer that is still being written, without the tag or slot at its end that is not whole.

    >>> clean_partial("<p>{{1}} <a href=\\"{{")
    '<p>{{1}} '
    """
    return _UNFINISHED.sub("", clean_fragment(raw))


def clean_closed(raw: str) -> str:
    """The markup of an answer that ended as its block closed: the last token may hold the beginning of one tag more.

    >>> clean_closed("<p>{{1}}</p>\\n</bo")
    '<p>{{1}}</p>'
    """
    return clean_fragment(clean_partial(raw))


def clean_style(raw: str) -> str:
    """The rules in a model's answer to the style prompt.

    >>> clean_style("<style>.a { gap: 1rem; }</style>")
    '.a { gap: 1rem; }'
    """
    text = _without_fences(_without_thoughts(raw))
    style = _STYLE.search(text)
    return (style[1] if style else text).strip()


def _without_thoughts(text: str) -> str:
    text = _THINK_BLOCK.sub("", text)
    text = _THINK_CLOSER.sub("", text)
    return _THINK_OPENER.sub("", text)


def _without_fences(text: str) -> str:
    if "```" not in text and "~~~" not in text:
        return text
    fences = list(_FENCE.finditer(text))
    if not fences:
        return _INLINE_OPENER.sub("", text)
    start = fences[0].end()
    end = fences[1].start() if len(fences) > 1 else len(text)
    inside = text[start:end]
    # A closing fence alone: what is meant stands before it.
    return inside if inside.strip() else text[: fences[0].start()]
