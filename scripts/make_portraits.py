# ruff: noqa: E501  (the path of a shape reads best on one line)
"""Draws the portraits of the sample specs into specs/images: `python scripts/make_portraits.py`.

Each portrait is a handful of flat shapes; what differs is in `PORTRAITS`. The other images are drawn by hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "specs" / "images"


@dataclass(frozen=True, slots=True)
class Portrait:
    """`hair` names a pair of shapes below; colours are CSS hexadecimal."""

    name: str
    ground: str
    halo: str
    skin: str
    shade: str
    hair: str
    hair_colour: str
    shirt: str
    collar: str
    glasses: bool = False
    beard: bool = False


# What lies behind the head, and what lies on it; `{c}` is the colour of the hair.
HAIR = {
    "bob": (
        '<path fill="{c}" d="M92 142c0-50 28-80 68-80s68 30 68 80c0 32 4 56 10 74-44 16-112 16-156 0 6-18 10-42 10-74z"/>',
        '<path fill="{c}" d="M107 140c-2-42 20-68 53-68s55 26 53 68c-8-8-14-20-17-32-24 14-58 18-80 14-2 8-5 14-9 18z"/>',
    ),
    "long": (
        '<path fill="{c}" d="M88 148c0-56 30-88 72-88s72 32 72 88c0 50 8 84 20 118-30 14-154 14-184 0 12-34 20-68 20-118z"/>',
        '<path fill="{c}" d="M107 144c-4-44 18-74 53-74s57 30 53 74c-14-14-30-30-40-48-16 22-42 36-66 48z"/>',
    ),
    "bun": (
        '<circle fill="{c}" cx="160" cy="52" r="27"/><path fill="{c}" d="M102 150c-6-52 20-84 58-84s64 32 58 84z"/>',
        '<path fill="{c}" d="M106 146c-4-48 20-76 54-76s58 28 54 76c-6-22-22-42-54-44-32 2-48 22-54 44z"/>',
    ),
    "curls": (
        '<g fill="{c}"><circle cx="104" cy="128" r="27"/><circle cx="112" cy="92" r="29"/><circle cx="143" cy="70" r="30"/>'
        '<circle cx="179" cy="70" r="30"/><circle cx="209" cy="92" r="29"/><circle cx="217" cy="128" r="27"/>'
        '<circle cx="101" cy="160" r="21"/><circle cx="220" cy="160" r="21"/></g>',
        '<g fill="{c}"><circle cx="124" cy="100" r="16"/><circle cx="148" cy="91" r="18"/><circle cx="176" cy="91" r="18"/>'
        '<circle cx="198" cy="101" r="16"/><circle cx="160" cy="84" r="12"/></g>',
    ),
    "short": (
        "",
        '<path fill="{c}" d="M105 146c-10-50 14-84 57-84 40 0 62 30 54 84-6-8-9-18-10-30-26 0-56-6-74-20-5 16-11 34-27 50z"/>',
    ),
    "quiff": (
        "",
        '<path fill="{c}" d="M106 144c-8-30-4-58 18-70 8-18 38-24 60-14 30 6 38 40 30 84-6-10-9-22-11-38-28 6-62 6-84-4-6 12-9 26-13 42z"/>',
    ),
    "grey": (
        '<path fill="{c}" d="M103 158c-9-16-8-40 0-52h114c8 12 9 36 0 52z"/>',
        '<path fill="{c}" d="M107 134c-2-34 16-64 53-64s55 30 53 64c-4-16-12-28-24-34-20-8-42-6-60 2-12 6-19 18-22 32z"/>',
    ),
    "scarf": (
        '<path fill="{c}" d="M86 150c0-58 30-94 74-94s74 36 74 94c0 40 14 74 34 110H52c20-36 34-70 34-110z"/>',
        '<path fill="{c}" fill-rule="evenodd" d="M160 58c-44 0-70 34-70 88 0 52 30 86 70 92 40-6 70-40 70-92 0-54-26-88-70-88z'
        'm0 34c28 0 46 22 46 56s-20 62-46 62-46-28-46-62 18-56 46-56z"/>'
        '<path d="M114 218c24 26 68 28 96-4" fill="none" stroke="#000" stroke-opacity=".14" stroke-width="5" stroke-linecap="round"/>',
    ),
}

PORTRAITS = (
    Portrait("ines", "#f3d9c6", "#f9e9dd", "#e8b08f", "#d6966f", "long", "#4a2a1f", "#2f6f73", "#28595c"),
    Portrait(
        "marek",
        "#cfe0e6",
        "#e4eef1",
        "#f0c3a3",
        "#dda580",
        "short",
        "#2b2f3a",
        "#b5532f",
        "#974223",
        beard=True,
    ),
    Portrait("adaeze", "#f4d58d", "#f9e6b8", "#8d5a3b", "#754729", "curls", "#231815", "#7b3e6b", "#642f57"),
    Portrait(
        "johan",
        "#d5dccb",
        "#e7ece0",
        "#efc0a0",
        "#dba07c",
        "grey",
        "#b9b6ae",
        "#36506b",
        "#2a4058",
        glasses=True,
    ),
    Portrait("mei", "#f2c9c3", "#f9e0dc", "#f1c9a5", "#ddaa80", "bob", "#1f1d24", "#3d5a80", "#314a6b"),
    Portrait(
        "samir",
        "#c9d6ee",
        "#e0e8f6",
        "#c58c66",
        "#ad744e",
        "quiff",
        "#2a1c17",
        "#e0a030",
        "#c48820",
        glasses=True,
    ),
    Portrait("leila", "#d9d2ea", "#eae6f4", "#dba27c", "#c6875f", "scarf", "#31527a", "#5b3a5e", "#4a2d4d"),
    Portrait(
        "oona",
        "#cde3d8",
        "#e2f0e9",
        "#f4cdb4",
        "#e2ae90",
        "bun",
        "#b0562b",
        "#41516b",
        "#344259",
        glasses=True,
    ),
)


def draw(p: Portrait) -> str:
    """The portrait as an SVG document of 320 by 320 pixels."""
    behind, front = (shape.format(c=p.hair_colour) for shape in HAIR[p.hair])
    parts = [
        f'<rect width="320" height="320" fill="{p.ground}"/>',
        f'<circle cx="160" cy="150" r="122" fill="{p.halo}"/>',
        behind,
        # The neck lies over the shirt, so that the collar is cut around it.
        f'<path fill="{p.shirt}" d="M34 320c2-58 36-82 92-92h68c56 10 90 34 92 92z"/>',
        f'<path fill="{p.collar}" d="M118 229c10 30 74 30 84 0l10 4c-12 44-92 44-104 0z"/>',
        f'<path fill="{p.shade}" d="M136 188h48v40c-4 20-44 20-48 0z"/>',
        f'<circle cx="107" cy="154" r="11" fill="{p.shade}"/><circle cx="213" cy="154" r="11" fill="{p.shade}"/>',
        f'<path fill="{p.skin}" d="M107 138c0-38 20-60 53-60s53 22 53 60c0 42-22 76-53 76s-53-34-53-76z"/>',
    ]
    if p.beard:
        parts.append(
            f'<path fill="{p.hair_colour}" d="M108 152c4 16 12 24 22 26 18-8 42-8 60 0 10-2 18-10 22-26'
            f' 2 44-22 74-52 74s-54-30-52-74z"/><path d="M146 190q14 8 28 0" fill="none" stroke="{p.skin}"'
            ' stroke-width="5" stroke-linecap="round"/>'
        )
    else:
        parts.append(
            '<path d="M144 186q16 13 32 0" fill="none" stroke="#7c2f26" stroke-opacity=".75" stroke-width="4.5"'
            ' stroke-linecap="round"/>'
        )
    parts += [
        front,
        '<g fill="#22201f"><circle cx="139" cy="148" r="4.6"/><circle cx="181" cy="148" r="4.6"/></g>',
        f'<path d="M160 150c-2 8-5 13-4 17 2 2 6 2 8 1" fill="none" stroke="{p.shade}" stroke-width="4" stroke-linecap="round"/>',
    ]
    if p.glasses:
        parts.append(
            '<g fill="#fff" fill-opacity=".25" stroke="#2b2b2e" stroke-width="3.5"><circle cx="139" cy="149" r="17"/>'
            '<circle cx="181" cy="149" r="17"/><path d="M156 147q4-3 8 0M122 147l-13-3M198 147l13-3" fill="none"/></g>'
        )
    body = "\n".join(part for part in parts if part)
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="320" height="320" viewBox="0 0 320 320">\n{body}\n</svg>\n'


def main() -> None:
    for portrait in PORTRAITS:
        (FOLDER / f"portrait-{portrait.name}.svg").write_text(draw(portrait), encoding="utf-8")


if __name__ == "__main__":
    main()
