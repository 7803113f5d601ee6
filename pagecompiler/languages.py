"""What a language asks of a page: its direction, and the compiler's own words in it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache

from pagecompiler.resources import data_path

_RTL_LANGUAGES = frozenset("ar arc ckb dv fa he iw ji ks ku nqo ps sd syr ug ur yi".split())
_RTL_SCRIPTS = frozenset("adlm arab aran hebr mand nkoo rohg samr syrc thaa".split())


def direction(lang: str) -> str:
    """`rtl` or `ltr`, from the script subtag if there is one, else from the language.

    >>> direction("ar-EG"), direction("az-Arab"), direction("ar-Latn")
    ('rtl', 'rtl', 'ltr')
    """
    primary, *rest = lang.lower().split("-")
    scripts = [part for part in rest if len(part) == 4 and part.isalpha()]
    rtl = scripts[0] in _RTL_SCRIPTS if scripts else primary in _RTL_LANGUAGES
    return "rtl" if rtl else "ltr"


def labels(lang: str, overrides: Mapping[str, str]) -> dict[str, str]:
    """The compiler's own words in a language, English where it has none; the spec's `labels` win."""
    table = _table()
    return {**table["en"], **table.get(lang.lower().split("-")[0], {}), **overrides}


def has_labels(lang: str) -> bool:
    """Whether the compiler's own words exist in this language."""
    return lang.lower().split("-")[0] in _table()


@cache
def _table() -> dict[str, dict[str, str]]:
    return tomllib.loads(data_path("labels.toml").read_text(encoding="utf-8"))
