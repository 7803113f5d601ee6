"""What a language asks of a page: its direction, and the compiler's own words in it."""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

from pagecompiler.resources import data_path

_RTL_LANGUAGES = frozenset("ar arc ckb dv fa he iw ji ks ku nqo ps sd syr ug ur yi".split())
_TRADITIONAL_REGIONS = frozenset("tw hk mo".split())
_RTL_SCRIPTS = frozenset("adlm arab aran hebr mand nkoo rohg samr syrc thaa".split())


def direction(lang: str) -> str:
    """`rtl` or `ltr`, from the script subtag if there is one, else from the language.

    >>> direction("ar-EG"), direction("az-Arab"), direction("ar-Latn"), direction("en-x-arab")
    ('rtl', 'rtl', 'ltr', 'ltr')
    """
    primary, subtags = _subtags(lang)
    scripts = [part for part in subtags if len(part) == 4 and part.isalpha()]
    rtl = scripts[0] in _RTL_SCRIPTS if scripts else primary in _RTL_LANGUAGES
    return "rtl" if rtl else "ltr"


def labels(lang: str, overrides: Mapping[str, str]) -> dict[str, str]:
    """The compiler's own words in a language, English where it has none; the spec's `labels` win.

    >>> labels("zh-TW", {})["main_navigation"], labels("zh-Hans-HK", {})["main_navigation"]
    ('主要導覽', '主导航')
    """
    table = _table()
    return {**table["en"], **table.get(_written(lang), {}), **overrides}


def has_labels(lang: str) -> bool:
    """Whether the compiler's own words exist in this language."""
    return _written(lang) in _table()


def english_name(lang: str) -> str:
    """The name of a language in English, or its tag.

    >>> english_name("de-AT"), english_name("xx")
    ('German', 'xx')
    """
    return str(_known().get(_primary(lang), {}).get("name", lang))


def looks_like(text: str, lang: str) -> bool:
    """Whether a text may be in this language, from its script and from very common words.

    A first look, not a judgement: short texts and unknown languages always pass.

    >>> looks_like("Das ist der Text und er ist nicht lang, aber er ist auf Deutsch.", "en")
    False
    """
    entry = _known().get(_primary(lang))
    if entry is None:
        return True
    scripts = Counter(_script(character) for character in text if character.isalpha())
    if scripts and scripts.total() >= _FEWEST_LETTERS and scripts.most_common(1)[0][0] != entry["script"]:
        return False
    words = re.findall(r"\w+", text.lower())
    if "words" not in entry or len(words) < _FEWEST_WORDS:
        return True
    hits = {tag: _share(words, other["words"]) for tag, other in _known().items() if "words" in other}
    best = max(hits.values())
    return hits[_primary(lang)] * 2 >= best or best < _CLEAR_SHARE


def is_vague(text: str, lang: str) -> bool:
    """Whether a link or an image of this text says nothing by itself, in this language or in English.

    >>> is_vague("Click here!", "en"), is_vague("Click here for prices", "en"), is_vague("hier", "de")
    (True, False, True)
    """
    plain = " ".join(re.findall(r"\w+", text.lower()))
    known = (_known().get(tag, {}).get("vague", "") for tag in (_primary(lang), "en"))
    return any(plain in words.split("|") for words in known if plain)


_FEWEST_LETTERS = 20
_FEWEST_WORDS = 12
_CLEAR_SHARE = 0.12


def _share(words: list[str], common: str) -> float:
    frequent = set(common.split())
    return sum(word in frequent for word in words) / len(words)


def _script(character: str) -> str:
    first = unicodedata.name(character, "").split(" ")[0]
    return "CJK" if first in ("HIRAGANA", "KATAKANA") else first


def _primary(lang: str) -> str:
    return lang.lower().split("-")[0]


def _subtags(lang: str) -> tuple[str, list[str]]:
    """The language of a tag and its subtags in small letters, without extensions and private use."""
    primary, *rest = lang.lower().split("-")
    return primary, list(itertools.takewhile(lambda part: len(part) > 1, rest))


def _written(lang: str) -> str:
    """The name of a language's words in labels.toml; Chinese has two, by script, else by region."""
    primary, subtags = _subtags(lang)
    traditional = "hant" in subtags or ("hans" not in subtags and not _TRADITIONAL_REGIONS.isdisjoint(subtags))
    return "zh-hant" if primary == "zh" and traditional else primary


@cache
def _known() -> dict[str, dict[str, Any]]:
    return tomllib.loads(data_path("languages.toml").read_text(encoding="utf-8"))


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(data_path("labels.toml").read_text(encoding="utf-8"))
