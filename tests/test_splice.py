"""Old fragments spliced to new structures: mostly exactly what the model will write."""

from __future__ import annotations

import pytest

from pagecompiler.splice import splice

FULL = ("image", "title", "href", "text")
PLAIN = ("title", "text")
SHORT = ("title",)
ROLE = {"image": "image", "title": "short", "href": "anchor", "text": "line"}


def features(items, *, intro=True) -> tuple[str, str]:
    """A description and the fragment that a consistent writer makes of it."""
    numbers = iter(range(1, 100))
    lines, html = ["kind: features"], ['<section class="features">']

    def slot() -> str:
        return f"{{{{{next(numbers)}}}}}"

    heading = slot()
    lines.append(f"{heading} heading line")
    html.append(f"<h2>{heading}</h2>")
    if intro:
        text = slot()
        lines.append(f"{text} intro long")
        html.append(f"<p>{text}</p>")
    lines.append("items:")
    html.append('<ul class="cards">')
    for fields in items:
        placed = {name: slot() for name in fields}
        lines += [f"{'- ' if name == fields[0] else '  '}{placed[name]} {name} {ROLE[name]}" for name in fields]
        title = f'<a href="{placed["href"]}">{placed["title"]}</a>' if "href" in placed else placed["title"]
        image = f'<img src="{placed["image"]}">' if "image" in placed else ""
        text = f"<p>{placed['text']}</p>" if "text" in placed else ""
        html.append(f"<li>{image}<h3>{title}</h3>{text}</li>")
    html.append("</ul></section>")
    return "\n".join(lines), "".join(html)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ([PLAIN] * 3, [PLAIN] * 4),
        ([PLAIN] * 4, [PLAIN] * 3),
        ([PLAIN], [PLAIN] * 5),
        ([PLAIN] * 5, [PLAIN]),
        ([PLAIN, FULL, PLAIN], [PLAIN, FULL, FULL, PLAIN]),
        ([FULL, PLAIN, FULL], [FULL, FULL]),
        ([PLAIN, SHORT, PLAIN], [PLAIN, SHORT, SHORT, PLAIN]),
        ([PLAIN, SHORT, FULL], [FULL, PLAIN, SHORT]),
        ([FULL, SHORT], [SHORT]),
        ([FULL] * 2, [PLAIN] * 2),
        ([FULL] * 2, [SHORT] * 2),
        ([PLAIN] * 12, [PLAIN] * 13),
    ],
)
def test_items_that_come_and_go(old, new):
    old_description, fragment = features(old)
    new_description, expected = features(new)
    assert splice(old_description, fragment, new_description) == expected


def test_white_space_goes_with_its_element():
    old, new = (f"kind: steps\nitems:\n- {{{{1}}}} title short{rest}" for rest in ("\n- {{2}} title line", ""))
    one, two = "<ol>\n  <li>{{1}}</li>\n</ol>", "<ol>\n  <li>{{1}}</li>\n  <li>{{2}}</li>\n</ol>"
    assert splice(old, two, new) == one
    assert splice(new, one, old) == two


def test_a_field_of_the_block_that_goes():
    old_description, fragment = features([PLAIN] * 3)
    new_description, expected = features([PLAIN] * 3, intro=False)
    assert splice(old_description, fragment, new_description) == expected


def test_a_new_field_of_the_block_is_left_to_the_model():
    old_description, fragment = features([PLAIN] * 2, intro=False)
    new_description, expected = features([PLAIN] * 2)
    assert splice(old_description, fragment, new_description) == expected.replace("<p>{{2}}</p>", "")


def test_an_equal_description_keeps_the_fragment():
    description, fragment = features([FULL] * 2)
    assert splice(description, fragment, description) == fragment


def test_columns_of_a_table():
    old = "kind: table\n{{1}} caption line\ncolumns:\n- {{2}} short\n- {{3}} short\nrows:\n- {{4}} short\n- {{5}} line"
    new = "kind: table\ncolumns:\n- {{1}} short\n- {{2}} short\n- {{3}} short\nrows:\n- {{4}} short\n- {{5}} line\n- {{6}} line"
    fragment = (
        "<section><table><caption>{{1}}</caption><thead><tr><th>{{2}}</th><th>{{3}}</th></tr></thead>"
        '<tbody><tr data-each="rows"><td>{{4}}</td><td>{{5}}</td></tr></tbody></table></section>'
    )
    assert splice(old, fragment, new) == (
        "<section><table><thead><tr><th>{{1}}</th><th>{{2}}</th><th>{{3}}</th></tr></thead>"
        '<tbody><tr data-each="rows"><td>{{4}}</td><td>{{5}}</td><td>{{6}}</td></tr></tbody></table></section>'
    )


def test_items_without_an_element_of_their_own():
    old = "kind: stats\nitems:\n- {{1}} label short\n  {{2}} value number"
    new = old + "\n- {{3}} label short\n  {{4}} value number"
    assert splice(old, "<dl><dt>{{1}}</dt><dd>{{2}}</dd></dl>", new) == (
        "<dl><dt>{{1}}</dt><dd>{{2}}</dd><dt>{{3}}</dt><dd>{{4}}</dd></dl>"
    )


@pytest.mark.parametrize(
    "fragment",
    ["", "{{1}}", "<ul><li>{{1}}", "</p></p>", "<a href='{{9}}'>{{1}}{{2}}</a>", '<p title="a>b">{{1}}{{1}}</p>', "<"],
)
def test_strange_fragments_do_no_harm(fragment):
    (old, _), (new, _) = features([PLAIN] * 3), features([SHORT, FULL])
    assert isinstance(splice(old, fragment, new), str)
    assert isinstance(splice("", fragment, new), str)
    assert isinstance(splice(old, fragment, ""), str)
