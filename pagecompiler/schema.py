"""The page spec as typed models: what a YAML spec may say. `load_spec` in spec.py makes them from text."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_ITEMS = 24
MAX_COLUMNS = 12

Text = Annotated[str, Field(min_length=1)]


class Model(BaseModel):
    """Strict base: unknown keys are errors, instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Theme(Model):
    accent: str | None = None
    background: str | None = None
    text: str | None = None
    mode: Literal["light", "dark", "auto"] = "auto"
    font: Literal["sans", "serif", "mono"] = "sans"
    mood: Text | None = None


class Link(Model):
    text: Text
    href: Text


class Image(Model):
    """`alt` may be empty: a decorative image. Width and height are CSS pixels."""

    src: Text
    alt: str
    width: int | None = Field(default=None, ge=1, le=20000)
    height: int | None = Field(default=None, ge=1, le=20000)


class Nav(Model):
    brand: Text
    links: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)


class Hero(Model):
    heading: Text
    text: Text | None = None
    actions: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)
    image: Image | None = None
    brief: Text | None = None


class Footer(Model):
    text: Text | None = None
    links: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)


class SectionBase(Model):
    heading: Text
    id: Text | None = None
    intro: Text | None = None


class Entry(Model):
    """An item of features and steps."""

    title: Text
    text: Text | None = None
    image: Image | None = None
    href: Text | None = None


class Features(SectionBase):
    kind: Literal["features"]
    items: list[Entry] = Field(default_factory=list, max_length=MAX_ITEMS)
    brief: Text | None = None


class Steps(SectionBase):
    kind: Literal["steps"]
    items: list[Entry] = Field(default_factory=list, max_length=MAX_ITEMS)
    brief: Text | None = None


class Prose(SectionBase):
    kind: Literal["prose"]
    paragraphs: list[Text] = Field(default_factory=list)
    brief: Text | None = None


class Stat(Model):
    value: Text
    label: Text


class Stats(SectionBase):
    kind: Literal["stats"]
    items: list[Stat] = Field(min_length=1, max_length=MAX_ITEMS)


class Quote(Model):
    text: Text
    by: Text | None = None
    role: Text | None = None


class Quotes(SectionBase):
    kind: Literal["quotes"]
    items: list[Quote] = Field(min_length=1, max_length=MAX_ITEMS)


class Question(Model):
    question: Text
    answer: Text


class Faq(SectionBase):
    kind: Literal["faq"]
    items: list[Question] = Field(default_factory=list, max_length=MAX_ITEMS)
    brief: Text | None = None


class PricePlan(Model):
    title: Text
    price: Text
    text: Text | None = None
    points: list[Text] = Field(default_factory=list, max_length=MAX_ITEMS)
    action: Link | None = None


class Pricing(SectionBase):
    kind: Literal["pricing"]
    items: list[PricePlan] = Field(min_length=1, max_length=MAX_ITEMS)


class Table(SectionBase):
    """`rows` are each as long as `columns`; a cell may be empty."""

    kind: Literal["table"]
    columns: list[Text] = Field(min_length=1, max_length=MAX_COLUMNS)
    rows: list[list[str]] = Field(min_length=1)
    caption: Text | None = None


class Bar(Model):
    """`value` is kept as typed; `numbers.parse_number` reads it."""

    label: Text
    value: Text
    unit: Text | None = None


class Chart(SectionBase):
    kind: Literal["chart"]
    items: list[Bar] = Field(min_length=1, max_length=MAX_ITEMS)
    caption: Text | None = None


class Session(Model):
    """An item of a schedule."""

    time: Text
    title: Text
    text: Text | None = None
    by: Text | None = None


class Schedule(SectionBase):
    kind: Literal["schedule"]
    items: list[Session] = Field(min_length=1, max_length=MAX_ITEMS)


class Person(Model):
    name: Text
    role: Text | None = None
    text: Text | None = None
    image: Image | None = None


class People(SectionBase):
    kind: Literal["people"]
    items: list[Person] = Field(min_length=1, max_length=MAX_ITEMS)


class Code(SectionBase):
    kind: Literal["code"]
    code: Text
    language: Text | None = None
    caption: Text | None = None


class Figure(SectionBase):
    kind: Literal["figure"]
    image: Image
    caption: Text | None = None


class Cta(SectionBase):
    kind: Literal["cta"]
    actions: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)
    text: Text | None = None
    brief: Text | None = None


Section = Annotated[
    Features
    | Steps
    | Prose
    | Stats
    | Quotes
    | Faq
    | Pricing
    | Table
    | Chart
    | Schedule
    | People
    | Code
    | Figure
    | Cta,
    Field(discriminator="kind"),
]


SECTION_TYPES: dict[str, type[SectionBase]] = {
    "features": Features,
    "steps": Steps,
    "prose": Prose,
    "stats": Stats,
    "quotes": Quotes,
    "faq": Faq,
    "pricing": Pricing,
    "table": Table,
    "chart": Chart,
    "schedule": Schedule,
    "people": People,
    "code": Code,
    "figure": Figure,
    "cta": Cta,
}


class PageSpec(Model):
    """One page. `title` is the text of the title element; `lang` is a BCP 47 tag."""

    title: Text
    description: Text | None = None
    lang: str = "en"
    theme: Theme = Theme()
    nav: Nav | None = None
    hero: Hero
    sections: list[Section] = Field(default_factory=list)
    footer: Footer | None = None
    labels: dict[str, Text] = Field(default_factory=dict)
