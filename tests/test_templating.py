"""Templates that cannot be used: the place, and what is wrong there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.diagnostics import CompileError, render
from pagecompiler.templating import Templates, read_template


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("one\n{{ name", "page.j2:2:1: error[E0806]: the template `page.j2` cannot be used: unexpected end"),
        ("one\ntwo\n{{ nmae }}", "page.j2:3:1: error[E0806]: the template `page.j2` cannot be used: 'nmae' is undefined"),
        ("{{ name + 1 }}", "page.j2:1:1: error[E0806]: the template `page.j2` cannot be used: can only concatenate str"),
        ("{% include 'part.j2' %}", "page.j2:1:1: error[E0806]: the template `page.j2` cannot be used: there is no file `part.j2`"),
        (b"\xff", "page.j2: error[E0806]: the template `page.j2` cannot be used: it is not UTF-8"),
        (None, "page.j2: error[E0806]: the template `page.j2` cannot be used: there is no file `page.j2`"),
    ],
)  # fmt: skip
def test_what_is_wrong_and_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | bytes | None, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("page.j2").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CompileError) as caught:
        Templates(tmp_path).render("page.j2", name="x")
    assert render(caught.value.diagnostics[0], None, color=False).startswith(said)


def test_a_template_is_read_anew(tmp_path: Path) -> None:
    templates, page = Templates(tmp_path), tmp_path / "page.j2"
    page.write_text("{{ name", encoding="utf-8")
    with pytest.raises(CompileError):
        templates.render("page.j2", name="x")
    page.write_text("{{ name }}", encoding="utf-8")
    assert templates.render("page.j2", name="x") == "x"


@pytest.mark.parametrize("data", [b"\xff", None])
def test_a_stylesheet_that_cannot_be_read(tmp_path: Path, data: bytes | None) -> None:
    path = tmp_path / "base.css"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(CompileError, match=r"`base\.css` cannot be used"):
        read_template(path)
