"""The one serialiser."""

from __future__ import annotations

from bs4 import Tag
from bs4.dammit import EntitySubstitution
from bs4.formatter import HTMLFormatter

# bs4's own formatters write `<br/>`, or change `alt=""` and `é`.
_FORMATTER = HTMLFormatter(
    entity_substitution=EntitySubstitution.substitute_xml, void_element_close_prefix="", indent=0
)


def serialise(element: Tag) -> str:
    """An element as HTML text, without changing any text or white space."""
    return element.decode(formatter=_FORMATTER)
