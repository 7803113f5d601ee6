"""Any text as one that can be shown: nothing of it acts on the text around it, and nothing is invisible."""

from __future__ import annotations

import re
import unicodedata

from pagecompiler.values import starts_combining

_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_SIGNS = {"\n": "↵", "\t": "⇥", "\r": "␍", " ": "␣"}
_DOTTED_CIRCLE = "◌"
_LINE_END = re.compile(r"[\t\r\n]+")


def visible(text: str, *, longest: int, spaces: bool = False) -> str:
    """A text of a model: control, format (as of writing direction) and private characters are named, the rest of more
    than `longest` characters is left out; spaces stay unless there is nothing else, or `spaces` asks for signs.

    >>> visible("a\\n\\u202eb", longest=9)
    'a↵⟨U+202E⟩b'
    """
    cut = len(text) > longest
    signs = spaces or not text.strip(" ")
    shown = "".join(_sign(character, signs) for character in text[:longest])
    shown = unicodedata.normalize("NFC", shown) + ("…" if cut else "")
    if starts_combining(shown):
        shown = _DOTTED_CIRCLE + shown
    return shown or "⟨nothing⟩"


def plain(text: str) -> str:
    """A name or a message: as `visible`, on one line and with its spaces.

    >>> plain("two\\nlines\\u202e")
    'two lines⟨U+202E⟩'
    """
    shown = "".join(_sign(character, False) for character in _LINE_END.sub(" ", text))
    shown = unicodedata.normalize("NFC", shown)
    return _DOTTED_CIRCLE + shown if starts_combining(shown) else shown


def _sign(character: str, signs: bool) -> str:
    if character == " " and not signs:
        return character
    if character in _SIGNS:
        return _SIGNS[character]
    if unicodedata.category(character) in _UNSHOWN:
        return f"⟨U+{ord(character):04X}⟩"
    return character
