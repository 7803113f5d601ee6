"""Colours code at link time: the text stays exactly as typed, only spans are added."""

from __future__ import annotations

from collections.abc import Iterator


def highlight(code: str, language: str | None) -> Iterator[tuple[str, str]]:
    """(Pygments class, text) pairs whose texts make up the code; the class is '' for plain text.

    An unknown or absent language gives one plain pair.
    """
    if language is None or not is_known(language):
        yield "", code
        return
    from pygments.lexers import get_lexer_by_name
    from pygments.token import STANDARD_TYPES, Token

    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    pieces: list[tuple[str, str]] = []
    for kind, text in lexer.get_tokens(code):
        while kind not in STANDARD_TYPES:
            kind = kind.parent or Token
        pieces.append(("" if text.isspace() else STANDARD_TYPES[kind], text))
    # A lexer may normalise what it reads; the page must not.
    if "".join(text for _, text in pieces) == code:
        yield from pieces
    else:
        yield "", code


def is_known(language: str) -> bool:
    """Whether Pygments has a lexer of this name."""
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        get_lexer_by_name(language)
    except ClassNotFound:
        return False
    return True
