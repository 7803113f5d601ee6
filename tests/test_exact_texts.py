"""Every text that a spec may hold, in any field of any kind, stands on the finished page exactly as typed."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.build import CompileOptions, EngineSource, compile_spec
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.reference import ReferenceEngine
from pagecompiler.inline import plain_text
from pagecompiler.models import ModelChoice
from pagecompiler.prompts import FORMAT
from pagecompiler.schema import Bar
from pagecompiler.spec import LoadedSpec, load_spec

HOSTILE = [
    "{{1}}", "{{2}} {{99}}", "</script>", "{% raw %}", "{{ 7 * 7 }}", "<b>&amp;</b>", '"><img src=x onerror=x()>', "`x",
    "*a", "a\u00a0b", "\u202bש", "𝒳 👩‍👧", "--", "  two  spaces", "null", "no", "1.10", "12:30", "<!--", "]]>", "&nbsp;",
]  # fmt: skip
characters = st.characters(codec="utf-8", exclude_categories=["Cs", "Cn", "Co", "Cc"])
text = st.one_of(
    st.text(characters, min_size=1, max_size=24),
    st.text(string.printable.strip(), min_size=1, max_size=24),
    st.sampled_from(HOSTILE),
)
maybe = st.one_of(st.none(), text)
link = st.fixed_dictionaries({"text": text, "href": st.sampled_from(["#top", "/a?b=c&d=%20", "https://example.org/"])})
number = st.sampled_from(["1", "2,5", "1 000", "12 %"])


def _fields(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional or {})


def _items(required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.lists(_fields(required, optional), min_size=1, max_size=3)


KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "features": ({"items": _items({"title": text}, {"text": text, "href": st.just("/x")})}, {}),
    "steps": ({"items": _items({"title": text}, {"text": text})}, {}),
    "prose": ({"paragraphs": st.lists(text, min_size=1, max_size=3)}, {}),
    "stats": ({"items": _items({"value": text, "label": text})}, {}),
    "quotes": ({"items": _items({"text": text}, {"by": text, "role": text})}, {}),
    "faq": ({"items": _items({"question": text, "answer": text})}, {}),
    "pricing": (
        {
            "items": _items(
                {"title": text, "price": text},
                {"text": text, "points": st.lists(text, min_size=1, max_size=3), "action": link},
            )
        },
        {},
    ),
    "table": (
        {"columns": st.lists(text, min_size=2, max_size=2), "rows": st.lists(st.lists(text, min_size=2, max_size=2), min_size=1, max_size=3)},
        {"caption": text},
    ),
    "chart": ({"items": _items({"label": text, "value": number}, {"unit": text})}, {"caption": text}),
    "schedule": ({"items": _items({"time": text, "title": text}, {"text": text, "by": text})}, {}),
    "people": ({"items": _items({"name": text}, {"role": text, "text": text})}, {}),
    "code": ({"code": text}, {"caption": text, "language": st.sampled_from(["python", "html", "sh", "yaml"])}),
    "cta": ({"actions": st.lists(link, min_size=1, max_size=2)}, {"text": text}),
}  # fmt: skip


def _compile(loaded: LoadedSpec) -> str:
    model = ModelChoice("reference", None, "reference", "test", FORMAT)
    options = CompileOptions(read_cache=False, write_cache=False)
    result = compile_spec(loaded, EngineSource(model, ReferenceEngine), options)
    assert result.ok, [finding.message for finding in result.diagnostics]
    assert result.html is not None
    return result.html


def _check(spec: dict[str, Any]) -> bool:
    try:
        loaded = load_spec("x.yaml", data=json.dumps(spec, ensure_ascii=False).encode())
    except CompileError:
        return False
    page = BeautifulSoup(_compile(loaded), "html5lib")
    assert page.title is not None and page.title.text == loaded.page.title
    texts = [tag.get_text() for tag in page.body.find_all(True)] if page.body else []
    hrefs = [str(tag["href"]) for tag in page.find_all("a")]
    for section in loaded.page.sections:
        for expected in _expected(section):
            assert expected in texts
    for action in loaded.page.hero.actions:
        assert action.text in texts and action.href in hrefs
    return True


def _expected(value: Any) -> list[str]:
    """The texts of a section as readers see them."""
    if isinstance(value, Bar):
        return [value.label, f"{value.value} {value.unit}" if value.unit else value.value]
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [found for entry in value for found in _expected(entry)]
    found: list[str] = []
    for name in type(value).model_fields if value is not None else ():
        if name in ("kind", "id", "href", "src", "language", "image"):
            continue
        entry = getattr(value, name)
        markdown = name in ("paragraphs", "answer", "intro") or (
            name == "text" and type(value).__name__ in ("Entry", "PricePlan", "Cta")
        )
        for one in _expected(entry) if entry is not None else []:
            found.append(plain_text(one) if markdown else one)
    return found


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=25)
@given(data=st.data())
def test_exact(kind: str, data: st.DataObject) -> None:
    required, optional = KINDS[kind]
    section = {"kind": kind} | data.draw(_fields({"heading": text, **required}, {"intro": text, **optional}))
    hero = {"heading": data.draw(text), "actions": data.draw(st.lists(link, max_size=2))}
    _check({"title": data.draw(text), "hero": hero, "sections": [section]})


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_texts_are_not_refused_but_written(hostile: str) -> None:
    """The property above must not hold only because hostile texts are never accepted."""
    spec = {
        "title": hostile,
        "hero": {"heading": hostile},
        "sections": [
            {"kind": "stats", "heading": hostile, "items": [{"value": hostile, "label": hostile}]},
            {"kind": "code", "heading": "c", "code": hostile},
        ],
    }
    if hostile.startswith(" "):
        return
    assert _check(spec)
