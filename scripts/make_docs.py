"""Write docs/spec.md and docs/errors.md from the code.

python scripts/make_docs.py           writes them
python scripts/make_docs.py --check   exits with 1 if they are not what the code says
"""

from __future__ import annotations

import re
import sys
import tempfile
import textwrap
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import yaml
from bs4 import BeautifulSoup
from pydantic import BaseModel

from pagecompiler import examples, schema
from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.codes import CODES, severity
from pagecompiler.engine.reference import ReferenceEngine
from pagecompiler.ids import slug
from pagecompiler.models import choose_model
from pagecompiler.spec import load_spec

DOCS = Path(__file__).resolve().parents[1] / "docs"
NOTE = "<!-- Written by scripts/make_docs.py; change the code instead. -->\n"
AREAS = {
    "01": "Reading and YAML", "02": "The schema", "03": "Links, ids, images", "04": "Fragments and linking",
    "05": "Style", "06": "The finished page", "07": "Model and engine", "08": "Output and cache", "09": "Configuration",
}  # fmt: skip
_BLOCKS = "section|h[1-6]|p|ul|ol|li|dl|dt|dd|div|table|thead|tbody|tr|figure|figcaption|details|summary|blockquote"
PARTS = {"nav": schema.Nav, "hero": schema.Hero, "footer": schema.Footer, "theme": schema.Theme}


def spec_page() -> str:
    """The manual of specs: every key, and for each kind an example with what the reference engine makes of it."""
    lines = [
        NOTE,
        "# Specs\n",
        "A spec is one YAML file. `?` marks what may be left out; texts stand on the page exactly as they are typed. "
        "`pagec new KIND` writes each of these examples as a whole spec, `pagec check --schema` prints the grammar "
        "for editors.\n",
        "## A page\n",
        f"`{_keys(schema.PageSpec)}`\n",
        "```yaml",
        examples.spec("prose").rstrip(),
        "```\n",
        *[f"- `{name}`: `{_keys(model)}`" for name, model in PARTS.items()],
        "\nInline Markdown is `*emphasis*`, `**strong**`, `` `code` ``, `[words](address)` and `\\` before a mark "
        "that is meant as it is. It stands in " + _markdown_fields() + "; other texts are plain.\n",
        "## Kinds of sections\n",
        "Every section has `kind`, `heading`, `id?` and `intro?`.\n",
    ]
    for kind, model in schema.KINDS.items():
        lines += [f"### {kind}\n", f"`{_keys(model, without=schema.SectionBase)}`\n"]
        lines += ["```yaml", examples.section(kind).rstrip(), "```\n", "```html", _rendered(kind), "```\n"]
    return "\n".join(lines)


def errors_page() -> str:
    """The list of all diagnostics."""
    lines = [
        NOTE,
        "# Diagnostics\n",
        "E is an error, W a warning, N a note. `pagec explain CODE` says the same; `--strict` of `pagec check` makes "
        "warnings errors.\n",
    ]
    area = ""
    for code, entry in CODES.items():
        if code[1:3] != area:
            area = code[1:3]
            lines.append(f"## {AREAS[area]}\n")
        lines.append(f"**{code}** {severity(code).value}: {entry.title}  \n{entry.meaning}  \n*Fix:* {entry.fix}\n")
    return "\n".join(lines)


def _keys(model: type[BaseModel], *, without: type[BaseModel] | None = None) -> str:
    """The keys of a model in the short form of the manual."""
    left_out = {"kind", *(without.model_fields if without else ())}
    fields = [(name, field) for name, field in model.model_fields.items() if name not in left_out]
    return ", ".join(name + ("" if field.is_required() else "?") + _shape(field.annotation) for name, field in fields)


def _shape(annotation: Any) -> str:
    if get_origin(annotation) in (Union, UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) is list:
        inner = get_args(annotation)[0]
        if get_origin(inner) is list:
            return ": [[text]]"
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            return f": [{{{_keys(inner)}}}]"
        return ": [section]" if inner is schema.Section else ": [text]"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in PARTS.values():
        return f": {{{_keys(annotation)}}}"
    return ""


def _markdown_fields() -> str:
    places = [f"`hero.{name}`" for name in schema.fields_marked(schema.Hero, "markdown")]
    for kind, model in schema.KINDS.items():
        names = [name for name in schema.fields_marked(model, "markdown") if name != "intro"]
        for name, field in model.model_fields.items():
            inner = get_args(field.annotation)
            if inner and isinstance(inner[0], type) and issubclass(inner[0], BaseModel):
                names += [f"{name}.{inside}" for inside in schema.fields_marked(inner[0], "markdown")]
        places += [f"`{kind}: {name}`" for name in names]
    return "`intro`, " + ", ".join(places)


def _rendered(kind: str) -> str:
    """The section of the example's page, as the reference engine writes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for source in examples.files(kind):
            (folder / source.name).write_bytes(source.read_bytes())
        loaded = load_spec(folder / "page.yaml", data=examples.spec(kind).encode())
        source = EngineSource(choose_model("reference"), ReferenceEngine)
        result = compile_spec(loaded, source, CompileOptions(read_cache=False, write_cache=False))
    if result.html is None:
        raise SystemExit(f"the example of {kind} does not compile: {result.diagnostics}")
    heading = yaml.safe_load(examples.section(kind))[0]["heading"]
    section = BeautifulSoup(result.html, "html5lib").find(id=slug(heading))
    assert section is not None
    return _one_a_line(str(section))


def _one_a_line(html: str) -> str:
    """Each tag of a block begins a line; code is left as it is."""
    if "<pre" in html:
        return html
    lines = re.sub(rf">\s*(</?(?:{_BLOCKS})\b)", r">\n\1", html).splitlines()
    pieces = [textwrap.wrap(line, 116, break_long_words=False, break_on_hyphens=False) for line in lines]
    return "\n".join(piece for line in pieces for piece in line)


def main() -> None:
    pages = {DOCS / "spec.md": spec_page(), DOCS / "errors.md": errors_page()}
    for path, text in pages.items():
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not what the code says: run scripts/make_docs.py")


if __name__ == "__main__":
    main()
