"""The report of a bench: the verdict first, every figure somewhere, nothing that runs."""

from __future__ import annotations

import doctest
import re
from dataclasses import replace
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from pagecompiler.bench.figures import (
    Arm,
    ArmFigures,
    BenchResult,
    Difference,
    Judgement,
    Load,
    LoadVerdict,
    Outcome,
    TracedRequest,
)
from pagecompiler.engine.types import GenerationEvent
from pagecompiler.reporting import amounts, bench_tables
from pagecompiler.reporting.bench_report import bench_report, traced_attempts
from pagecompiler.reporting.tokens import TokenRoom
from tests.bench.sample import MTP_2, PLAIN, sample_result
from tests.referees import Browser, Scheme, vnu

from .judged import problems
from .stories import HOSTILE, events, story


def soup_of(result: BenchResult, **more: object) -> BeautifulSoup:
    report = bench_report(result, **more)  # type: ignore[arg-type]
    assert problems(report) == []
    return BeautifulSoup(report, "html5lib")


def changed(result: BenchResult, arm: Arm, **changes: object) -> BenchResult:
    """The result with other figures of an arm, under every load."""
    loads = tuple(
        replace(
            load, arms=tuple(replace(figures, **changes) if figures.arm == arm else figures for figures in load.arms)
        )
        for load in result.loads
    )
    return replace(result, loads=loads)


def heading(soup: BeautifulSoup, text: str):
    return next((found for found in soup.select("h2, h3") if found.get_text().startswith(text)), None)


def test_the_verdict_and_the_lead_stand_on_top() -> None:
    result = sample_result()
    soup = soup_of(result)
    assert soup.select_one(".verdict").get_text() == f"{result.verdict.words} {result.lead.words}"
    facts = {fact.dt.get_text(): fact.dd.get_text() for fact in soup.select(".facts > div")}
    assert facts["Command"] == "pagec bench specs/kettle.yaml"
    assert facts["Best with 5 lanes"] == "mtp 2, 702 tokens a second"
    assert facts["Processor"] == "A processor, 2 threads used"


def test_each_method_has_a_bar_for_each_load_and_the_winner_stands_out() -> None:
    result = sample_result()
    chart = soup_of(result).select_one("svg.chart")
    assert [label.get_text() for label in chart.select("text.label")] == [f.arm.name for f in result.loads[0].arms]
    assert [label.get_text() for label in chart.select("text.strong")] == ["mtp 2"]
    assert len(chart.select("rect.bar")) == 2 * len(result.loads[0].arms)
    # Five lanes first, then one.
    assert [text.get_text() for text in chart.select("text.value")][:2] == ["520", "210"]


def test_within_the_noise_nothing_is_called_best() -> None:
    result = sample_result()
    noise = LoadVerdict(Outcome.NOISE, 5, PLAIN, 1.0, "With 5 lanes there is no verdict.")
    soup = soup_of(replace(result, loads=tuple(replace(load, verdict=noise) for load in result.loads)))
    assert "no verdict" in soup.select_one(".verdict").get_text()
    assert not soup.select("text.strong") and "Best with" not in soup.get_text()


def test_every_figure_is_in_a_table() -> None:
    soup = soup_of(sample_result())
    names = [region["aria-label"] for region in soup.select(".scroll")]
    assert "All figures, 5 lanes" in names and "All figures, 1 lane, the group upper alone" in names
    table = soup.select_one('[aria-label="All figures, 5 lanes"]')
    cells = {row.th.get_text(): [cell.get_text() for cell in row.select("td")] for row in table.select("tbody tr")}
    assert cells["Tokens a second"][0] == "520 (504–536)"
    assert cells["… at each place of a guess"][:3] == ["–", "91 %", "91 %, 78 %"]
    assert cells["Against plain"][:2] == ["base", "faster"]
    assert cells["In units of plain"][:2] == ["1", "1.27× (1.23×–1.31×)"]


def test_what_was_expected_stands_beside_what_was_measured() -> None:
    soup = soup_of(sample_result())
    table = soup.select_one('[aria-label="Predicted and measured, 5 lanes"]')
    rows = {row.th.get_text(): [cell.get_text() for cell in row.select("td")] for row in table.select("tbody tr")}
    assert rows["mtp 2"][:2] == ["1.46×", "1.35× (1.31×–1.39×)"]
    assert "A sentence of why." in soup.get_text()


def test_one_group_of_the_traced_run_is_told_token_by_token() -> None:
    soup = soup_of(sample_result())
    assert heading(soup, "The group top, token by token") is not None
    assert len(soup.select("svg.timeline g.stretch")) == 2
    assert [label.get_text() for label in soup.select("fieldset label > bdi")] == ["<section", ">", "<h2", ">", "{{1}}"]
    assert len(soup.select("fieldset")) == 1


def test_a_traced_block_that_was_asked_for_again_had_been_refused() -> None:
    run = sample_result().traced
    again = TracedRequest("hero", "top", 0, 11.0, tuple(events(7, story("a", "b"), start=11.0)))
    states = [
        (each.block, each.number, each.state) for each in traced_attempts(replace(run, requests=(*run.requests, again)))
    ]
    assert states == [("hero", 1, "refused"), ("why-this-kettle", 1, "done"), ("hero", 2, "done")]


def test_pages_of_a_traced_run_are_told_apart() -> None:
    run = sample_result().traced
    other = replace(run.requests[0], page=1, events=tuple(replace(e, request=9) for e in run.requests[0].events))
    names = {attempt.block for attempt in traced_attempts(replace(run, requests=(*run.requests, other)))}
    assert names == {"hero (page 1)", "why-this-kettle (page 1)", "hero (page 2)"}


def test_a_defect_an_interruption_and_what_was_left_out_are_said() -> None:
    defect = (Difference("faq", "defect", 3, 2.5, 0.02),)
    result = replace(changed(sample_result(), MTP_2, differences=defect), complete=False)
    soup = soup_of(result)
    words = soup.select_one(".findings").get_text()
    assert "mtp 2 writes something else than plain decoding approves: a defect" in words
    assert "interrupted" in words and "draft: left out" in words
    assert "2.5000" in soup.select_one('[aria-label^="Differences"]').get_text()


def test_the_least_that_a_bench_can_find_is_a_report_too() -> None:
    """A server that tells nothing, one run, no verdict: sections without figures are left out."""
    server = ArmFigures(Arm("server"), 5, 1, 0, Judgement.NONE, problem="1 of 1 runs did not make a valid page")
    result = replace(
        sample_result(), loads=(Load(5, 1, (server,)),), reference=None, rebuild=None, lead=None, traced=None
    )
    soup = soup_of(result)
    assert soup.select_one(".verdict").get_text().startswith("There is no verdict")
    assert "did not make a valid page" in soup.select_one(".findings").get_text()
    assert not soup.select("svg, fieldset")
    soup_of(replace(result, loads=()))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    result = sample_result()
    told = GenerationEvent(1, "text", at=10.2, trace=tuple(story(text, text)))
    start, *_, end = result.traced.requests[0].events
    request = replace(
        result.traced.requests[0],
        label=text,
        group=text,
        events=(replace(start, request=1), told, replace(end, request=1)),
    )
    result = replace(
        changed(result, MTP_2, problem=text, differences=(Difference(text, "near tie", 1, 0.1, 0.2),)),
        spec=text,
        command=text,
        notes=(text,),
        model=replace(result.model, name=text, draft_name=text),
        machine=replace(result.machine, processor=text),
        traced=replace(result.traced, requests=(request,)),
    )
    soup = soup_of(result)
    assert not soup.select("script, img, [onmouseover], [onerror], [style]")
    assert len(soup.select("style")) == 1


def test_the_tokens_of_a_report_are_bounded() -> None:
    soup = soup_of(sample_result(), room=TokenRoom(of_a_report=3))
    assert len(soup.select("fieldset label")) == 3
    assert re.search(r"\b2 more tokens are not shown", soup.get_text())


@pytest.mark.parametrize("module", [amounts, bench_tables])
def test_the_examples_hold(module) -> None:
    assert doctest.testmod(module).failed == 0


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "bench.html"
    path.write_text(bench_report(changed(sample_result(), PLAIN, problem=HOSTILE[0])), encoding="utf-8")
    return path


@pytest.mark.browser
def test_the_nu_html_checker_has_no_message(report: Path) -> None:
    assert vnu([report])[report] == []


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_console_network_and_overflow(report: Path, scheme: Scheme) -> None:
    with Browser() as browser:
        assert browser.check(report, width_px=360, scheme=scheme).problems() == []
