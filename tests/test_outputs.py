"""`-o` and its default."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.outputs import OutputError, plan_outputs


@pytest.mark.parametrize(
    ("spec", "option", "expected"),
    [
        ("a/kettle.yaml", None, "output/kettle.html"),
        ("kettle.yml", "public", "public/kettle.html"),
        ("kettle.yaml", "public/index.html", "public/index.html"),
        ("kettle.yaml", "x.HTM", "x.HTM"),
        ("kettle.v2.yaml", None, "output/kettle.v2.html"),
        ("-", "public", "public/stdin.html"),
    ],
)
def test_files(spec: str, option: str | None, expected: str) -> None:
    (output,) = plan_outputs([spec], option)
    assert output.path == Path(expected)


@pytest.mark.parametrize(("spec", "option"), [("a.yaml", "-"), ("-", "-"), ("-", None)])
def test_standard_output(spec: str, option: str | None) -> None:
    (output,) = plan_outputs([spec], option)
    assert output.path is None


def test_standard_input_with_json_is_a_file() -> None:
    (output,) = plan_outputs(["-"], None, json=True)
    assert output.path == Path("output/stdin.html")


@pytest.mark.parametrize(
    ("specs", "option", "json"),
    [
        (["a/x.yaml", "b/x.yaml"], None, False),
        (["a.yaml", "b.yaml"], "page.html", False),
        (["a.yaml", "./a.yml"], "out", False),
        (["a.yaml", "b.yaml"], "-", False),
        (["a.yaml"], "-", True),
        (["a.yaml", "-"], None, False),
    ],
)
def test_what_cannot_be(specs: list[str], option: str | None, json: bool) -> None:
    with pytest.raises(OutputError):
        plan_outputs(specs, option, json=json)


def test_a_page_never_takes_the_place_of_a_spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("page.html").touch()
    Path("link.yaml").symlink_to("page.html")
    Path("here").symlink_to(".")
    for specs, option in (
        (["page.html"], "page.html"), (["page.html"], "."), (["page.html"], "here/page.html"),
        (["link.yaml"], "page.html"), (["a.yaml", "out/a.html"], "out"),
    ):  # fmt: skip
        with pytest.raises(OutputError, match="take the place of the spec"):
            plan_outputs(specs, option)
    plan_outputs(["page.html"], "out")


def test_links_between_folders_lead_to_one_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.html").symlink_to("b.html")
    with pytest.raises(OutputError):
        plan_outputs(["x/a.yaml", "y/a.yaml"], "out")
    assert len(plan_outputs(["a.yaml", "b.yaml"], ".")) == 2, "a link is replaced, and what it leads to stays"
