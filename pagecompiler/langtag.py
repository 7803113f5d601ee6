"""Language tags: whether one is well-formed and known (BCP 47, ISO 639-1), and its usual spelling."""

from __future__ import annotations

import re

_TAG = re.compile(
    r"""(?P<language>[a-z]{2,3}(?:-[a-z]{3}){0,3}|[a-z]{4}|[a-z]{5,8})
    (?:-(?P<script>[a-z]{4}))?
    (?:-(?P<region>[a-z]{2}|[0-9]{3}))?
    (?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*
    (?:-[0-9a-wy-z](?:-[a-z0-9]{2,8})+)*
    (?:-x(?:-[a-z0-9]{1,8})+)?""",
    re.IGNORECASE | re.VERBOSE,
)
# ISO 639-1: every two-letter code there is.
_CODES = """
aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv
dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie
ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv
mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm
rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr
ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
"""
_TWO_LETTERS = frozenset(_CODES.split())
_REPLACED = {
    "iw": "he", "in": "id", "ji": "yi", "jw": "jv", "mo": "ro", "eng": "en", "deu": "de", "ger": "de",
    "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "por": "pt", "nld": "nl", "dut": "nl", "swe": "sv",
    "pol": "pl", "ukr": "uk", "ara": "ar", "heb": "he", "tur": "tr", "jpn": "ja", "zho": "zh", "chi": "zh",
    "kor": "ko", "rus": "ru", "dan": "da", "nor": "no", "fin": "fi", "ces": "cs", "hun": "hu", "ell": "el",
    "hin": "hi", "fas": "fa", "per": "fa", "ron": "ro", "bul": "bg", "cmn": "zh",
}  # fmt: skip
_COUNTRIES = {"jp": "ja", "cn": "zh", "ua": "uk", "cz": "cs", "dk": "da", "gr": "el", "us": "en", "gb": "en"}


def problem(tag: str) -> str | None:
    """What is wrong with a language tag, or None.

    >>> problem("pt-BR"), problem("english")
    (None, '`english` is not a language tag')
    """
    match = _TAG.fullmatch(tag)
    if match is None or len(match["language"]) > 3:
        return f"`{tag}` is not a language tag"
    code = match["language"].lower()
    if better := _REPLACED.get(code):
        return f"the language `{code}` is written `{better}`"
    if len(code) == 2 and code not in _TWO_LETTERS:
        better = _COUNTRIES.get(code, "")
        return f"there is no language `{code}`" + (f"; did you mean `{better}`?" if better else "")
    return None


def canonical(tag: str) -> str:
    """The usual case: language small, Script with a capital, REGION in capitals."""
    parts = tag.lower().split("-")
    for index, part in enumerate(parts[1:], 1):
        if len(parts[index - 1]) == 1:
            break
        if len(part) == 4 and part.isalpha():
            parts[index] = part.capitalize()
        elif len(part) == 2:
            parts[index] = part.upper()
    return "-".join(parts)
