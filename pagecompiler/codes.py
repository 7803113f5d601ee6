"""Every diagnostic code in one table: severity, what it means, how to fix it.

Ranges: 01 reading and YAML · 02 schema · 03 links, ids, assets · 04 fragments and linking · 05 style ·
06 page validation · 07 model and engine · 08 output and cache.  E is an error, W a warning, N a note.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of diagnostic. `title` is a short plain name, `meaning` a sentence or two, `fix` what to do."""

    title: str
    meaning: str
    fix: str


CODES: dict[str, Code] = {
    # 01 reading and YAML
    # 02 schema
    # 03 links, ids, assets
    # 04 fragments and linking
    # 05 style
    # 06 page validation
    # 07 model and engine
    # 08 output and cache
}


def severity(code: str) -> Severity:
    """The severity of a code, from its first letter."""
    return {"E": Severity.ERROR, "W": Severity.WARNING, "N": Severity.NOTE}[code[0]]
