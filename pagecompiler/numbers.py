"""Numbers as people write them: `1,200.50 €`, `1.200,5`, `12 %`, `−3`, `١٢٫٥`."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

_MINUS = str.maketrans({"−": "-", "–": "-", "‐": "-", "‑": "-", "﹣": "-", "-": "-"})
_MARKS = str.maketrans({"٫": ".", "٬": "'", "’": "'", "'": "'", "、": ","})
# A group mark that is a space: space, no-break, figure, thin and narrow no-break space.
_SPACES = " \u00a0\u2007\u2009\u202f"
_NUMBER = re.compile(
    rf"(?P<before>[^\d+-]*?)(?P<sign>[+-]?)(?P<inner>[^\d+\-.,]*?)"
    rf"(?P<digits>[.,]?\d[\d.,'{_SPACES}]*)(?P<after>.*)",
    re.DOTALL,
)
_GROUPED = re.compile(rf"\d{{1,3}}(?:(?P<mark>[.,'{_SPACES}])\d{{3}}(?:(?P=mark)\d{{3}})*)")
_GROUPED_INDIAN = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}")
_MAX_LENGTH = 100


@dataclass(frozen=True, slots=True)
class Number:
    """`unit` is what stands around the digits. `ambiguous`: one mark before three digits, as in 1,234."""

    value: Decimal
    unit: str
    ambiguous: bool = False


def parse_number(text: str) -> Decimal | None:
    """The value of a number, or None if the text is none.

    A single `,` before three digits groups thousands, a single `.` begins decimals.

    >>> parse_number("1 200,5 kg"), parse_number("−4 %"), parse_number("about")
    (Decimal('1200.5'), Decimal('-4'), None)
    """
    number = read_number(text)
    return number.value if number else None


def read_number(text: str) -> Number | None:
    """Like `parse_number`, with the unit and whether the number can be read in two ways."""
    if len(text) > _MAX_LENGTH:
        return None
    plain = "".join(_ascii_digit(char) for char in text).translate(_MINUS).translate(_MARKS).strip()
    match = _NUMBER.fullmatch(plain)
    if match is None or re.search(r"\d", match["after"].translate(_SUPERSCRIPTS)):
        return None
    digits = match["digits"].rstrip(_SPACES + "'")
    if digits[-1] in ".,":
        digits = digits[:-1]
    value = _value(digits)
    if value is None:
        return None
    unit = " ".join(part.strip() for part in (match["before"], match["inner"], match["after"]) if part.strip())
    ambiguous = re.fullmatch(r"[1-9]\d{0,2}[.,]\d{3}", digits) is not None
    return Number(-value if match["sign"] == "-" else value, unit.lstrip(".,"), ambiguous)


_SUPERSCRIPTS = str.maketrans("", "", "²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉")


def _ascii_digit(char: str) -> str:
    if unicodedata.category(char) == "Nd":
        return str(unicodedata.decimal(char))
    return char


def _value(digits: str) -> Decimal | None:
    """Decide which marks group and which one begins the decimals."""
    kinds = [char for char in digits if not char.isdigit()]
    decimal = ""
    if kinds and kinds[-1] in ".," and kinds.count(kinds[-1]) == 1:
        single_comma = kinds == [","] and _GROUPED.fullmatch(digits) and digits[0] != "0"
        if not single_comma and not (len(kinds) > 1 and _GROUPED_INDIAN.fullmatch(digits)):
            decimal = kinds[-1]
    whole, _, fraction = digits.partition(decimal) if decimal else (digits, "", "")
    if not (whole.isdigit() or _GROUPED.fullmatch(whole) or _GROUPED_INDIAN.fullmatch(whole)):
        if whole or not fraction:
            return None
        whole = "0"
    if fraction and not fraction.isdigit():
        return None
    whole = re.sub(r"\D", "", whole)
    return Decimal(f"{whole}.{fraction}" if fraction else whole)
