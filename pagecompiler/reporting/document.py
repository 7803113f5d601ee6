"""From a template and its values to one HTML file that asks for nothing else: no script, one hashed stylesheet."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from pagecompiler.reporting.colours import colour_rules
from pagecompiler.reporting.visible import plain
from pagecompiler.resources import template_dir
from pagecompiler.stitch import NO_ICON, content_security_policy


def render(template: str, **values: object) -> str:
    """A report as HTML text. Whatever stands in `values` is escaped, except Markup, and acts on no text around it."""
    css = Markup(stylesheet())
    return (
        _environment()
        .get_template(template)
        .render(policy=content_security_policy(css), css=css, icon=NO_ICON, **values)
    )


def stylesheet() -> str:
    """The one stylesheet of every report. `share-N` is a length of so many percent."""
    base = (template_dir() / "report.css").read_text(encoding="utf-8")
    shares = [f".share-{share} {{ --share: {share}%; }}" for share in range(101)]
    return "\n".join([colour_rules(), base, *shares]) + "\n"


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(template_dir()),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )


def _finalize(value: Any) -> Any:
    return plain(value) if isinstance(value, str) and not isinstance(value, Markup) else value
