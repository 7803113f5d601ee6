"""The report of a build: everything that happened, nothing that runs, whatever the texts are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pagecompiler.api import engine_maker
from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.colour import contrast
from pagecompiler.diagnostics import diagnostic
from pagecompiler.engine.reference import write
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Candidate, Decoding, Method, TracedToken
from pagecompiler.models import ModelChoice, choose_model
from pagecompiler.palette import palettes
from pagecompiler.prompts import FORMAT
from pagecompiler.reporting.attempts import Attempts
from pagecompiler.reporting.build_report import build_report
from pagecompiler.reporting.colours import tones
from pagecompiler.reporting.tokens import MOST_OF_A_REPORT, MOST_OF_AN_ANSWER
from pagecompiler.schema import Theme
from pagecompiler.spec import load_spec
from tests.referees import ROOT, Browser, Scheme, vnu

from .judged import problems
from .stories import HOSTILE, attempts, events, story

MODEL = ModelChoice("scripted", None, "scripted-1", "test", FORMAT)
PAGE = """
hero: {heading: A kettle}
sections:
- {kind: prose, heading: One, paragraphs: [first]}
- {kind: faq, heading: Questions, items: [{question: Why?, answer: Because it is so.}]}
"""


def tell(piece: str, number: int) -> TracedToken:
    (*_, token) = story(*[piece] * (number + 1))
    return token


def build(loaded, folder: Path, script=lambda request: write(request.messages[-1].content), **options):
    recorded = Attempts()
    source = EngineSource(MODEL, lambda: ScriptedEngine(script, tell=tell))
    given = {"output": folder / "page.html", "cache_dir": folder / "cache", "trace": True} | options
    return compile_spec(loaded, source, CompileOptions(**given), recorded.hear), recorded


def result(**changes) -> PageResult:
    made = PageResult("page.yaml", Path("page.html"), "<p>", 1.5, "pagec-mini", None, (), (), "mtp")
    return replace(made, **changes)


def soup_of(report: str) -> BeautifulSoup:
    assert problems(report) == []
    return BeautifulSoup(report, "html5lib")


def test_a_build_is_told_from_its_first_block_to_its_last_token(load, tmp_path):
    made, recorded = build(load(PAGE), tmp_path)
    soup = soup_of(build_report([(made, recorded)]))
    assert soup.h1.get_text() == "Build report"
    assert "4 blocks were written in 4 lanes at once" in soup.select_one(".verdict").get_text()
    assert [title.get_text() for title in soup.select("h4")] == ["style", "hero", "one", "questions"]
    for fieldset, block in zip(soup.select("fieldset"), made.blocks, strict=True):
        written = "".join(each.get_text() for each in fieldset.select("label > bdi")).replace("↵", "\n")
        assert written == block.completions[-1].text
        assert len({radio["name"] for radio in fieldset.select("input[type=radio]")}) == 1
    assert len(soup.select("svg.timeline g.stretch")) == 4


def test_what_was_refused_is_told_too(load, tmp_path):
    def script(request):
        return "no" if request.label == "hero" else write(request.messages[-1].content)

    made, recorded = build(load(PAGE), tmp_path, script, attempts=2)
    soup = soup_of(build_report([(made, recorded)]))
    assert soup.select_one(".verdict").get_text().startswith("There is no page. ")
    titles = [title.get_text() for title in soup.select("h4")]
    assert "hero (refused)" in titles and "hero, attempt 2 (refused)" in titles
    assert "E0401" in soup.select_one(".findings").get_text()
    assert len(soup.select("g.broken")) == 2


def test_a_page_that_was_reused_says_so(load, tmp_path):
    build(load(PAGE), tmp_path)
    made, recorded = build(load(PAGE), tmp_path)
    soup = soup_of(build_report([(made, recorded)]))
    assert soup.select_one(".verdict").get_text() == "Nothing was written: all 4 blocks were reused."
    assert not soup.select("fieldset, svg")
    assert "reused" in soup.select_one("table").get_text()


def test_several_pages_stand_in_one_report(load, tmp_path):
    made, recorded = build(load(PAGE), tmp_path)
    unread = result(spec="broken.yaml", output=None, html=None, diagnostics=(diagnostic("E0203", "unknown key"),))
    soup = soup_of(build_report([(made, recorded), (unread, Attempts())]))
    assert [heading.get_text() for heading in soup.select("h2")] == [made.spec, "broken.yaml"]
    assert soup.select(".verdict")[1].get_text() == "There is no page; nothing was written."
    assert "unknown key" in soup.select_one(".findings").get_text()


def test_an_engine_that_tells_no_tokens_is_said_so():
    heard = [replace(event, trace=()) for event in events(1, story("a", "b"))]
    soup = soup_of(build_report([(result(), attempts(("hero", "top", heard)))]))
    assert "the engine tells nothing of its tokens" in soup.get_text() and not soup.select("fieldset")


def test_hostile_texts_stay_texts():
    tokens = story(*HOSTILE)
    recorded = attempts(*((text, text, events(number, tokens)) for number, text in enumerate(HOSTILE)))
    named = [result(spec=text, output=Path(text.replace("\0", "0")), model=text, method=text) for text in HOSTILE]
    report = build_report([(each, recorded) for each in named]).encode("utf-8", "strict").decode()
    soup = soup_of(report)
    assert not soup.select("script, img, [onmouseover], [onerror], [style]")
    assert len(soup.select("style")) == 1 and "\u202e" not in report and "\0" not in report
    assert "</script><script>alert(1)</script>" in soup.select_one("fieldset").get_text()


def test_a_very_long_answer_is_cut_and_the_report_says_so():
    long = [
        TracedToken("<p>", "mtp", accepted=True, candidates=tuple(Candidate("x" * 99, 0.2) for _ in range(5)))
    ] * 10_000
    recorded = attempts(*((f"block {number}", "top", events(number, long)) for number in range(9)))
    report = build_report([(result(), recorded)])
    soup = BeautifulSoup(report, "html5lib")
    counts = [len(fieldset.select("label")) for fieldset in soup.select("fieldset")]
    assert max(counts) == MOST_OF_AN_ANSWER and sum(counts) == MOST_OF_A_REPORT
    assert f"{10_000 - MOST_OF_AN_ANSWER:,} more tokens are not shown" in soup.get_text()
    assert soup.get_text().count("more tokens are not shown") == 9
    assert len(report) < 1000 * MOST_OF_A_REPORT


@pytest.mark.parametrize("dark", [False, True])
def test_texts_can_be_read_on_every_tone(dark: bool):
    made = palettes(Theme())
    palette = made.dark if dark else made.main
    colours = tones(dark=dark)
    wrong = colours.pop("wrong")
    assert all(contrast(palette["text"], ground) >= 4.5 for ground in colours.values())
    assert all(contrast(wrong, palette[ground]) >= 4.5 for ground in ("background", "surface"))


def build_with_the_embedded_model(folder: Path):
    model, recorded = choose_model("pagec-mini"), Attempts()
    source = EngineSource(model, engine_maker(model, 5, Decoding(Method.MTP)))
    try:
        options = CompileOptions(cache_dir=folder / "cache", trace=True)
        return compile_spec(load_spec(ROOT / "specs" / "kettle.yaml"), source, options, recorded.hear), recorded
    finally:
        source.close()


def test_the_embedded_model_is_told_of_token_by_token(tmp_path):
    made, recorded = build_with_the_embedded_model(tmp_path)
    for attempt in recorded:
        assert "".join(token.text for token in attempt.tokens) == attempt.completion.text
        assert sum(token.accepted for token in attempt.tokens) == attempt.completion.accepted
    soup = soup_of(build_report([(made, recorded)]))
    assert len(soup.select("fieldset")) == len(list(recorded)) == len(soup.select("g.stretch"))
    assert soup.select("label.approved") and soup.select("label.own")


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One of a page by the embedded model; one with all that can happen in it; and one of hostile texts."""
    folder = tmp_path_factory.mktemp("reports")
    tokens = story(*["<p", ">\n", " word", "{{1}}", "é", "</p>"] * 12)
    recorded = attempts(
        ("hero", "top", events(1, tokens)),
        ("style", "style", events(2, tokens, start=0.2, seconds=0.5)),
        ("why", "upper", [*events(3, tokens)[:2], *events(3, tokens, start=2.0)]),
    )
    next(iter(recorded)).state = "refused"
    wrong = result(spec="broken.yaml", output=None, html=None, diagnostics=(diagnostic("E0203", "unknown key"),))
    hostile = attempts(("</title>", "'\"", events(1, story(*HOSTILE))))
    pages = {
        "model.html": [build_with_the_embedded_model(folder)],
        "plain.html": [(result(), recorded), (wrong, Attempts())],
        "hostile.html": [(result(spec=HOSTILE[0]), hostile)],
    }
    paths = []
    for name, builds in pages.items():
        paths.append(folder / name)
        paths[-1].write_text(build_report(builds), encoding="utf-8")
    return paths


@pytest.mark.browser
def test_the_nu_html_checker_has_no_message(reports: list[Path]):
    assert {path.name: messages for path, messages in vnu(reports).items() if messages} == {}


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_console_network_and_overflow(reports: list[Path], scheme: Scheme):
    with Browser() as browser:
        found = {path.name: browser.check(path, width_px=360, scheme=scheme).problems() for path in reports}
    assert found == {path.name: [] for path in reports}


@pytest.mark.browser
def test_the_tokens_of_an_answer_are_one_stop_and_arrow_keys_walk_through_them(reports: list[Path]):
    with Browser() as browser, browser.page(reports[1], width_px=360) as (page, _, _):
        label = page.locator("fieldset").first.locator("label")
        panel = page.locator(".panel:visible")
        assert panel.count() == 0
        label.nth(0).locator("input").focus()
        for place in range(6):
            assert panel.count() == 1
            assert label.nth(place).locator(".panel").is_visible()
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.name") != label.nth(0).locator("input").get_attribute("name")
        label.nth(3).hover()
        assert label.nth(3).locator(".panel").is_visible() and panel.count() == 1
