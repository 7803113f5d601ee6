"""Language tags: whether one is well-formed and known (BCP 47, ISO 639-1), and its usual spelling."""

from __future__ import annotations

import re

_TAG = re.compile(
    r"""(?P<language>[a-z]{2,8})
    (?:-(?P<script>[a-z]{4}))?
    (?:-(?P<region>[a-z]{2}|[0-9]{3}))?
    (?P<variants>(?:-(?:[a-z0-9]{5,8}|[0-9][a-z0-9]{3}))*)
    (?:-[tu](?:-[a-z0-9]{2,8})+)*
    (?:-x(?:-[a-z0-9]{2,8})+)?""",
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
# ISO 3166-1 and UN M.49, as the registry of language subtags has them.
_REGION_CODES = """
AA AC AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR
BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CP CQ CR CU CV CW CX CY CZ DE DG DJ DK DM DO
DZ EA EC EE EG EH ER ES ET EU EZ FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT
GU GW GY HK HM HN HR HT HU IC ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW
KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW
MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA QM QN
QO QP QQ QR QS QT QU QV QW QX QY QZ RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS
ST SV SX SY SZ TA TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM UN US UY UZ VA VC VE VG
VI VN VU WF WS XA XB XC XD XE XF XG XH XI XJ XK XL XM XN XO XP XQ XR XS XT XU XV XW XX XY XZ YE YT
ZA ZM ZW ZZ 001 002 003 005 009 011 013 014 015 017 018 019 021 029 030 034 035 039 053 054 057 061
142 143 145 150 151 154 155 202 419
"""
_REGIONS = frozenset(_REGION_CODES.split())
# Tags leave out the script that their language has anyway.
_DEFAULT_SCRIPTS = {
    "latn": """
        af ay ca ch cs cy da de en eo es et eu fi fj fo fr fy ga gl gn gv hr ht hu id is it kl la lb ln lt
        lv mg mh ms mt na nb nd nl nn no nr ny om pl pt qu rm rn ro rw sg sk sl sm so sq ss st sv sw tl tn
        to tr ts ve vi xh zu
    """,
    "arab": "ar fa ps ur",
    "armn": "hy",
    "beng": "as bn",
    "cyrl": "ab be bg kk mk ru uk",
    "deva": "hi mr ne",
    "ethi": "am ti",
    "geor": "ka",
    "grek": "el",
    "gujr": "gu",
    "guru": "pa",
    "hebr": "he yi",
    "jpan": "ja",
    "khmr": "km",
    "knda": "kn",
    "kore": "ko",
    "laoo": "lo",
    "mlym": "ml",
    "mymr": "my",
    "orya": "or",
    "sinh": "si",
    "taml": "ta",
    "telu": "te",
    "thaa": "dv",
    "thai": "th",
    "tibt": "dz",
}
_DEFAULT_SCRIPT = {code: script for script, codes in _DEFAULT_SCRIPTS.items() for code in codes.split()}
# Spellings and dialects, and the language that each belongs to.
_VARIANTS = {
    "1901": "de", "1996": "de", "oxendict": "en", "scotland": "en", "scouse": "en", "valencia": "ca", "tarask": "be",
    "rozaj": "sl", "nedis": "sl", "polyton": "el", "monoton": "el", "luna1918": "ru", "petr1708": "ru",
}  # fmt: skip
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
    region = (match["region"] or "").upper()
    if region and region not in _REGIONS:
        return f"there is no region `{region}`" + ("; did you mean `GB`?" if region == "UK" else "")
    for variant in match["variants"].lower().split("-")[1:]:
        if _VARIANTS.get(variant) != code:
            return f"`{code}` has no variant `{variant}`"
    return None


def canonical(tag: str) -> str:
    """The usual spelling: language small, Script with a capital and only where it tells something, REGION.

    >>> canonical("ZH-hant-tw"), canonical("en-Latn-us")
    ('zh-Hant-TW', 'en-US')
    """
    parts = tag.lower().split("-")
    if len(parts) > 1 and _DEFAULT_SCRIPT.get(parts[0]) == parts[1]:
        del parts[1]
    for index, part in enumerate(parts[1:], 1):
        if len(part) == 1:
            break
        if len(part) == 4 and part.isalpha():
            parts[index] = part.capitalize()
        elif len(part) == 2:
            parts[index] = part.upper()
    return "-".join(parts)
