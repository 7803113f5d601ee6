"""Random block structures: every kind, every combination of optional fields, 1 to 24 items, every length class."""

from __future__ import annotations

import random
from typing import Any

from pagecompiler import schema
from pagecompiler.moods import MAX_MOOD_WORDS, MOOD_WORDS
from pagecompiler.prompts import style_structure
from pagecompiler.slots import Structure, footer_structure, hero_structure, nav_structure, section_structure

KINDS = (
    "nav", "hero", "footer", "features", "steps", "prose", "stats", "quotes", "faq", "pricing", "table",
    "chart", "schedule", "people", "code", "figure", "cta", "style",
)  # fmt: skip

# Kinds with many layouts or many optional fields are seen more often.
WEIGHTS = (3, 5, 3, 9, 8, 1, 5, 8, 4, 9, 5, 6, 7, 7, 2, 3, 3, 12)

_TEXTS = {"short": "one two", "line": "one two three four five", "long": "word " * 14 + "end"}
IMAGE = "a.svg"

_HREFS = ("#top", "https://example.com/a", "mailto:a@example.com", "tel:+49301234", "/a")


class StructureMaker:
    """Makes structures from a seed; equal seeds make equal sequences."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def structure(self, kind: str | None = None) -> Structure:
        """One random structure, of the given kind or of a weighted random one."""
        kind = kind or self._random.choices(KINDS, WEIGHTS)[0]
        if kind == "style":
            return self._style()
        if kind == "nav":
            return nav_structure(self._nav())
        if kind == "footer":
            return footer_structure(self._footer())
        if kind == "hero":
            return hero_structure(self._hero())
        return section_structure(self._section(kind), 0)

    def page(self) -> schema.PageSpec:
        """One random page of 2 to 9 sections. Its images are all the file `IMAGE`."""
        kinds = [kind for kind in KINDS if kind in schema.SECTION_TYPES]
        count = self._random.randint(2, 9)
        return schema.PageSpec(
            title="A page",
            theme=self._theme(),
            nav=self._nav() if self._random.random() < 0.8 else None,
            hero=self._hero(),
            sections=[self._section(kind) for kind in self._random.choices(kinds, k=count)],
            footer=self._footer() if self._random.random() < 0.8 else None,
        )

    def _nav(self) -> schema.Nav:
        return schema.Nav(brand=self._text(), links=self._links(0))

    def _footer(self) -> schema.Footer:
        text = self._maybe()
        return schema.Footer(text=text, links=self._links(0 if text else 1))

    def _hero(self) -> schema.Hero:
        return schema.Hero(
            heading=self._text(), text=self._maybe(0.8), actions=self._links(0, most=4), image=self._image(0.5)
        )

    def _section(self, kind: str) -> Any:
        fields = getattr(self, f"_{kind}")()
        return schema.SECTION_TYPES[kind](kind=kind, heading=self._text(), intro=self._maybe(0.35), **fields)

    def _text(self) -> str:
        return _TEXTS[self._random.choice(("short", "line", "long"))]

    def _maybe(self, chance: float = 0.5) -> str | None:
        return self._text() if self._random.random() < chance else None

    def _image(self, chance: float) -> schema.Image | None:
        return schema.Image(src=IMAGE, alt="") if self._random.random() < chance else None

    def _link(self) -> schema.Link:
        return schema.Link(text=self._text(), href=self._random.choice(_HREFS))

    def _links(self, least: int, most: int = 12) -> list[schema.Link]:
        if self._random.random() < 0.1:
            most = schema.MAX_ITEMS
        return [self._link() for _ in range(self._count(least, most))]

    def _count(self, least: int = 1, most: int = schema.MAX_ITEMS) -> int:
        """Small numbers often, large ones seldom: every rule shows in a few items, more only cost time."""
        top = self._random.choices((3, 6, 12, schema.MAX_ITEMS), (55, 28, 11, 6))[0]
        return self._random.randint(least, max(least, min(top, most)))

    def _entries(self) -> dict[str, Any]:
        images = self._random.choice((0.0, 0.0, 0.5, 1.0))
        texts = self._random.choice((0.0, 0.5, 0.9, 1.0, 1.0))
        hrefs = self._random.choice((0.0, 0.0, 0.5, 1.0))
        lengths = self._lengths()
        return {
            "items": [
                schema.Entry(
                    title=self._text(),
                    image=self._image(images),
                    href=self._random.choice(_HREFS) if self._random.random() < hrefs else None,
                    text=_TEXTS[self._random.choice(lengths)] if self._random.random() < texts else None,
                )
                for _ in range(self._count())
            ]
        }

    def _lengths(self) -> tuple[str, ...]:
        """The classes of the texts of one block: real blocks seldom mix all three."""
        return self._random.choice(
            (("short", "line"), ("line",), ("line", "line", "line", "long"), ("short", "line", "long"))
        )

    _features = _entries
    _steps = _entries

    def _prose(self) -> dict[str, Any]:
        return {"paragraphs": [self._text()]}

    def _stats(self) -> dict[str, Any]:
        short = self._random.random() < 0.5
        label = (lambda: _TEXTS["short"]) if short else self._text
        return {"items": [schema.Stat(value="1", label=label()) for _ in range(self._count())]}

    def _quotes(self) -> dict[str, Any]:
        count = 1 if self._random.random() < 0.2 else self._count()
        by, role = self._random.choice((0.0, 0.5, 1.0, 1.0)), self._random.choice((0.0, 0.5, 1.0))
        lengths = self._lengths()
        return {
            "items": [
                schema.Quote(text=_TEXTS[self._random.choice(lengths)], by=self._maybe(by), role=self._maybe(role))
                for _ in range(count)
            ]
        }

    def _faq(self) -> dict[str, Any]:
        return {"items": [schema.Question(question=self._text(), answer=self._text()) for _ in range(self._count())]}

    def _pricing(self) -> dict[str, Any]:
        texts, points, actions = (self._random.choice((0.0, 0.5, 1.0)) for _ in range(3))
        return {
            "items": [
                schema.PricePlan(
                    title=self._text(),
                    price="1",
                    text=self._maybe(texts),
                    points=[self._text()] if self._random.random() < points else [],
                    action=self._link() if self._random.random() < actions else None,
                )
                for _ in range(self._count())
            ]
        }

    def _table(self) -> dict[str, Any]:
        columns = self._count(most=schema.MAX_COLUMNS)
        return {
            "columns": [self._text() for _ in range(columns)],
            "rows": [[self._text() for _ in range(columns)]],
            "caption": self._maybe(),
        }

    def _chart(self) -> dict[str, Any]:
        units = self._random.choice((0.0, 0.5, 1.0))
        lengths = self._random.choice((("short",), ("short",), ("short", "line", "long")))  # kg, seldom more
        return {
            "items": [
                schema.Bar(
                    label=self._text(),
                    value="1",
                    unit=_TEXTS[self._random.choice(lengths)] if self._random.random() < units else None,
                )
                for _ in range(self._count())
            ],
            "caption": self._maybe(),
        }

    def _schedule(self) -> dict[str, Any]:
        texts, by = (self._random.choice((0.0, 0.5, 1.0)) for _ in range(2))
        return {
            "items": [
                schema.Session(time=self._text(), title=self._text(), text=self._maybe(texts), by=self._maybe(by))
                for _ in range(self._count())
            ]
        }

    def _people(self) -> dict[str, Any]:
        images, roles, texts = (self._random.choice((0.0, 0.5, 1.0)) for _ in range(3))
        return {
            "items": [
                schema.Person(
                    name=self._text(), role=self._maybe(roles), text=self._maybe(texts), image=self._image(images)
                )
                for _ in range(self._count())
            ]
        }

    def _code(self) -> dict[str, Any]:
        return {"code": "x", "caption": self._maybe()}

    def _figure(self) -> dict[str, Any]:
        return {"image": schema.Image(src=IMAGE, alt=""), "caption": self._maybe(0.75)}

    def _cta(self) -> dict[str, Any]:
        return {"text": self._maybe(0.7), "actions": self._links(1, most=6)}

    def _style(self) -> Structure:
        return style_structure(self._theme())

    def _theme(self) -> schema.Theme:
        words = self._random.sample(MOOD_WORDS, self._random.randint(0, MAX_MOOD_WORDS))
        font = self._random.choice(("sans", "serif", "mono"))
        return schema.Theme(font=font, mood=", ".join(words) or None)
