"""What no single value shows: ids and anchors, rows and columns, briefs, images, labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError

from pagecompiler import assets, ids, inline, languages, schema
from pagecompiler.hrefs import anchor_target, meant
from pagecompiler.numbers import read_number
from pagecompiler.raw_spec import Found, RawSpec, SpecPath, first_line
from pagecompiler.spec_errors import MAX_SUGGESTIONS, close_match

Part = tuple[SpecPath, BaseModel]


def check(page: schema.PageSpec | None, raw: RawSpec, folder: Path, roots: Mapping[str, Path]) -> Iterator[Found]:
    """All findings of these rules; where the page is not valid, those of the parts that are.

    `roots` says by file name what images must lie inside.
    """
    parts = list(_page_parts(page) if page else _valid_parts(raw))
    for path, part in parts:
        yield from _block(path, part, raw)
    everything = [found for path, part in parts for found in _walk(path, part)]
    yield from _ids(parts, raw)
    yield from _anchors(parts, everything, raw, complete=page is not None)
    yield from _schemes(everything, raw)
    yield from _images(everything, raw, folder, roots)
    yield from _vague(everything, raw)
    yield from _labels(raw)


def page_links(page: schema.PageSpec) -> Iterator[tuple[SpecPath, str]]:
    """Every address that a page links to, with the place of its value; images are none."""
    return _hrefs([found for path, part in _page_parts(page) for found in _walk(path, part)])


def _page_parts(page: schema.PageSpec) -> Iterator[Part]:
    """Every part once: what is left of the page comes last, without the others."""
    for name in ("nav", "hero", "footer", "image"):
        if (part := getattr(page, name)) is not None:
            yield (name,), part
    for index, section in enumerate(page.sections):
        yield ("sections", index), section
    yield (), page.model_copy(update={"nav": None, "hero": None, "sections": [], "footer": None, "image": None})


def _valid_parts(raw: RawSpec) -> Iterator[Part]:
    models: dict[str, type[BaseModel]] = {
        "nav": schema.Nav,
        "hero": schema.Hero,
        "footer": schema.Footer,
        "image": schema.Image,
    }
    sections = raw.value.get("sections")
    values = [((name,), raw.value.get(name), model) for name, model in models.items()]
    for index, section in enumerate(sections if isinstance(sections, list) else []):
        kind = section.get("kind") if isinstance(section, dict) else None
        if isinstance(kind, str) and kind in schema.KINDS:
            yield from _valid(("sections", index), section, schema.KINDS[kind])
    for path, value, model in values:
        yield from _valid(path, value, model)


def _valid(path: SpecPath, value: object, model: type[BaseModel]) -> Iterator[Part]:
    if isinstance(value, dict):
        try:
            yield path, model.model_validate(value)
        except ValidationError:
            return


def _walk(path: SpecPath, part: BaseModel) -> Iterator[Part]:
    """A model and all models in it."""
    yield path, part
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, BaseModel):
            yield from _walk((*path, name), value)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, BaseModel):
                    yield from _walk((*path, name, index), item)


def _block(path: SpecPath, part: BaseModel, raw: RawSpec) -> Iterator[Found]:
    content = {"features": "items", "steps": "items", "prose": "paragraphs", "faq": "items", "cta": "actions"}
    kind = getattr(part, "kind", "")
    needed = content.get(kind)
    if (
        needed
        and not getattr(part, needed)
        and getattr(part, "brief", None) is None
        and not raw.is_broken((*path, "brief"))
    ):
        place = (*path, needed)
        span = raw.at(place) if place in raw.positions else raw.keys.get((*path, "kind"), raw.at(path))
        yield "E0208", f"this {kind} section needs `{needed}` or a `brief`", first_line(span), ""
    empty = isinstance(part, schema.Footer) and part.text is None and not part.links
    if empty and not raw.is_broken((*path, "text")):
        message = "the footer has neither `text` nor `links`"
        yield "E0208", message, first_line(raw.at(path)), "delete the key"
    if isinstance(part, schema.Table):
        yield from _rows(path, part, raw)
    if isinstance(part, schema.Chart):
        yield from _bars(path, part, raw)


def _rows(path: SpecPath, table: schema.Table, raw: RawSpec) -> Iterator[Found]:
    width = len(table.columns)
    for index, row in enumerate(table.rows):
        if len(row) != width:
            span = first_line(raw.at((*path, "rows", index)))
            message = f"the row has {_count(len(row), 'cell')}; the table has {_count(width, 'column')}"
            hint = "a comma separates cells: put a text that has one in quotes" if len(row) > width else ""
            yield "E0212", message, span, hint


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _bars(path: SpecPath, chart: schema.Chart, raw: RawSpec) -> Iterator[Found]:
    units: list[str] = []
    for index, bar in enumerate(chart.items):
        number = read_number(bar.value)
        if number is None:
            continue
        span = raw.at((*path, "items", index, "value"))
        if number.ambiguous:
            yield "W0218", f"`{bar.value}` is taken as {number.value}", span, f"write {number.value} if that is meant"
        unit = " ".join(filter(None, (number.unit, bar.unit)))
        if units and unit != units[0]:
            first = f"`{units[0]}`" if units[0] else "nothing"
            here = f"`{unit}`" if unit else "nothing"
            yield "W0219", f"the unit is {here} here and {first} above", span, ""
        units.append(unit)


def _ids(parts: list[Part], raw: RawSpec) -> Iterator[Found]:
    seen: dict[str, SpecPath] = {}
    for path, part in parts:
        identifier = getattr(part, "id", None)
        if not isinstance(part, schema.SectionBase) or identifier is None:
            continue
        place = (*path, "id")
        for name in (identifier, ids.heading_id(identifier)):
            first = seen.setdefault(name.casefold(), place)
            if first != place:
                lines = f"in line {raw.at(first).span.line} and in line {raw.at(place).span.line}"
                message = f"the id `{name}` is used twice: {lines}"
                yield "E0304", message, raw.at(place), ""
                break


def _anchors(parts: list[Part], everything: list[Part], raw: RawSpec, *, complete: bool) -> Iterator[Found]:
    sections = raw.value.get("sections", [])
    headings = [part for path, part in parts if isinstance(part, schema.SectionBase)]
    # A section that is not understood has an unknown id: silence is better than a false alarm.
    if not complete and not (isinstance(sections, list) and len(sections) == len(headings)):
        return
    known = ids.allocate([(part.id, part.heading) for part in headings])
    names = frozenset(known)
    folded = {name.casefold(): name for name in known}
    misses = 0
    for place, href in _hrefs(everything):
        if href.startswith("#") and not ids.defined(href, names):
            target = anchor_target(href)
            misses += 1
            close = folded.get(target.casefold()) or (close_match(target, known) if misses <= MAX_SUGGESTIONS else "")
            listed = ", ".join(known[:12]) or "none"
            hint = f"did you mean `#{close}`?" if close else f"ids of this page: {listed}"
            yield "E0303", f"no section has the id `{target}`", raw.part(place, href), hint


def _schemes(everything: list[Part], raw: RawSpec) -> Iterator[Found]:
    for place, href in _hrefs(everything):
        if address := meant(href):
            message = f"`{href}` is taken as the path of a file"
            yield "W0314", message, raw.part(place, href), f'write "{address}"'


def _hrefs(everything: list[Part]) -> Iterator[tuple[SpecPath, str]]:
    for path, part in everything:
        for name in schema.fields_marked(type(part), "href"):
            if (value := getattr(part, name)) is not None:
                yield (*path, name), value
        for name in schema.fields_marked(type(part), "markdown"):
            value = getattr(part, name)
            for place, text in (
                [((*path, name), value)]
                if isinstance(value, str)
                else [((*path, name, index), item) for index, item in enumerate(value or ())]
            ):
                for link in inline.links(text):
                    yield place, link.href or ""


def _images(everything: list[Part], raw: RawSpec, folder: Path, roots: Mapping[str, Path]) -> Iterator[Found]:
    for path, part in everything:
        for name in schema.fields_marked(type(part), "source"):
            src = getattr(part, name)
            if src is None:
                continue
            try:
                assets.resolve(src, folder, roots[raw.at((*path, name)).file])
            except assets.AssetError as error:
                raw.images |= {error.path} if error.path is not None else set()
                yield error.code, error.message, raw.at((*path, name)), error.hint


def _vague(everything: list[Part], raw: RawSpec) -> Iterator[Found]:
    lang = raw.value.get("lang")
    lang = lang if isinstance(lang, str) else "en"
    for path, part in everything:
        texts = [((*path, "text"), part.text)] if isinstance(part, schema.Link) else []
        if isinstance(part, schema.Image) and (part.alt or "").strip():
            texts.append(((*path, "alt"), part.alt))
        for name in schema.fields_marked(type(part), "markdown"):
            value = getattr(part, name)
            listed = isinstance(value, list)
            for index, text in enumerate(value if listed else [value]):
                place = (*path, name, index) if listed else (*path, name)
                texts += [(place, inline.words(link.children)) for link in inline.links(text or "")]
        for place, text in texts:
            if languages.is_vague(text, lang):
                yield "W0313", f"`{text}` says nothing without what is around it", raw.part(place, text), ""


def _labels(raw: RawSpec) -> Iterator[Found]:
    given = raw.value.get("labels")
    given = given if isinstance(given, dict) else {}
    lang = raw.value.get("lang")
    if not given and not isinstance(lang, str):
        return
    known = tuple(languages.labels("en", {}))
    misses = 0
    for name in given:
        if name not in known:
            misses += 1
            if misses > MAX_SUGGESTIONS:
                return
            close = close_match(name, known)
            hint = f"did you mean `{close}`?" if close else f"known names: {', '.join(known)}"
            yield "E0217", f"there is no label `{name}`", raw.key(("labels", name)), hint
    if isinstance(lang, str) and not languages.has_labels(lang) and not set(known) <= set(given):
        from pagecompiler.langtag import problem

        if problem(lang) is None:
            yield "W0216", f"the compiler has no words of its own in `{lang}`", raw.at(("lang",)), ""
