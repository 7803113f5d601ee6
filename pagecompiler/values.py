"""What one value of a spec must be. Each check returns the value or raises with code, message and hint."""

from __future__ import annotations

import re
import unicodedata

from pydantic_core import PydanticCustomError

from pagecompiler import hrefs, inline, langtag
from pagecompiler.numbers import parse_number

# Characters that compose with the one before them though their combining class is 0
# (NFC_Quick_Check=Maybe).
_MAYBE = frozenset(map(chr, [*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)])) | frozenset(
    "\u09be\u09d7\u0b3e\u0b56\u0b57\u0bbe\u0bd7\u0cc2\u0cd5\u0cd6\u0d3e\u0d57\u0dcf\u0ddf\u102e\u1b35"
    "\U00011127\U0001133e\U00011357\U000114b0\U000114ba\U000114bd\U000115af\U00011930"
)
_COLOUR = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
_NOT_PATH = re.compile(r'[\s"<>\\^`{|}\[\]?#%:\x00-\x20\x7f-\xa0]')


def fail(code: str, message: str, hint: str = "", *, part: str = "") -> PydanticCustomError:
    """The error that carries a diagnostic through pydantic; `part` is the piece of the value at fault."""
    # pydantic formats the template: braces of a user's text must not be seen.
    return PydanticCustomError("pagec", "{message}", {"code": code, "message": message, "hint": hint, "part": part})


def starts_combining(value: str) -> bool:
    """Whether a text begins with a character that combines with the one before it."""
    first = value.lstrip()[:1]
    return bool(first) and (unicodedata.combining(first) != 0 or first in _MAYBE)


def text(value: str) -> str:
    if not value.strip():
        raise fail("E0202", "the text is empty")
    if starts_combining(value):
        raise fail("E0119", f"the text begins with the combining mark U+{ord(value.lstrip()[0]):04X}")
    return value


def optional_text(value: str) -> str:
    """A text that may be empty: a table cell, `alt`."""
    return text(value) if value.strip() else ""


def markdown(value: str) -> str:
    text(value)
    if not inline.plain_text(value).strip():
        raise fail("E0202", "the text has marks but no words")
    for run in inline.text_runs(value):
        if starts_combining(run):
            raise fail("E0119", "the text behind a mark begins with a combining mark")
    for link in inline.links(value):
        target = link.href or ""
        if not target:
            raise fail("E0310", "the link has no address")
        if not inline.words(link.children).strip():
            raise fail("E0310", f"the link to `{target}` has no words", part=target)
        if link.title is not None:
            raise fail(
                "E0310", f"the link to `{target}` has a title, which would not be shown", "delete it", part=link.title
            )
        href(target)
    return value


def href(value: str) -> str:
    text(value)
    if problem := hrefs.check(value):
        code = "E0301" if hrefs.refused(value) else "E0302"
        meant = hrefs.meant(value)
        raise fail(code, problem, f'write "{meant}"' if meant else "", part=value)
    return value


def address(value: str) -> str:
    href(value)
    if hrefs.classify(value) != "web":
        raise fail("E0220", "`url` must begin with https:// or http://")
    return value


def source(value: str) -> str:
    """A relative path of a file, with `/`; whether the file is there is seen later."""
    text(value)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:|//", value):
        raise fail("E0307", "an image must be a file beside the spec, not a remote address")
    if value.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", value):
        raise fail("E0307", "the path of an image must be relative")
    if bad := _NOT_PATH.search(value):
        shown = "a space" if bad[0] == " " else f"the character U+{ord(bad[0]):04X} ({bad[0]!r})"
        raise fail("E0302", f"the path of an image may not have {shown}", "rename the file")
    return value


def colour(value: str) -> str:
    if not _COLOUR.fullmatch(value):
        raise fail("E0210", f"`{value}` is not a colour of the form #rgb or #rrggbb")
    return value


def identifier(value: str) -> str:
    # ids.py needs the schema, the schema needs this.
    from pagecompiler.ids import problem

    text(value)
    if found := problem(value):
        raise fail(*found)
    return value


def language(value: str) -> str:
    """Gives the canonical form: de-AT, zh-Hans."""
    if problem := langtag.problem(value):
        raise fail("E0211", problem)
    return langtag.canonical(value)


def number(value: str) -> str:
    text(value)
    parsed = parse_number(value)
    if parsed is None:
        raise fail("E0213", f"`{value}` is not a number")
    if parsed < 0:
        raise fail("E0214", f"`{value}` is negative")
    return value
