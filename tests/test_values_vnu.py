"""What the loader lets through is what the Nu Html Checker lets through: links, ids, languages, characters."""

from __future__ import annotations

import html
import random
import unicodedata
from pathlib import Path

import pytest
from pydantic_core import PydanticCustomError

from pagecompiler import langtag, values
from pagecompiler.raw_spec import is_private
from pagecompiler.yaml_source import bad_character
from tests.referees import vnu

PIECES = (
    "https:// http:// mailto: tel: / # ? & = %20 %C3%A9 é 価 a b.org 1 - _ . .. ~ ! $ ' ( ) * + , ; : @ 🙂 xn-- \u0301 ß "
    "0x1 999 example.org example.org:80 ٣ \u0e33 % ﬀ 。 Ａ"
)


def accepted_links() -> list[str]:
    draw = random.Random(7)
    pieces = PIECES.split(" ")
    found = set()
    while len(found) < 1500:
        text = unicodedata.normalize("NFC", "".join(draw.choices(pieces, k=draw.randint(1, 7))))
        try:
            found.add(values.href(text))
        except PydanticCustomError:
            continue
    return sorted(found)


def accepted_texts() -> list[str]:
    found = []
    for code in [
        *range(0x20, 0x3000),
        *range(0xA000, 0xD800, 9),
        *range(0xF900, 0x1_0000),
        *range(0x1_0000, 0x1_E000, 9),
    ]:
        text = unicodedata.normalize("NFC", chr(code))
        unknown = unicodedata.category(chr(code)) == "Cn"  # newer Unicode than this Python knows
        if unknown or bad_character(text) or is_private(text) or not text.strip() or values.starts_combining(text):
            continue
        found.append(text)
    return found


@pytest.mark.browser
def test_nothing_that_is_accepted_gives_a_message(tmp_path: Path) -> None:
    tags = [
        "en",
        "zh-Hant-TW",
        "es-419",
        "ca-valencia",
        "de-1996",
        "en-Latn",
        "ja-Jpan",
        "haw",
        "en-u-co-phonebk",
        "uz-Arab",
    ]
    assert [tag for tag in tags if langtag.problem(tag)] == []
    body = [f'<p><a href="{html.escape(link)}">x</a></p>' for link in accepted_links()]
    body += [f'<p lang="{langtag.canonical(tag)}">x</p>' for tag in tags]
    body += [f'<p title="{html.escape(text)}">{html.escape(text)}</p>' for text in accepted_texts()]
    page = tmp_path / "page.html"
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title></head><body>'
    # All scripts of Unicode follow: the checker guesses the language of the page by what there is most of.
    body.insert(0, f"<p>{'The words of this page are those of plain and simple English. ' * 1000}</p>")
    page.write_text("\n".join([head, *body, "</body></html>"]), encoding="utf-8")
    assert vnu([page]) == {page: []}
