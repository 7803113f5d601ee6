"""The compiler's own validation of a report, without what only pages are denied."""

from __future__ import annotations

import re

from pagecompiler.validate import validate_page

MORE_ELEMENTS = ("fieldset", "input", "label", "legend")
MORE_PROPERTIES = ("fill", "stroke", "stroke-width", "stroke-dasharray")
_PICTURE = re.compile(r'<svg class="(?:timeline|chart)".*?</svg>\n', re.DOTALL)
WORDS_OF_MODELS = "W0665"
"""A report quotes what models leave over; a page must not have it."""


def problems(report: str) -> list[str]:
    """Every finding but those about pictures and their style, and about elements that reports have and pages do not."""
    allowed = {f"`<{name}>` is not allowed" for name in MORE_ELEMENTS}
    allowed |= {f"stylesheet: `{name}` is not a property" for name in MORE_PROPERTIES}
    found = validate_page(_PICTURE.sub("", report), language="en")
    return [
        f"{finding.code} {finding.message}"
        for finding in found
        if finding.code != WORDS_OF_MODELS and finding.message not in allowed
    ]
