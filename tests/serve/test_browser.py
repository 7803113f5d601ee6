"""Both pages of the server in Chromium: what a user does, and what the page must not do."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from pagecompiler.api import engine_maker
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Decoding, Request
from pagecompiler.models import resolve_model
from pagecompiler.results import PageResult
from pagecompiler.serve.app import STATIC
from pagecompiler.serve.methods import method_choices
from tests.referees import ROOT, Browser, Scheme, axe, vnu
from tests.serve.studio import PATIENCE, Studio, by_rule, spec_text

pytestmark = pytest.mark.browser

Start = Callable[..., Studio]
expect.set_options(timeout=PATIENCE * 1000)

LONG = "title: T\nhero: {heading: H}\nsections:\n" + "".join(
    f"- {{kind: prose, heading: Part {number}, paragraphs: [{'words ' * 150}]}}\n" for number in range(6)
)
SHOWN = "document.querySelector('#frames iframe:not(.behind)')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def mini(spec: Path, studio: Start) -> Studio:
    """A studio with the embedded model in a process of its own, and a page of all five groups."""
    spec.write_text((ROOT / "specs" / "prices.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    shutil.copytree(ROOT / "specs" / "images", spec.parent / "images")
    model = resolve_model("pagec-mini", "test")
    running = studio(
        spec,
        engine=lambda decoding: engine_maker(model, 5, decoding, child=True)(),
        model=model,
        methods=method_choices(model, Decoding()),
    )
    assert running.expect().ok
    return running


@contextmanager
def visit(browser: Browser, url: str, *, expected: str = "nothing", **options: Any) -> Iterator[Page]:
    """An open page; afterwards nothing may have been asked from elsewhere, and nothing said on its console but what
    is `expected`, a regular expression: a browser reports there each answer that is a refusal.
    """
    with browser.page(Path(), url=url, **options) as (page, console, external):
        yield page
    assert external == [] and [line for line in console if not re.search(expected, line)] == []


def wait_for(page: Page, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline
        page.wait_for_timeout(20)


def shown(page: Page) -> str:
    """The text of the compiled page in its frame."""
    text: str = page.evaluate(f"{SHOWN}?.contentDocument?.body?.textContent ?? ''")
    return text


def wait_for_text(page: Page, text: str) -> None:
    wait_for(page, lambda: text in shown(page))


def choose(page: Page, method: str) -> None:
    """Choose a method; once the page is known nothing moves any more."""
    expect(page.get_by_role("button", name="COMPILE")).to_be_enabled()
    page.locator(f'input[value="{method}"]').check(force=True)


def compile_anew(page: Page, running: Studio) -> PageResult:
    """Press COMPILE, and wait until the page shows all of that build."""
    expect(page.get_by_role("button", name="COMPILE")).to_be_enabled()
    number = int(page.locator("#lanes").get_attribute("data-build") or "0")
    page.get_by_role("button", name="COMPILE").click()
    expect(page.locator("#lanes")).to_have_attribute("data-build", str(number + 1))
    expect(page.locator("body")).to_have_attribute("data-state", "ok")
    expect(page.locator(".chips :not([data-state=built], [data-state=reused])")).to_have_count(0)
    return running.expect()


def tokens(page: Page, lane: str) -> Locator:
    return page.locator(f'[data-lane="{lane}"] [role=option]')


def save(spec: Path, text: str) -> None:
    spec.write_text(text, encoding="utf-8")


def test_the_nu_html_checker_has_no_message() -> None:
    pages = [STATIC / "build.html", STATIC / "preview.html"]
    assert vnu(pages) == {page: [] for page in pages}


# The preview


def test_a_save_updates_the_preview_and_an_error_does_not_take_the_page_away(
    browser: Browser, spec: Path, studio: Start
) -> None:
    running = studio(spec)
    with visit(browser, f"{running.url}preview") as page:
        wait_for_text(page, "first")
        save(spec, spec_text("second"))
        wait_for_text(page, "second")
        save(spec, spec_text("third").replace("heading: One", "heading: One, colour: red"))
        problems = page.locator("#problems")
        expect(problems).to_be_visible()
        expect(problems).to_contain_text(f"{spec}:4:31")
        expect(problems).to_contain_text("error[E0203] unknown key `colour`")
        expect(problems.locator("mark")).to_have_text("colour")
        expect(problems.locator(".hint")).not_to_be_empty()
        assert "second" in shown(page)
        save(spec, spec_text("fourth"))
        wait_for_text(page, "fourth")
        expect(problems).to_be_hidden()


def test_the_scroll_position_stays(browser: Browser, spec: Path, studio: Start) -> None:
    save(spec, LONG)
    running = studio(spec)
    with visit(browser, f"{running.url}preview", width_px=768) as page:
        wait_for_text(page, "Part 5")
        page.evaluate(f"{SHOWN}.contentWindow.scrollTo({{top: 1200, behavior: 'instant'}})")
        # An added section is written, so the page is shown as it grows; a changed word is not.
        for text in (
            LONG + "- {kind: stats, heading: New, items: [{value: 1, label: a}]}\n",
            LONG.replace("Part 5", "End"),
        ):
            save(spec, text)
            wait_for_text(page, "New" if "New" in text else "End")
            expect(page.locator("body")).to_have_attribute("data-state", "ok")
            wait_for(page, lambda: page.evaluate(f"{SHOWN}.contentWindow.scrollY") == 1200)


def test_blocks_appear_as_they_are_written(browser: Browser, spec: Path, studio: Start) -> None:
    """The engine stops in the middle of a block until it has been seen."""
    save(spec, LONG)

    class Pausing(ScriptedEngine):
        hold = True

        def _step(self) -> None:
            while self.hold and self._running and self._running[0].pieces == 6:
                time.sleep(0.01)
            super()._step()

    engine = Pausing(by_rule)
    running = studio(spec, engine=lambda decoding: engine)
    try:
        with visit(browser, f"{running.url}preview") as page:
            wait_for_text(page, "Part 0")
            expect(page.locator("body")).to_have_attribute("data-state", "building")
            assert "words words" not in shown(page) and "{{" not in shown(page)
            engine.hold = False
            wait_for_text(page, "words words")
            expect(page.locator("body")).to_have_attribute("data-state", "ok")
    finally:
        engine.hold = False


def test_links_in_the_page_lead_to_other_pages_and_nowhere_else(browser: Browser, spec: Path, studio: Start) -> None:
    other = spec.with_name("other.yaml")
    save(other, spec_text("the other page"))
    save(spec, spec_text("'[there](other.html) [away](https://example.org/x) [up](#one)'"))
    running = studio(spec.parent)
    assert running.expect().ok and running.expect().ok
    with visit(browser, f"{running.url}preview/page") as page:
        wait_for_text(page, "there")
        expect(page.locator("body")).to_have_attribute("data-state", "ok")
        frame = page.frame_locator("#frames iframe:not(.behind)")
        frame.get_by_role("link", name="away").click()
        expect(page.locator("#state")).to_have_text("Not followed here: https://example.org/x")
        frame.get_by_role("link", name="up").click()
        frame.get_by_role("link", name="there").click()
        page.wait_for_url("**/preview/other")
        wait_for_text(page, "the other page")
        page.locator("#pages").select_option("page")
        page.wait_for_url("**/preview/page")


# The build view


def test_compile_fills_five_lanes(browser: Browser, mini: Studio) -> None:
    with visit(browser, mini.url) as page:
        choose(page, "mtp")
        assert compile_anew(page, mini).html == mini.results[0].html
        for lane in ("style", "top", "upper", "lower", "bottom"):
            assert tokens(page, lane).count() > 20
            assert page.locator(f'[data-lane="{lane}"] [role=option].mtp').count() > 10
        written = {block.block.name: block.fragment.text for block in mini.results[-1].blocks if block.fragment}
        page.evaluate("for (const guess of document.querySelectorAll('#lanes s')) guess.remove()")
        assert written["hero"] in (page.locator('[data-block="hero"]').text_content() or "")
        numbers = page.locator("#totals").inner_text()
        assert "tokens/s" in numbers and "accepted" in numbers


def test_a_method_may_be_chosen_before_the_server_has_said_anything(browser: Browser, mini: Studio) -> None:
    with visit(browser, mini.url) as page:
        held: list[Route] = []
        page.route("**/news?*", lambda route: held.append(route))
        page.reload()
        page.locator('input[value="plain"]').check(force=True)
        wait_for(page, lambda: bool(held))
        page.unroute("**/news?*")
        for route in held:
            route.continue_()
        expect(page.get_by_text("The next build uses plain")).to_be_visible()


def test_on_a_phone_the_blocks_of_a_lane_stand_below_its_figures(browser: Browser, mini: Studio) -> None:
    with visit(browser, mini.url) as page:
        page.set_viewport_size({"width": 360, "height": 800})
        compile_anew(page, mini)
        for lane in ("style", "top", "upper", "lower", "bottom"):
            head = page.locator(f'[data-lane="{lane}"] .lane-head')
            figures, blocks = (head.locator(part).bounding_box() for part in (".numbers-of", ".chips"))
            assert figures and blocks
            assert blocks["y"] >= figures["y"] + figures["height"]


def test_the_candidates_of_a_token(browser: Browser, mini: Studio) -> None:
    with visit(browser, mini.url) as page:
        compile_anew(page, mini)
        tokens(page, "top").nth(3).click()
        rows = page.locator("#token tr")
        expect(rows).to_have_count(5)
        expect(page.locator("#token tr.taken")).to_have_count(1)
        shares = [text.strip(" <%") for text in page.locator("#token .value").all_inner_texts()]
        assert [float(share) for share in shares] == sorted(map(float, shares), reverse=True)
        # With the keyboard: one token on, and the last.
        page.keyboard.press("ArrowRight")
        expect(tokens(page, "top").nth(4)).to_have_attribute("aria-selected", "true")
        page.keyboard.press("End")
        expect(tokens(page, "top").last).to_have_attribute("aria-selected", "true")
        expect(page.locator("[aria-selected=true]")).to_have_count(1)


def test_every_method_gives_the_same_page(browser: Browser, mini: Studio) -> None:
    with visit(browser, mini.url) as page:
        for method in ("plain", "draft", "mtp", "lookup"):
            choose(page, method)
            expect(page.locator("#method-note")).to_have_text(
                f"The next build uses {method}; the model is loaded anew for it."
            )
            result = compile_anew(page, mini)
            assert result.method == method and result.html == mini.results[0].html
            assert all(block.state == "built" or "same prompt" in block.why for block in result.blocks)
            expect(page.locator(f'[data-speed="{method}"]')).to_have_text(re.compile(r"^[\d,]+/s$"))
            others = {"plain": "mtp", "draft": "mtp", "mtp": "lookup", "lookup": "mtp"}
            assert page.locator(f"[role=option].{others[method]}").count() == 0
        assert [decoding.method.value for decoding in mini.engines] == ["auto", "plain", "draft", "mtp", "lookup"]


def test_editing_saving_and_somebody_else(browser: Browser, spec: Path, studio: Start) -> None:
    running = studio(spec)
    with visit(browser, running.url, expected="409") as page:
        text = page.locator("#text")
        expect(text).to_have_value(spec_text("first"))
        expect(page.locator("#save")).to_be_disabled()
        text.fill(spec_text("mine"))
        expect(page.locator("#edited")).to_be_visible()
        page.keyboard.press("Control+s")
        wait_for_text(page, "mine")
        assert spec.read_text(encoding="utf-8") == spec_text("mine")
        save(spec, spec_text("theirs"))
        expect(text).to_have_value(spec_text("theirs"))
        text.fill(spec_text("mine again"))
        save(spec, spec_text("theirs again"))
        conflict = page.locator("#conflict")
        expect(conflict).to_be_visible()
        page.keyboard.press("Control+s")
        expect(conflict).to_be_visible()
        assert spec.read_text(encoding="utf-8") == spec_text("theirs again")
        conflict.get_by_role("button", name="Keep mine").click()
        page.keyboard.press("Control+Enter")
        wait_for_text(page, "mine again")
        text.fill("never saved")
        save(spec, spec_text("last"))
        conflict.get_by_role("button", name="Load it").click()
        expect(text).to_have_value(spec_text("last"))


def test_messages_lead_to_their_lines(browser: Browser, spec: Path, studio: Start) -> None:
    running = studio(spec)
    with visit(browser, running.url) as page:
        page.locator("#text").fill(spec_text("a").replace("heading: One", "heading: One, colour: red"))
        page.keyboard.press("Control+s")
        page.locator("#problems button.where").click()
        assert page.evaluate("document.activeElement.selectionStart") == spec_text("a").index("paragraphs")
        expect(page.locator(".numbers .error")).to_have_text("4")


def test_two_tabs(browser: Browser, spec: Path, studio: Start) -> None:
    running = studio(spec)
    with (
        visit(browser, running.url) as one,
        visit(browser, running.url) as two,
        visit(browser, f"{running.url}preview") as three,
    ):
        expect(two.locator("#text")).to_have_value(spec_text("first"))
        one.locator("#text").fill(spec_text("from one"))
        one.keyboard.press("Control+Enter")
        for page in (one, two, three):
            wait_for_text(page, "from one")
        expect(two.locator("#text")).to_have_value(spec_text("from one"))
        expect(tokens(two, "top").first).to_be_attached()


def test_the_server_goes_and_comes_back(browser: Browser, spec: Path, studio: Start) -> None:
    running = studio(spec)
    with visit(browser, running.url, expected="ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET") as page:
        wait_for_text(page, "first")
        running.stop()
        expect(page.locator("body")).to_have_attribute("data-state", "lost")
        save(spec, spec_text("meanwhile"))
        running.start()
        wait_for_text(page, "meanwhile")
        expect(page.locator("#text")).to_have_value(spec_text("meanwhile"))
        # The token is that of the new server.
        page.locator("#text").fill(spec_text("afterwards"))
        page.keyboard.press("Control+Enter")
        wait_for_text(page, "afterwards")


def test_two_hundred_saves(browser: Browser, spec: Path, studio: Start) -> None:
    running = studio(spec)
    with visit(browser, running.url) as page, visit(browser, f"{running.url}preview") as preview:
        wait_for_text(page, "first")
        for number in range(200):
            save(spec, spec_text(f"save number {number}." if number % 20 != 7 else "["))
            page.wait_for_timeout(5)
        for one in (page, preview):
            wait_for_text(one, "save number 199.")
            expect(one.locator("body")).to_have_attribute("data-state", "ok")
        expect(page.locator("#text")).to_have_value(spec_text("save number 199."))
        assert page.locator("iframe").count() <= 2 and preview.locator("iframe").count() <= 2


# What must not happen


def test_nothing_of_a_spec_or_a_model_runs(browser: Browser, spec: Path, studio: Start) -> None:
    hostile = "</script><img src=x onerror='document.title=1'><iframe src='//evil.example'>"
    save(spec, f'title: "{hostile}"\nhero: {{heading: "{hostile}", text: "{hostile}"}}\n')

    def answer(request: Request) -> str:
        written = by_rule(request)
        return written if request.label != "hero" else f"<script>document.title = 2</script>{hostile}{written}"

    running = studio(spec, engine=lambda decoding: ScriptedEngine(answer))
    assert not running.expect().ok
    for address in (running.url, f"{running.url}preview"):
        with visit(browser, address) as page:
            expect(page.locator("#problems")).to_contain_text("error[E04")
            page.evaluate("new Promise(done => setTimeout(done, 300))")
            assert page.locator("img").count() == 0 and page.title() in ("page · pagec", "page · pagec preview")
    save(spec, f'title: T\nhero: {{heading: H, "{hostile}": x}}\n')
    with visit(browser, running.url) as page:
        expect(page.locator("#problems")).to_contain_text("evil.example")
        expect(page.locator("#text")).to_have_value(spec.read_text(encoding="utf-8"))
        page.get_by_role("button", name="COMPILE").click()
        assert page.locator("img").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_and_small_windows(browser: Browser, mini: Studio, scheme: Scheme) -> None:
    problems: dict[str, list[str]] = {}
    good = mini.target.read_text(encoding="utf-8")

    def look(page: Page, name: str) -> None:
        for width in (360, 768, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            found = [*map(str, axe(page)), *([f"{wide} px too wide"] if wide > 0 else [])]
            if found:
                problems[f"{name} {width}"] = found

    with (
        visit(browser, mini.url, scheme=scheme) as page,
        visit(browser, f"{mini.url}preview", scheme=scheme) as preview,
    ):
        compile_anew(page, mini)
        tokens(page, "top").nth(3).click()
        expect(page.locator("#token tr")).to_have_count(5)
        look(page, "built")
        look(preview, "preview")
        save(mini.target, good.replace("hero:", "herro:", 1))
        for one, name in ((page, "failed"), (preview, "preview of a failure")):
            expect(one.locator("#problems")).to_be_visible()
            look(one, name)
        page.locator("#text").fill("x")
        save(mini.target, good.replace("hero:", "heroo:", 1))
        expect(page.locator("#conflict")).to_be_visible()
        look(page, "conflict")
        save(mini.target, good)
        expect(page.locator("body")).to_have_attribute("data-state", "ok")
    assert problems == {}
