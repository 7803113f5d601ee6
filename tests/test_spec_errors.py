"""One wrong spec a line: the code, and the place a reader is sent to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler import schema
from pagecompiler.codes import CODES
from pagecompiler.diagnostics import CompileError, Diagnostic
from pagecompiler.spec import load_spec

BASE = "title: T\nhero: {heading: H}\n"
SECTIONS = BASE + "sections:\n"

# name, spec, code, line, column
WRONG: list[tuple[str, str | bytes, str, int, int]] = [
    ('latin1', b'title: caf\xe9\n', "E0101", 1, 11),
    ('utf16', b'\xff\xfet\x00i\x00t\x00l\x00e\x00:\x00 \x00x\x00', "E0101", 1, 1),
    ('utf16 no bom', b't\x00i\x00t\x00l\x00e\x00:\x00 \x00x\x00', "E0101", 1, 1),
    ('empty', '', "E0110", 1, 1),
    ('only comments', '# x\n\n', "E0110", 1, 1),
    ('only a mark', '---\n', "E0110", 1, 1),
    ('two documents', BASE + '---\nb: c\n', "E0109", 3, 1),
    ('control', BASE + 'description: a\x07b\n', "E0103", 3, 15),
    ('nel', BASE + 'description: a\x85b\n', "E0103", 3, 15),
    ('nonchar', BASE + 'description: a\ufdd0b\n', "E0103", 3, 15),
    ('nonchar 2', BASE + 'description: a\U0001fffeb\n', "E0103", 3, 15),
    ('line separator', BASE + 'description: a\u2028b\n', "E0103", 3, 15),
    ('bom inside', BASE + 'description: a\ufeffb\n', "E0103", 3, 15),
    ('nul escape', BASE + 'description: "a\\0b"\n', "E0103", 3, 14),
    ('surrogate', BASE + 'description: "a\\ud800b"\n', "E0103", 3, 16),
    ('nel escape', BASE + 'description: "a\\u0085b"\n', "E0103", 3, 14),
    ('bad escape', BASE + 'description: "C:\\dir"\n', "E0104", 3, 17),
    ('private', BASE + 'description: a \ue000 b\n', "E0120", 3, 16),
    ('private escape', BASE + 'description: "\\uE000"\n', "E0120", 3, 14),
    ('combining', BASE + 'description: ́a\n', "E0119", 3, 14),
    ('combining inline', 'title: T\nhero: {heading: H, text: "a *́b*"}\n', "E0119", 2, 26),
    ('at', BASE + 'description: @handle\n', "E0105", 3, 14),
    ('backtick', BASE + 'description: `code`\n', "E0105", 3, 14),
    ('star', BASE + 'description: *bold* text\n', "E0105", 3, 14),
    ('alias', BASE + 'description: *bold\n', "E0112", 3, 14),
    ('amp', BASE + 'description: &copy; 2024\n', "E0105", 3, 14),
    ('percent', BASE + 'description: %d items\n', "E0105", 3, 14),
    ('braces', BASE + 'description: {{ name }}\n', "E0105", 3, 14),
    ('bracket', BASE + 'description: [Read more](x)\n', "E0105", 3, 14),
    ('bang', BASE + 'description: !important\n', "E0113", 3, 14),
    ('colon', BASE + 'description: Foo: the bar\n', "E0105", 3, 14),
    ('unclosed', BASE + 'description: "Foo\n', "E0107", 3, 14),
    ('unclosed then closed', 'description: "Foo\ntitle: T\nhero: {heading: H}\nlang: "en"\n', "E0107", 1, 14),
    ('inner', BASE + 'description: "a "b" c"\n', "E0107", 3, 18),
    ('inner single', BASE + "description: 'it's'\n", "E0107", 3, 18),
    ('question in flow', 'title: T\nhero: {heading: ? x}\n', "E0105", 2, 17),
    ('colon in flow', 'title: T\nhero: {heading: What? Yes: no}\n', "E0105", 2, 17),
    ('gt', BASE + 'description: > x\n', "E0105", 3, 14),
    ('dash', BASE + 'description: - x\n', "E0105", 3, 14),
    ('unclosed flow', 'title: T\nhero: {heading: H\n', "E0104", 2, 7),
    ('empty entry', 'title: T\nhero: {heading: H, , text: x}\n', "E0202", 2, 20),
    ('comment in flow', 'title: T\nhero: {heading: #1}\n', "E0116", 2, 17),
    ('tab indent', 'title: T\nhero:\n\theading: H\n', "E0106", 3, 1),
    ('tab value', 'title:\tT\nhero: {heading: H}\n', "E0106", 1, 7),
    ('indent', 'title: T\nhero:\n  heading: H\n text: x\n', "E0104", 4, 2),
    ('deeper', 'title: T\n  description: x\nhero: {heading: H}\n', "E0104", 2, 3),
    ('neither', 'title: T\nnonsense\nhero: {heading: H}\n', "E0104", 2, 1),
    ('list and keys', '- a\ntitle: T\n', "E0104", 2, 1),
    ('duplicate', BASE + 'title: U\n', "E0108", 3, 1),
    ('merge', BASE + 'footer:\n  <<: x\n  text: y\n', "E0115", 4, 3),
    ('recursive', 'title: T\nhero: &a {heading: H, image: *a}\n', "E0112", 2, 30),
    ('complex key', BASE + '[a, b]: c\n', "E0114", 3, 1),
    ('tag', BASE + 'description: !!python/object x\n', "E0113", 3, 14),
    ('hash', BASE + 'theme:\n  accent: #ff0000\n', "E0116", 4, 11),
    ('null', BASE + 'description: null\n', "E0202", 3, 14),
    ('tilde', BASE + 'description: ~\n', "E0202", 3, 14),
    ('no value', BASE + 'description:\n', "E0202", 3, 1),
    ('blank', BASE + 'description: "  "\n', "E0202", 3, 14),
    ('empty item', SECTIONS + '- kind: prose\n  heading: P\n  paragraphs:\n  -\n  - x\n', "E0202", 7, 4),
    ('root list', '- a\n', "E0205", 1, 1),
    ('root text', 'just text\n', "E0205", 1, 1),
    ('missing title', 'hero: {heading: H}\n', "E0201", 1, 1),
    ('missing hero', 'title: T\n', "E0201", 1, 1),
    ('missing heading', SECTIONS + '- kind: prose\n  paragraphs: [x]\n', "E0201", 4, 3),
    ('unknown key', BASE + 'descripton: x\n', "E0203", 3, 1),
    ('unknown deep', SECTIONS + '- kind: features\n  heading: F\n  items: [{titel: x}]\n', "E0203", 6, 12),
    ('unknown kind', SECTIONS + '- kind: gallery\n  heading: F\n', "E0204", 4, 9),
    ('kind typo', SECTIONS + '- kind: feature\n  heading: F\n', "E0204", 4, 9),
    ('no kind', SECTIONS + '- heading: F\n', "E0201", 4, 3),
    ('kind list', SECTIONS + '- kind: [a]\n  heading: F\n', "E0205", 4, 9),
    ('section text', SECTIONS + '- hello\n', "E0205", 4, 3),
    ('sections mapping', BASE + 'sections: {kind: prose}\n', "E0205", 3, 11),
    ('items text', SECTIONS + '- kind: features\n  heading: F\n  items: x\n', "E0205", 6, 10),
    ('text list', BASE + 'description: [a]\n', "E0205", 3, 14),
    ('hero text', 'title: T\nhero: H\n', "E0205", 2, 7),
    ('mode', BASE + 'theme: {mode: drak}\n', "E0206", 3, 15),
    ('font', BASE + 'theme: {font: comic}\n', "E0206", 3, 15),
    ('colour name', BASE + 'theme: {accent: red}\n', "E0210", 3, 17),
    ('colour long', BASE + 'theme: {accent: "#ff00"}\n', "E0210", 3, 17),
    ('lang', BASE + 'lang: english\n', "E0211", 3, 7),
    ('lang country', BASE + 'lang: jp\n', "E0211", 3, 7),
    ('lang underscore', BASE + 'lang: de_DE\n', "E0211", 3, 7),
    ('width', 'title: T\nhero: {heading: H, image: {src: a.png, alt: "", width: 12px}}\n', "E0215", 2, 56),
    ('width 0', 'title: T\nhero: {heading: H, image: {src: a.png, alt: "", width: 0}}\n', "E0215", 2, 56),
    ('no items', SECTIONS + '- kind: stats\n  heading: S\n  items: []\n', "E0208", 6, 10),
    ('no content', SECTIONS + '- kind: features\n  heading: F\n', "E0208", 4, 3),
    ('cta', SECTIONS + '- kind: cta\n  heading: F\n', "E0208", 4, 3),
    ('brief', SECTIONS + '- kind: stats\n  heading: S\n  brief: x\n  items: [{value: 1, label: x}]\n', "E0209", 6, 3),
    ('brief footer', BASE + 'footer: {text: x, brief: y}\n', "E0209", 3, 19),
    ('row', SECTIONS + '- kind: table\n  heading: S\n  columns: [a, b]\n  rows:\n  - [1, 2]\n  - [1]\n', "E0212", 9, 5),
    ('chart', SECTIONS + '- kind: chart\n  heading: S\n  items: [{label: x, value: about}]\n', "E0213", 6, 29),
    ('chart negative', SECTIONS + '- kind: chart\n  heading: S\n  items: [{label: x, value: "-3"}]\n', "E0214", 6, 29),
    ('footer', BASE + 'footer: {}\n', "E0208", 3, 9),
    ('label', BASE + 'labels: {skpi: x}\n', "E0217", 3, 10),
    ('url', BASE + 'url: /x\n', "E0220", 3, 6),
    ('javascript', BASE + 'nav: {brand: B, links: [{text: x, href: "javascript:alert(1)"}]}\n', "E0301", 3, 42),
    ('js mixed', BASE + 'nav: {brand: B, links: [{text: x, href: "JaVaScRiPt:x"}]}\n', "E0301", 3, 42),
    ('js tab', BASE + 'nav: {brand: B, links: [{text: x, href: "java\\tscript:x"}]}\n', "E0301", 3, 41),
    ('data', BASE + 'nav: {brand: B, links: [{text: x, href: "data:text/html,x"}]}\n', "E0301", 3, 42),
    ('slashes', BASE + 'nav: {brand: B, links: [{text: x, href: //x.org}]}\n', "E0301", 3, 41),
    ('space', BASE + 'nav: {brand: B, links: [{text: x, href: /a b}]}\n', "E0302", 3, 41),
    ('inline js', 'title: T\nhero: {heading: H, text: "a [b](javascript:x)"}\n', "E0301", 2, 33),
    ('inline empty', 'title: T\nhero: {heading: H, text: "a [](x)"}\n', "E0310", 2, 32),
    ('inline title', 'title: T\nhero: {heading: H, text: "a [b](x \'t\')"}\n', "E0310", 2, 36),
    ('anchor', BASE + 'nav: {brand: B, links: [{text: x, href: "#nope"}]}\n', "E0303", 3, 42),
    ('inline anchor', SECTIONS + '- kind: prose\n  heading: P\n  paragraphs:\n  - see [x](#q)\n', "E0303", 7, 13),
    ('duplicate id', SECTIONS + '- {kind: cta, brief: x, heading: P, id: a}\n' * 2, "E0304", 5, 41),
    ('bad id', SECTIONS + '- {kind: prose, heading: P, id: a b, paragraphs: [x]}\n', "E0305", 4, 33),
    ('reserved id', SECTIONS + '- {kind: prose, heading: P, id: Main, paragraphs: [x]}\n', "E0306", 4, 33),
    ('remote image', 'title: T\nhero: {heading: H, image: {src: "https://x.org/a.png", alt: ""}}\n', "E0307", 2, 33),
    ('absolute image', 'title: T\nhero: {heading: H, image: {src: /a.png, alt: ""}}\n', "E0307", 2, 33),
    ('outside image', 'title: T\nhero: {heading: H, image: {src: ../a.png, alt: ""}}\n', "E0307", 2, 33),
    ('missing image', 'title: T\nhero: {heading: H, image: {src: a.png, alt: ""}}\n', "E0308", 2, 33),
    ('not an image', 'title: T\nhero: {heading: H, image: {src: text.png, alt: ""}}\n', "E0309", 2, 33),
    ('image space', 'title: T\nhero: {heading: H, image: {src: a b.png, alt: ""}}\n', "E0302", 2, 33),
    ('no alt', 'title: T\nhero: {heading: H, image: {src: a.png}}\n', "E0201", 2, 28),
    ("large", b"#" * (1 << 20) + b"a", "E0102", 1, 1),
    ("deep", "title: " + "[" * 40, "E0111", 1, 39),
    ("many items", SECTIONS + "- kind: stats\n  heading: S\n  items:\n" + "  - {value: 1, label: x}\n" * 25,
     "E0207", 31, 5),
]  # fmt: skip


def findings(data: str | bytes, folder: Path) -> tuple[Diagnostic, ...]:
    """All findings of a spec in `folder`, warnings of a good one too."""
    raw = data if isinstance(data, bytes) else data.encode("utf-8")
    try:
        return load_spec(folder / "spec.yaml", data=raw).warnings
    except CompileError as error:
        return error.diagnostics


@pytest.mark.parametrize(("data", "code", "line", "column"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_each_mistake_is_one_finding_in_its_place(
    data: str | bytes, code: str, line: int, column: int, tmp_path: Path
) -> None:
    (tmp_path / "text.png").write_text("hello")
    [found] = findings(data, tmp_path)
    assert found.span is not None
    assert (found.code, found.span.line, found.span.column) == (code, line, column)
    assert found.hint
    assert found.file == str(tmp_path / "spec.yaml")
    shown = (found.message + found.hint).lower()
    assert not any(word in shown for word in ("pydantic", "input should", "field required", "scanner", "parser"))


def test_the_table_is_large_and_its_codes_exist() -> None:
    assert len(WRONG) >= 60
    assert {row[2] for row in WRONG} <= set(CODES)
    untested = {code for code in CODES if code[1:3] in ("01", "02", "03")} - {row[2] for row in WRONG}
    # Warnings, the note and what only a batch can find have tests of their own; an alias bomb has, too.
    assert untested == {
        "W0117",
        "E0122",
        "W0118",
        "N0121",
        "W0216",
        "W0218",
        "W0219",
        "E0123",
        "E0311",
        "W0312",
        "W0313",
        "W0314",
        "W0315",
    }


def test_many_findings_come_together_in_reading_order(tmp_path: Path) -> None:
    data = (
        "titel: T\n"
        "hero: {heading: H, text: 'a [b](javascript:x)'}\n"
        "lang: zz\n"
        "description: Tea: the guide\n"
        "theme: {accent: red, mode: drak}\n"
        "sections:\n"
        "- kind: tabel\n"
        "- {kind: table, heading: P, columns: [a, b], rows: [[1]]}\n"
        "footer: @me\n"
    )
    found = findings(data, tmp_path)
    assert [(item.code, item.span.line) for item in found if item.span] == [
        ("E0203", 1),
        ("E0301", 2),
        ("E0211", 3),
        ("E0105", 4),
        ("E0210", 5),
        ("E0206", 5),
        ("E0204", 7),
        ("E0212", 8),
        ("E0105", 9),
    ]


def test_a_mistyped_key_is_not_also_missing(tmp_path: Path) -> None:
    [found] = findings("titel: T\nhero: {heading: H}\n", tmp_path)
    assert (found.code, found.hint) == ("E0203", "did you mean `title`?")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("title: @me\n", 'write "@me"'),
        ("title: Tea: it\n", 'write "Tea: it"'),
        ("nav: {brand: a [b](c)}\ntitle: T\n", 'write "a [b](c)"'),
        ("title: {{ x }}\n", 'write "{{ x }}"'),
        ("title: !x y\n", 'write "!x y"'),
        ('title: @ "me"\n', "write '@ \"me\"'"),
    ],
)
def test_the_hint_shows_the_quoted_value(text: str, hint: str, tmp_path: Path) -> None:
    [found] = findings(text + "hero: {heading: H}\n", tmp_path)
    assert found.hint == hint


@pytest.mark.parametrize(
    ("body", "code", "column"),
    [
        ("description: Tips # 1 and 2\n", "W0117", 19),
        ("description: &copy 2024\n", "W0118", 14),
        ("lang: eo\n", "W0216", 7),
        ("nav: {brand: B, links: [{text: Click here!, href: /a}]}\n", "W0313", 32),
        ("lang: de\nnav: {brand: B, links: [{text: hier, href: /a}]}\n", "W0313", 32),
        ("sections:\n- {kind: prose, heading: P, paragraphs: ['see [here](/a) why']}\n", "W0313", 48),
        ("nav: {brand: B, links: [{text: Mail, href: me@example.org}]}\n", "W0314", 44),
        ("sections:\n- {kind: prose, heading: P, paragraphs: ['[our shop](www.example.org)']}\n", "W0314", 54),
    ],
)
def test_warnings_do_not_stop(body: str, code: str, column: int, tmp_path: Path) -> None:
    loaded = load_spec(tmp_path / "spec.yaml", data=(BASE + body).encode())
    [found] = loaded.warnings
    assert found.span is not None
    assert (found.code, found.span.column, found.severity) == (code, column, "warning")


def test_a_comment_that_is_meant_is_no_warning(tmp_path: Path) -> None:
    assert not findings(BASE + "description: Tips  # two spaces\nlang: en # a choice\n", tmp_path)


def test_chart_warnings(tmp_path: Path) -> None:
    body = "- {kind: chart, heading: C, items: [{label: a, value: '1,200 kg'}, {label: b, value: 3 t}]}\n"
    assert [item.code for item in findings(SECTIONS + body, tmp_path)] == ["W0218", "W0219"]


def test_aliases_cannot_explode(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    assert "E0112" in [item.code for item in findings(BASE + bomb, tmp_path)]


def test_aliases_cannot_nest_too_deeply(tmp_path: Path) -> None:
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60))
    assert "E0111" in [item.code for item in findings(BASE + chain, tmp_path)]


def test_more_than_a_hundred_findings_are_cut_but_no_error_is_lost(tmp_path: Path) -> None:
    body = "".join(f"k{n}: x\n" for n in range(300))
    found = findings(BASE + body, tmp_path)
    assert len(found) == 101
    assert (found[-1].code, found[-1].message) == ("N0121", "200 more findings")


def test_an_anchor_is_not_doubted_while_a_section_is_not_understood(tmp_path: Path) -> None:
    data = BASE + 'nav: {brand: B, links: [{text: x, href: "#x"}]}\nsections:\n- {kind: prse, heading: X}\n'
    assert [item.code for item in findings(data, tmp_path)] == ["E0204"]


@pytest.mark.parametrize(
    ("text", "code", "hint"),
    [
        ("hero: {heading: H, text: one, two}", "E0202", "a comma in {…} begins a new key"),
        ("sections:\n- {kind: table, heading: T, columns: [a], rows: [[$2,450]]}", "E0212", "a comma separates cells"),
        ("sections:\n- {kind: chart, heading: C, items: [{label: a, value: '4,100'}]}", "W0218", "write 4100 if"),
        ("theme: {mood: [calm, bold]}", "E0205", "write calm, bold"),
        ("nav: {brand: B, links: [{text: M, href: me@example.org}]}", "W0314", 'write "mailto:me@example.org"'),
        ('nav: {brand: B, links: [{text: P, href: "tel:+49 30 1"}]}', "E0302", 'write "tel:+49301"'),
        ("sections:\n- {kind: prose, id: My Id, heading: P, paragraphs: [a]}", "E0305", "write for example my-section"),
    ],
)
def test_hints_name_what_newcomers_meant(text: str, code: str, hint: str) -> None:
    hero = "" if "hero" in text else "hero: {heading: H}\n"
    try:
        findings = load_spec("x.yaml", data=f"title: T\n{hero}{text}\n".encode()).warnings
    except CompileError as error:
        findings = error.diagnostics
    assert [finding.hint.startswith(hint) for finding in findings if finding.code == code] == [True]


@pytest.mark.parametrize(
    ("body", "code", "line", "hint"),
    [
        # What follows such a line is right: obeying a finding about it would break the spec.
        ('description: "Tea\nnav: {brand: "B"}\nsections: [{kind: "cta"}]\n', "E0107", 3, "close the quote"),
        ("nav:\n  brand: B\n  links:\n  - {text: X, href: #x}\n  - {text: Y, href: /y}\n", "E0116", 6, "put the value"),
        ("nav:\n  links: [{text: X, href: #x}]\n  brand: B\n", "E0116", 4, "put the value"),
        ("nav:\n  links:\n  - {text: No #1, href: /x}\n  - {text: Y, href: /y}\n", "E0104", 5, "a `#` after a space"),
        ('nav:\n  links:\n  - {text: "X, href: /x}\n  - {text: "Y", href: /y}\n', "E0104", 5, "close the quote"),
        ("footer:\n  links: []\n  text:Tea\n", "E0104", 5, "a colon with a space"),
        ("description:Tea\nlang: en\n", "E0104", 3, "a colon with a space"),
        ("nav: {brand:B, links: [{text: X, href: /x}]}\n", "E0202", 3, "write a space behind `brand:`"),
    ],
)
def test_the_line_with_the_cause_is_named(body: str, code: str, line: int, hint: str, tmp_path: Path) -> None:
    found = [item for item in findings(BASE + body, tmp_path) if item.code[:3] == "E01" or item.code == "E0202"]
    assert [(item.code, item.span and item.span.line) for item in found] == [(code, line)]
    assert found[0].hint.startswith(hint)


def test_a_column_may_have_no_name() -> None:
    data = b"title: T\nhero: {heading: H}\nsections:\n- {kind: table, heading: T, columns: ['', b], rows: [[x, '1']]}"
    section = load_spec("x.yaml", data=data).page.sections[0]
    assert isinstance(section, schema.Table) and section.columns == ["", "b"]
