"""The page spec as typed models: what a YAML spec may say. `load_spec` in spec.py makes them from text."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pagecompiler import values

MAX_ITEMS = 24
MAX_COLUMNS = 12

Text = Annotated[str, AfterValidator(values.text)]
OptionalText = Annotated[str, AfterValidator(values.optional_text)]
Markdown = Annotated[str, AfterValidator(values.markdown), "markdown"]
Href = Annotated[str, AfterValidator(values.href), "href"]
Source = Annotated[str, AfterValidator(values.source), "source"]
Colour = Annotated[str, AfterValidator(values.colour)]
Id = Annotated[str, AfterValidator(values.identifier)]
Language = Annotated[str, AfterValidator(values.language)]
Address = Annotated[str, AfterValidator(values.address)]
Number = Annotated[str, AfterValidator(values.number)]
Size = Annotated[int, Field(ge=1, le=20000)]


class Model(BaseModel):
    """Strict base: unknown keys are errors, instances do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Theme(Model):
    """Colours are as typed: #rgb or #rrggbb."""

    accent: Colour | None = None
    background: Colour | None = None
    text: Colour | None = None
    mode: Literal["light", "dark", "auto"] = "auto"
    font: Literal["sans", "serif", "mono"] = "sans"
    mood: Text | None = None


class Link(Model):
    text: Text
    href: Href


class Image(Model):
    """`alt` may be empty: a decorative image. Width and height are CSS pixels."""

    src: Source
    alt: OptionalText
    width: Size | None = None
    height: Size | None = None


class Nav(Model):
    brand: Text
    links: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)


class Hero(Model):
    heading: Text
    text: Markdown | None = None
    actions: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)
    image: Image | None = None
    brief: Text | None = None


class Footer(Model):
    text: Text | None = None
    links: list[Link] = Field(default_factory=list, max_length=MAX_ITEMS)


class SectionBase(Model):
    heading: Text
    id: Id | None = None
    intro: Markdown | None = None


class Entry(Model):
    """An item of features and steps."""

    title: Text
    text: Markdown | None = None
    image: Image | None = None
    href: Href | None = None


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
    paragraphs: list[Markdown] = Field(default_factory=list)
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
    answer: Markdown


class Faq(SectionBase):
    kind: Literal["faq"]
    items: list[Question] = Field(default_factory=list, max_length=MAX_ITEMS)
    brief: Text | None = None


class PricePlan(Model):
    title: Text
    price: Text
    text: Markdown | None = None
    points: list[Text] = Field(default_factory=list, max_length=MAX_ITEMS)
    action: Link | None = None


class Pricing(SectionBase):
    kind: Literal["pricing"]
    items: list[PricePlan] = Field(min_length=1, max_length=MAX_ITEMS)


class Table(SectionBase):
    """`rows` are each as long as `columns`; a cell may be empty, also one of `columns`."""

    kind: Literal["table"]
    columns: list[str] = Field(min_length=1, max_length=MAX_COLUMNS)
    rows: list[list[OptionalText]] = Field(min_length=1)
    caption: Text | None = None


class Bar(Model):
    """`value` is kept as typed; `numbers.parse_number` reads it."""

    label: Text
    value: Number
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
    text: Markdown | None = None
    brief: Text | None = None


Section = Annotated[
    Features | Steps | Prose | Stats | Quotes | Faq | Pricing | Table | Chart | Schedule | People | Code | Figure | Cta,
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
    """One page. `title` is the text of the title element; `lang` is a BCP 47 tag.

    `url` is the page's own absolute address, `image` the picture that other sites show for it.
    """

    title: Text
    description: Text | None = None
    lang: Language = "en"
    theme: Theme = Theme()
    nav: Nav | None = None
    hero: Hero
    sections: list[Section] = Field(default_factory=list)
    footer: Footer | None = None
    favicon: Source | None = None
    url: Address | None = None
    image: Image | None = None
    robots: Text | None = None
    labels: dict[str, Text] = Field(default_factory=dict)


KINDS: dict[str, type[Model]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(get_args(Section)[0])
}
BRIEF_KINDS = tuple(kind for kind, model in KINDS.items() if "brief" in model.model_fields)


@cache
def fields_marked(model: type[Model], mark: str) -> tuple[str, ...]:
    """The fields of a model whose texts (or lists of texts) are "markdown", "href" or "source".

    >>> fields_marked(Entry, "markdown"), fields_marked(Prose, "markdown")
    (('text',), ('intro', 'paragraphs'))
    """

    def has(annotation: Any) -> bool:
        return mark in getattr(annotation, "__metadata__", ()) or any(map(has, get_args(annotation)))

    return tuple(name for name, field in model.model_fields.items() if mark in field.metadata or has(field.annotation))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec, for editors (`pagec check --schema`).

    Editors read `price: 98` and `answer: no` as a number and a boolean; the compiler reads texts, so the
    schema allows these wherever a text may stand.
    """
    schema = PageSpec.model_json_schema(by_alias=True)
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            if isinstance(node.get("default"), dict):
                del node["default"]
            elif node.get("default", ...) is None:
                del node["default"]
                choices = [choice for choice in node.pop("anyOf") if choice != {"type": "null"}]
                node.update(choices[0])
            if node.get("type") == "string" and "enum" not in node and "const" not in node:
                node["type"] = ["string", "number", "boolean"]
            stack.extend(node.values())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "pagec page spec"}
