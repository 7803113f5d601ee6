"""The sample specs: they load without a word of complaint, and together they show what a spec can say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import imagesize
import pytest
from pydantic import BaseModel

from pagecompiler import schema
from pagecompiler.moods import split_mood
from pagecompiler.spec import load_spec

SPECS = Path(__file__).resolve().parents[2] / "specs"
SAMPLES = sorted(SPECS.glob("*.yaml"))
IMAGES = sorted((SPECS / "images").iterdir())
MAX_IMAGE_BYTES = 12_000

# The samples hold facts only; pages with a `brief` need a model that writes.
NOT_SHOWN = {"brief"}


def _models(value: Any) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        for name in value.model_fields_set:
            yield from _models(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            yield from _models(item)


@pytest.fixture(scope="module")
def pages() -> list[schema.PageSpec]:
    return [load_spec(path).page for path in SAMPLES]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_loads_without_a_warning(path: Path) -> None:
    assert load_spec(path).warnings == ()


def test_there_are_enough_samples() -> None:
    assert len(SAMPLES) >= 8


def test_the_samples_show_every_kind(pages: list[schema.PageSpec]) -> None:
    shown = {section.kind for page in pages for section in page.sections}
    assert shown == set(schema.KINDS)


def test_the_samples_show_every_field(pages: list[schema.PageSpec]) -> None:
    used: dict[type[BaseModel], set[str]] = {}
    for page in pages:
        for model in _models(page):
            used.setdefault(type(model), set()).update(model.model_fields_set)
    common = set(schema.SectionBase.model_fields)
    missing = {
        f"{model.__name__}.{name}"
        for model, names in used.items()
        for name in set(model.model_fields)
        - names
        - NOT_SHOWN
        - (common if issubclass(model, schema.SectionBase) else set())
    }
    assert not missing
    assert common <= set().union(*(names for model, names in used.items() if issubclass(model, schema.SectionBase)))


def test_the_samples_show_every_theme(pages: list[schema.PageSpec]) -> None:
    themes = [page.theme for page in pages]
    assert {theme.mode for theme in themes} == {"light", "dark", "auto"}
    assert {theme.font for theme in themes} == {"sans", "serif", "mono"}
    assert len({theme.accent for theme in themes}) == len(themes)
    assert all(theme.mood and not split_mood(theme.mood)[1] for theme in themes)
    assert {page.lang for page in pages} >= {"en", "de", "ar"}


def test_every_image_is_used_and_no_sample_needs_another(pages: list[schema.PageSpec]) -> None:
    images = {model.src for page in pages for model in _models(page) if isinstance(model, schema.Image)}
    images |= {page.favicon for page in pages if page.favicon}
    assert images == {f"images/{path.name}" for path in IMAGES}


@pytest.mark.parametrize("path", IMAGES, ids=lambda path: path.stem)
def test_an_image_is_small_and_only_a_drawing(path: Path) -> None:
    assert path.stat().st_size < MAX_IMAGE_BYTES
    root = ElementTree.parse(path).getroot()
    width, height = (int(root.attrib[name]) for name in ("width", "height"))
    assert root.attrib["viewBox"] == f"0 0 {width} {height}"
    assert imagesize.get(path) == (width, height)
    for element in root.iter():
        assert element.tag.rpartition("}")[2] not in {"script", "style", "image", "foreignObject", "text"}
        for name, value in element.attrib.items():
            local = name.rpartition("}")[2]
            assert not local.startswith("on")
            assert local != "href" or value.startswith("#")
