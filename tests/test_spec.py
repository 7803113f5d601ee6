"""Good specs: what is read, where it stands, and what never changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from pagecompiler import schema, yaml_source
from pagecompiler.diagnostics import CompileError, Span, render
from pagecompiler.spec import LoadedSpec, SpecNotFound, load_spec

Load = Callable[[str], LoadedSpec]


def test_scalars_stay_what_was_typed(load: Load) -> None:
    words = ["no", "1.10", "12:30", "0555", "2024-01-02", "1e3", "yes", "0x1F", "1_000", "off", "True", ".5"]
    loaded = load("sections:\n- {kind: prose, heading: on, paragraphs: [" + ", ".join(words) + "]}\n")
    section = loaded.page.sections[0]
    assert isinstance(section, schema.Prose)
    assert section.paragraphs == words
    assert section.heading == "on"


def test_quoted_nulls_are_texts_and_cells_may_be_empty(load: Load) -> None:
    loaded = load(
        'title: "null"\nsections:\n- kind: table\n  heading: "~"\n  columns: [a, b]\n'
        '  rows:\n  - ["", " "]\n  - - x\n    -\n'
    )
    table = loaded.page.sections[0]
    assert isinstance(table, schema.Table)
    assert (loaded.page.title, table.heading) == ("null", "~")
    assert table.rows == [["", ""], ["x", ""]]


def test_positions_are_those_of_the_values(load: Load) -> None:
    loaded = load('title: T\nhero:\n  heading: "😀 H"\n  actions:\n  - {text: Buy, href: /buy}\n')
    assert loaded.at(("title",)) == Span(1, 8, 1, 9)
    assert loaded.at(("hero", "heading")) == Span(3, 12, 3, 17)
    assert loaded.at(("hero", "actions", 0, "href")) == Span(5, 23, 5, 27)
    assert loaded.at(("hero", "actions", 0, "nothing", 7)) == loaded.at(("hero", "actions", 0))
    assert loaded.at(("nowhere",)) == Span(1, 1, 5, 28)
    found = loaded.diagnostic("E0303", "nope", ("hero", "heading"))
    assert (found.file, found.span) == (loaded.name, Span(3, 12, 3, 17))


def test_a_block_text_is_exact_and_its_span_ends_with_its_words(load: Load) -> None:
    loaded = load("sections:\n- kind: code\n  heading: C\n  code: |\n    a:\n\n      b  # c\n\n  caption: x\n")
    section = loaded.page.sections[0]
    assert isinstance(section, schema.Code)
    assert section.code == "a:\n\n  b  # c\n"
    assert loaded.at(("sections", 0, "code")) == Span(5, 9, 8, 13)


def test_merge_keys(load: Load) -> None:
    loaded = load(
        "nav: &n\n  brand: B\n  links:\n  - &l {text: a, href: /a}\n  - {<<: *l, text: b}\n  - {text: c, <<: [*l]}\n"
    )
    assert loaded.page.nav is not None
    assert [(link.text, link.href) for link in loaded.page.nav.links] == [("a", "/a"), ("b", "/a"), ("c", "/a")]
    assert loaded.at(("nav", "links", 1, "href")) == loaded.at(("nav", "links", 0, "href"))


@pytest.mark.parametrize(
    "change", [lambda b: b"\xef\xbb\xbf" + b, lambda b: b.replace(b"\n", b"\r\n"), lambda b: b.replace(b"\n", b"\r")]
)
def test_bom_and_line_ends_change_nothing(change: Callable[[bytes], bytes]) -> None:
    data = b"title: T\nhero:\n  heading: H\n  text: |\n    a\n    b\n"
    plain, changed = load_spec("-", data=data), load_spec("-", data=change(data))
    assert plain.page == changed.page
    assert dict(plain.positions) == dict(changed.positions)


def test_texts_are_normalised(load: Load) -> None:
    assert load("title: cafe\u0301\n").page.title == "caf\u00e9"
    assert load('title: "a\\r\\nb"\n').page.title == "a\nb"


def test_the_language_gets_its_usual_spelling(load: Load) -> None:
    assert load("lang: ZH-hans\n").page.lang == "zh-Hans"


def test_stdin_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load_spec("-", data=b"title: T\nhero: {heading: H}\n")
    assert (loaded.name, loaded.path, loaded.folder) == ("<stdin>", None, tmp_path)
    (tmp_path / "a.yaml").write_text("title: T\nhero: {heading: H}\n")
    loaded = load_spec("a.yaml")
    assert (loaded.name, loaded.path, loaded.folder) == ("a.yaml", Path("a.yaml"), Path())


def test_missing_specs_and_folders_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound, match="there is no file") as missing:
        load_spec(tmp_path / "no.yaml")
    assert missing.value.exit_code == 2
    with pytest.raises(SpecNotFound, match="is a folder") as folder:
        load_spec(tmp_path)
    assert "pagec batch" in folder.value.hint
    with pytest.raises(SpecNotFound):
        load_spec("a\0b")
    with pytest.raises(SpecNotFound):
        load_spec("-")


def test_briefs_make_contents_optional(load: Load) -> None:
    kinds = "".join(f"- {{kind: {kind}, heading: {kind}, brief: words}}\n" for kind in schema.BRIEF_KINDS)
    assert len(load("sections:\n" + kinds).page.sections) == 5


def test_anchors_that_are_defined(load: Load) -> None:
    load(
        'nav: {brand: B, links: [{text: a, href: "#top"}, {text: b, href: "#main"}, {text: c, href: "#"},'
        ' {text: d, href: "#%E4%BE%A1%E6%A0%BC"}]}\n'
        "sections:\n- {kind: prose, heading: 価格, paragraphs: ['see [x](#価格)']}\n"
    )


def test_the_json_schema_is_for_editors() -> None:
    made = schema.json_schema()
    json.dumps(made)
    assert made["required"] == ["title", "hero"]
    assert made["properties"]["title"]["type"] == ["string", "number", "boolean"]
    assert "null" not in json.dumps(made)
    assert made["$defs"]["Theme"]["properties"]["mode"]["enum"] == ["light", "dark", "auto"]


def loads_or_explains(data: bytes) -> None:
    try:
        loaded = load_spec("-", data=data)
    except CompileError as error:
        assert error.diagnostics
        assert any(item.severity == "error" for item in error.diagnostics)
        for item in error.diagnostics:
            shown = render(item, data.decode("utf-8", "replace"), color=False)
            assert all(char >= " " for line in shown.split("\n") for char in line)
            assert item.span is None or item.span.line >= 1 <= item.span.column
    else:
        assert loaded.page.title.strip()


@given(st.binary(max_size=300))
@example(b"\xff\xfet\0")
@example(b"%YAML 9.9\n---\n")
@example(b"? [a\n: b")
@example(b"title: !!set {a, b}\nhero: !!omap []\n")
@example(b"&a [*a]: b")
def test_any_bytes(data: bytes) -> None:
    loads_or_explains(data)


# Two spaces between any two.
_WORDS = (
    "title:  hero:  sections:  -  kind: table  kind: chart  heading:  items:  rows:  columns:  labels:  lang:  "
    "theme:  href:  src:  nav:  <<:  &a  *a  !x  ?  :  ~  null  {  }  [  ]  ,  \"  '  |  >  #  \n  \n  \t  "
    "---\n  x  1,5  \\  %  \u0301  \ue000  \u0085  \u2028  😀  [a](b)  **  `  \\ud800  - -"
)
_PIECES = st.tuples(st.sampled_from(re.split(r" {2}", _WORDS)), st.sampled_from(["", " ", "  "])).map("".join)


@given(st.lists(_PIECES, max_size=40).map("".join))
@example("hero: {kind: [a]}\nsections: [{kind: {a: b}}]")
@example("title: T\nhero: {heading: H}\nlabels: [x]\nlang: {a: b}\nsections: x")
def test_any_mixture_of_yaml(text: str) -> None:
    loads_or_explains(text.encode())


_NAMES = (
    "title hero heading sections kind items rows columns text links href image src alt width brief labels theme "
    "accent nav brand id lang footer value label x"
)
_KEYS = st.sampled_from(_NAMES.split())
_VALUES = st.recursive(
    st.text(max_size=8) | st.sampled_from(["", "#a", "table", "chart", "a.png", "1,200", "javascript:x", "[x](y)"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=25,
)


@given(st.dictionaries(_KEYS, _VALUES, max_size=8))
def test_any_structure(value: dict[str, object]) -> None:
    loads_or_explains(yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "replace"))


def test_without_the_c_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_source, "_LOADER", yaml.SafeLoader)
    assert load_spec("-", data=b"title: T\nhero: {heading: H}\n").page.title == "T"
    for text in (
        "title: Tea: x",
        "title: @x",
        'title: "a',
        "title: a\n\tb: c",
        "a: [b",
        "a: *x",
        "a: {b: c: d}",
        "- a\nb: c",
    ):
        with pytest.raises(CompileError) as error:
            load_spec("-", data=text.encode())
        codes = {item.code for item in error.value.diagnostics}
        assert codes & {"E0104", "E0105", "E0106", "E0107", "E0112"}
