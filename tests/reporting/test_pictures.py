"""Timelines and bar charts: small SVG with everything in percent of its width."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from pagecompiler.reporting.charts import Bar, BarRow, bar_chart
from pagecompiler.reporting.timeline import Stretch, ticks, timeline

from .stories import HOSTILE


def parsed(picture: str) -> BeautifulSoup:
    return BeautifulSoup(picture, "html5lib")


def stretch(lane: int, start: float, written: float, end: float, **more: object) -> Stretch:
    return Stretch(lane, start, written, end, **({"label": "hero", "title": "t", "tone": 1} | more))  # type: ignore[arg-type]


def test_a_stretch_stands_where_its_time_is():
    soup = parsed(timeline([stretch(0, 0, 1, 2), stretch(1, 2, 3, 4)], label="two lanes"))
    assert soup.svg["aria-label"] == "two lanes" and soup.svg["height"] == str(2 * 30 + 22)
    first, second = soup.select("g.stretch")
    assert (first.rect["x"], first.rect["width"], first.rect["y"]) == ("0.000%", "25.000%", "3")
    assert (second.rect["x"], second.svg["x"], second.svg["width"]) == ("50.000%", "75.000%", "25.000%")
    assert second.rect["y"] == "33"


def test_what_came_to_nothing_is_marked():
    soup = parsed(timeline([stretch(0, 0, 1, 2, broken=True)], label="x"))
    assert soup.select_one("g.broken") is not None


def test_a_timeline_of_nothing_is_an_empty_one():
    assert not parsed(timeline([], label="x")).select("g")


@pytest.mark.parametrize("total", [1e-9, 0.004, 0.9, 1.0, 7.3, 60, 12_345])
def test_ticks_are_few_and_within(total: float):
    found = ticks(total)
    assert 1 <= len(found) <= 6 and found[0] == 0 and all(second < total for second in found[1:])


def test_bars_share_one_scale_and_whiskers_show_the_spread():
    rows = [
        BarRow("plain", (Bar(50, "50/s", 40, 60),)),
        BarRow("mtp 2", (Bar(100, "100/s"), Bar(0, "none")), strong=True),
    ]
    soup = parsed(bar_chart(rows, label="speeds"))
    assert [bar["width"] for bar in soup.select("rect.bar")] == ["36.000%", "72.000%", "0.000%"]
    whisker = soup.select_one("line.whisker")
    assert (whisker["x1"], whisker["x2"]) == ("28.800%", "43.200%")
    # The value stands behind the whisker.
    assert soup.select("text.value")[0]["x"] == "43.200%"
    assert [text.get_text() for text in soup.select("text")] == ["plain", "50/s", "mtp 2", "100/s", "none"]


def test_a_chart_of_nothing_divides_by_nothing():
    assert parsed(bar_chart([BarRow("plain", (Bar(0, "0"),))], label="x")).rect["width"] == "0.000%"
    assert not parsed(bar_chart([], label="x")).select("rect")


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_in_pictures_are_text(text: str):
    for picture in (
        timeline([stretch(0, 0, 1, 2, label=text, title=text)], label=text),
        bar_chart([BarRow(text, (Bar(1, text),))], label=text),
    ):
        soup = parsed(picture.encode("utf-8", "replace").decode())
        assert not soup.select("script, img, style, [onmouseover], [onerror]")
        assert len(soup.body.contents) == 1
