"""Markup of every kind of block, and the rules that choose a layout by what the block holds.

    hero      `split` with an image · `wide` with a long text · otherwise `center`
    features  `ticks` with titles only · `rows` with a long text, up to 6 items · otherwise `cards`
    steps     `flow` for up to 4 items without images and long texts · otherwise `path`
    stats     `figures` for up to 4 with short labels · otherwise `figures small`
    quotes    one alone is `large` · `voices columns` for more than 3 or a long text · otherwise `voices`
    pricing   `plans` with points or actions, or up to 4 items with a text · otherwise `price-list`
    people    `portraits` with images or texts · otherwise `roster`
    figure    `beside` its long caption · otherwise `wide`

A class of an inner element is never the name of a kind: `.faq` is the section, `.questions` its list.
"""

from __future__ import annotations

from collections.abc import Callable

from pagecompiler.engine.reference.description import Description, Item, Word

Lines = list[str]


def write_block(block: Description) -> str:
    """The fragment of a block. Raises ValueError for a kind that has no rule."""
    writer = _WRITERS.get(block.kind)
    if writer is None:
        raise ValueError(f"no rule writes a block of kind {block.kind!r}")
    return "\n".join(writer(block))


def _nav(block: Description) -> Lines:
    brand = f'<a class="brand" href="#top">{block.fields["brand"].slot}</a>'
    links = block.items("links")
    if not links:
        return [f'<p class="nav">{brand}</p>']
    return ['<nav class="nav">', brand, *_links(links), "</nav>"]


def _footer(block: Description) -> Lines:
    return [
        '<div class="footer">',
        *_optional(block, "text", "<p>", "</p>"),
        *_links(block.items("links")),
        "</div>",
    ]


def _links(links: list[Item]) -> Lines:
    if not links:
        return []
    rows = [f'<li><a href="{link["href"].slot}">{link["text"].slot}</a></li>' for link in links]
    return ['<ul class="links">', *rows, "</ul>"]


def _hero(block: Description) -> Lines:
    image = block.fields.get("image")
    text = block.fields.get("text")
    layout = "split" if image else "wide" if text and text.long else "center"
    lines = [
        f'<section class="hero {layout}">',
        '<div class="copy">',
        f"<h1>{block.fields['heading'].slot}</h1>",
        *_optional(block, "text", '<p class="lead">', "</p>"),
        *_actions(block.items("actions")),
        "</div>",
    ]
    if image:
        lines.append(f'<img src="{image.slot}">')
    return [*lines, "</section>"]


def _actions(actions: list[Item]) -> Lines:
    if not actions:
        return []
    lines = ['<ul class="actions">']
    for index, action in enumerate(actions):
        style = "button quiet" if index else "button"
        lines.append(f'<li><a class="{style}" href="{action["href"].slot}">{action["text"].slot}</a></li>')
    return [*lines, "</ul>"]


def _section(inner: Callable[[Description], Lines]) -> Callable[[Description], Lines]:
    """A section with its heading and intro around the lines of one kind."""

    def writer(block: Description) -> Lines:
        return [
            f'<section class="{block.kind}">',
            f"<h2>{block.fields['heading'].slot}</h2>",
            *_optional(block, "intro", '<p class="intro">', "</p>"),
            *inner(block),
            "</section>",
        ]

    return writer


def _optional(block: Description, name: str, before: str, after: str) -> Lines:
    word = block.fields.get(name)
    return [f"{before}{word.slot}{after}"] if word else []


def _part(item: Item, name: str, before: str, after: str) -> Lines:
    word = item.get(name)
    return [f"{before}{word.slot}{after}"] if word else []


def _list(tag: str, layout: str, items: list[Lines]) -> Lines:
    if not items:
        return []
    lines = [f'<{tag} class="{layout}">']
    for item in items:
        lines += ["<li>", *item, "</li>"]
    return [*lines, f"</{tag}>"]


def _entry(item: Item) -> Lines:
    title = item["title"].slot
    if "href" in item:
        title = f'<a href="{item["href"].slot}">{title}</a>'
    return [
        *_part(item, "image", '<img src="', '">'),
        f"<h3>{title}</h3>",
        *_part(item, "text", "<p>", "</p>"),
    ]


def _features(block: Description) -> Lines:
    items = block.items()
    if not any("image" in item or "text" in item for item in items):
        layout = "ticks"
    elif len(items) <= 6 and _any_long(items, "text"):
        layout = "rows"
    else:
        layout = "cards"
    return _list("ul", layout, [_entry(item) for item in items])


def _steps(block: Description) -> Lines:
    items = block.items()
    plain = not any("image" in item for item in items) and not _any_long(items, "text")
    return _list("ol", "flow" if plain and len(items) <= 4 else "path", [_entry(item) for item in items])


def _any_long(items: list[Item], name: str) -> bool:
    return any(name in item and item[name].long for item in items)


def _prose(block: Description) -> Lines:
    paragraphs = _optional(block, "paragraphs", '<p data-each="paragraphs">', "</p>")
    return ['<div class="text">', *paragraphs, "</div>"] if paragraphs else []


def _stats(block: Description) -> Lines:
    items = block.items()
    large = len(items) <= 4 and all(item["label"].length == "short" for item in items)
    lines = ['<dl class="figures">' if large else '<dl class="figures small">']
    for item in items:
        lines += ["<div>", f"<dt>{item['label'].slot}</dt>", f"<dd>{item['value'].slot}</dd>", "</div>"]
    return [*lines, "</dl>"]


def _quotes(block: Description) -> Lines:
    items = block.items()
    if len(items) == 1:
        return _quote(items[0], "quote large")
    columns = len(items) > 3 or _any_long(items, "text")
    lines = ['<div class="voices columns">' if columns else '<div class="voices">']
    for item in items:
        lines += _quote(item, "quote")
    return [*lines, "</div>"]


def _quote(item: Item, style: str) -> Lines:
    lines = [f'<figure class="{style}">', f"<blockquote><p>{item['text'].slot}</p></blockquote>"]
    names = [
        *_part(item, "by", '<span class="by">', "</span>"),
        *_part(item, "role", '<span class="role">', "</span>"),
    ]
    if names:
        lines += ["<figcaption>", *names, "</figcaption>"]
    return [*lines, "</figure>"]


def _faq(block: Description) -> Lines:
    items = block.items()
    if not items:
        return []
    lines = ['<div class="questions">']
    for item in items:
        question, answer = item["question"].slot, item["answer"].slot
        lines += ["<details>", f"<summary>{question}</summary>", f"<p>{answer}</p>", "</details>"]
    return [*lines, "</div>"]


def _pricing(block: Description) -> Lines:
    items = block.items()
    rich = any("points" in item or "action" in item for item in items)
    plans = rich or (len(items) <= 4 and any("text" in item for item in items))
    return _list("ul", "plans" if plans else "price-list", [_plan(item) for item in items])


def _plan(item: Item) -> Lines:
    lines = [f"<h3>{item['title'].slot}</h3>", f'<p class="price">{item["price"].slot}</p>']
    lines += _part(item, "text", "<p>", "</p>")
    if "points" in item:
        lines += ['<ul class="points">', f'<li data-each="points">{item["points"].slot}</li>', "</ul>"]
    if "action" in item:
        lines.append(f'<p><a class="button" href="{item["href"].slot}">{item["action"].slot}</a></p>')
    return lines


def _table(block: Description) -> Lines:
    head = "".join(f"<th>{word.slot}</th>" for word in block.words("columns"))
    row = "".join(f"<td>{word.slot}</td>" for word in block.words("rows"))
    return [
        '<div class="scroll">',
        "<table>",
        *_optional(block, "caption", "<caption>", "</caption>"),
        "<thead>",
        f"<tr>{head}</tr>",
        "</thead>",
        "<tbody>",
        f'<tr data-each="rows">{row}</tr>',
        "</tbody>",
        "</table>",
        "</div>",
    ]


def _chart(block: Description) -> Lines:
    return [
        '<figure class="plot">',
        *_list("ul", "bars", [_bar(item) for item in block.items()]),
        *_caption(block),
    ]


def _bar(item: Item) -> Lines:
    value = item["value"].slot + (f" {item['unit'].slot}" if "unit" in item else "")
    return [
        f'<span class="label">{item["label"].slot}</span>',
        f'<span class="value">{value}</span>',
        '<span class="bar"></span>',
    ]


def _caption(block: Description) -> Lines:
    return [*_optional(block, "caption", "<figcaption>", "</figcaption>"), "</figure>"]


def _schedule(block: Description) -> Lines:
    return _list("ol", "sessions", [_session(item) for item in block.items()])


def _session(item: Item) -> Lines:
    return [
        f'<p class="time">{item["time"].slot}</p>',
        f"<h3>{item['title'].slot}</h3>",
        *_part(item, "text", "<p>", "</p>"),
        *_part(item, "by", '<p class="by">', "</p>"),
    ]


def _people(block: Description) -> Lines:
    items = block.items()
    portraits = any("image" in item or "text" in item for item in items)
    return _list("ul", "portraits" if portraits else "roster", [_person(item) for item in items])


def _person(item: Item) -> Lines:
    return [
        *_part(item, "image", '<img src="', '">'),
        f"<h3>{item['name'].slot}</h3>",
        *_part(item, "role", '<p class="role">', "</p>"),
        *_part(item, "text", "<p>", "</p>"),
    ]


def _code(block: Description) -> Lines:
    return [
        '<figure class="listing">',
        f"<pre><code>{block.fields['code'].slot}</code></pre>",
        *_caption(block),
    ]


def _figure(block: Description) -> Lines:
    caption = block.fields.get("caption", Word("", ""))
    layout = "beside" if caption.long else "wide"
    return [f'<figure class="{layout}">', f'<img src="{block.fields["image"].slot}">', *_caption(block)]


def _cta(block: Description) -> Lines:
    return [*_optional(block, "text", "<p>", "</p>"), *_actions(block.items("actions"))]


_WRITERS: dict[str, Callable[[Description], Lines]] = {
    "nav": _nav,
    "hero": _hero,
    "footer": _footer,
    "features": _section(_features),
    "steps": _section(_steps),
    "prose": _section(_prose),
    "stats": _section(_stats),
    "quotes": _section(_quotes),
    "faq": _section(_faq),
    "pricing": _section(_pricing),
    "table": _section(_table),
    "chart": _section(_chart),
    "schedule": _section(_schedule),
    "people": _section(_people),
    "code": _section(_code),
    "figure": _section(_figure),
    "cta": _section(_cta),
}
