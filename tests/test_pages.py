"""Every sample page as the embedded model writes it, under the referees: nothing to report, at three widths.

The pages are compiled from scratch, at the number of attempts that the command gives by default.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.api import engine_maker
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.models import choose_model
from pagecompiler.spec import load_spec
from tests.referees import ROOT, WIDTHS_PX, Browser, vnu

SPECS = sorted((ROOT / "specs").glob("[!_]*.yaml"))
UNSEEN = sorted((ROOT / "training" / "unseen").glob("*.yaml"))
SCHEMES = ("light", "dark")


def _compile(specs: list[Path], folder: Path, *, attempts: int = 3) -> dict[str, PageResult]:
    model = choose_model("pagec-mini")
    source = EngineSource(model, engine_maker(model, lanes=5))
    try:
        return {
            spec.stem: compile_spec(
                load_spec(spec),
                source,
                CompileOptions(
                    output=folder / f"{spec.stem}.html", cache_dir=folder / "cache", read_cache=False, attempts=attempts
                ),
            )
            for spec in specs
        }
    finally:
        source.close()


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PageResult]:
    return _compile(SPECS, tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="session")
def unseen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PageResult]:
    """Specs of people who had read only the README, never trained on, at the first attempt."""
    return _compile(UNSEEN, tmp_path_factory.mktemp("unseen"), attempts=1)


def test_there_are_enough_samples() -> None:
    assert len(SPECS) >= 7


@pytest.mark.parametrize("name", [spec.stem for spec in SPECS])
def test_every_sample_compiles_with_the_embedded_model(results: dict[str, PageResult], name: str) -> None:
    result = results[name]
    assert result.ok, [finding.message for finding in result.diagnostics]
    assert all(len(block.completions) <= 3 for block in result.blocks)
    assert result.diagnostics == ()


def test_unseen_specs_compile_at_the_first_attempt(unseen: dict[str, PageResult]) -> None:
    refused = {name: [d.message for d in result.diagnostics] for name, result in unseen.items() if not result.ok}
    assert len(unseen) == 30 and len(unseen) - len(refused) >= 27, refused


@pytest.mark.browser
def test_the_nu_html_checker_has_no_message(results: dict[str, PageResult], unseen: dict[str, PageResult]) -> None:
    pages = [result.output for result in (*results.values(), *unseen.values()) if result.output is not None]
    assert len(pages) >= len(SPECS) + 27
    assert {path.name: messages for path, messages in vnu(pages).items() if messages} == {}


@pytest.mark.browser
def test_axe_network_console_overflow_and_images(results: dict[str, PageResult]) -> None:
    """`problems` holds axe's violations, external requests, console messages, overflow and images not shown."""
    problems: dict[str, list[str]] = {}
    with Browser() as browser:
        for name, result in results.items():
            assert result.output is not None
            for width in WIDTHS_PX:
                for scheme in SCHEMES:
                    visit = browser.check(Path(result.output), width_px=width, scheme=scheme)  # type: ignore[arg-type]
                    if visit.problems():
                        problems[f"{name} {width} {scheme}"] = visit.problems()
    assert problems == {}


@pytest.mark.browser
def test_unseen_pages_in_the_browser(unseen: dict[str, PageResult]) -> None:
    """At 360 px for what does not fit, at 1280 px for the contrast in tables, which have a shadow on narrow screens."""
    problems: dict[str, list[str]] = {}
    with Browser() as browser:
        for name, result in unseen.items():
            for width in (360, 1280):
                if result.output is not None and (found := browser.check(result.output, width_px=width).problems()):
                    problems[f"{name} {width}"] = found
    assert problems == {}


@pytest.mark.browser
def test_six_plans_stand_in_two_rows_of_three(results: dict[str, PageResult]) -> None:
    tops = _edges(results["prices"], ".plans > li", "top", width_px=1280)
    assert len(tops) == 6
    assert len(set(tops[:3])) == len(set(tops[3:])) == 1
    assert tops[3] > tops[0]


@pytest.mark.browser
@pytest.mark.parametrize("width_px", WIDTHS_PX)
def test_titles_of_rows_line_up_where_only_some_have_an_image(unseen: dict[str, PageResult], width_px: int) -> None:
    assert len(set(_edges(unseen["06-illustrator"], ".rows > li > h3", "left", width_px=width_px))) == 1


def _edges(result: PageResult, selector: str, edge: str, *, width_px: int) -> list[int]:
    assert result.output is not None
    with Browser() as browser, browser.page(Path(result.output), width_px=width_px) as (page, _, _):
        edges: list[int] = page.eval_on_selector_all(
            selector, "(all, edge) => all.map(one => Math.round(one.getBoundingClientRect()[edge]))", edge
        )
    return edges
