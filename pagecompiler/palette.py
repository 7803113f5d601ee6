"""The colours of a page: a light and a dark palette from three optional colours of the theme.

Explicit colours are the light ones (with `mode: dark` the dark ones), all others are derived in OKLCH. `PAIRS` lists
every pair of colours that the base stylesheet lays on each other, with the contrast it needs; every derived colour
reaches it. `--tinted` is mixed in the stylesheet, up to `TINT_MAX` of `wash` in `background`; it is checked at that
end, so all shares between are good as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from pagecompiler.colour import (
    Oklch,
    contrast,
    from_oklch,
    is_light,
    mix,
    move_until,
    parse_colour,
    reaches,
    to_oklch,
)
from pagecompiler.schema import Theme

TINT_MAX = 0.16
READABLE = 4.5
VISIBLE = 3.0
DEFAULT_ACCENT = "#2f55d4"

# Hue of each kind of code token; None is the hue of the accent.
_TOKENS: dict[str, float | None] = {
    "code-keyword": None,
    "code-string": 150.0,
    "code-number": 50.0,
    "code-name": 265.0,
    "code-special": 330.0,
}

_TEXTS = ("text", "muted", "link")
_GROUNDS = ("background", "surface", "tinted")

PAIRS: tuple[tuple[str, str, float], ...] = (
    *((text, ground, READABLE) for text in _TEXTS for ground in _GROUNDS),
    ("accent", "background", READABLE),
    ("accent", "surface", READABLE),
    ("accent", "tinted", VISIBLE),
    ("outline", "background", VISIBLE),
    ("outline", "surface", VISIBLE),
    ("outline", "tinted", VISIBLE),
    ("on-accent", "accent", READABLE),
    ("on-band", "band", READABLE),
    ("text", "code-background", READABLE),
    ("muted", "code-background", READABLE),
    *((token, "code-background", READABLE) for token in _TOKENS),
)
"""(foreground, background, least contrast) of every pair in the base stylesheet. `tinted` is at `TINT_MAX`."""

Palette = dict[str, str]
"""Name of a colour, without `--`, → `#rrggbb`; `tinted` is for checking and is not written."""


@dataclass(frozen=True, slots=True)
class ThemeProblem:
    """A finding about one key of `theme`; the caller knows where it stands."""

    key: Literal["accent", "text"]
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Palettes:
    """`main` holds the explicit colours; `dark` is set with `mode: auto` only; `print` is light in every mode."""

    main: Palette
    dark: Palette | None
    paper: Palette
    problems: tuple[ThemeProblem, ...]


def palettes(theme: Theme) -> Palettes:
    """The palettes of a theme. Its colours are hex, as the loader made sure; any other text counts as not given."""
    problems: list[ThemeProblem] = []
    accent = parse_colour(theme.accent or "") or DEFAULT_ACCENT
    background = parse_colour(theme.background or "")
    text = parse_colour(theme.text or "")
    main = make_palette(accent, background, text, dark=theme.mode == "dark")
    ratio = contrast(main["text"], main["background"])
    if background and text and ratio < READABLE:
        message = f"text {text} on background {background} has a contrast of {_ratio(ratio)}, less than 4.5:1"
        problems.append(ThemeProblem("text", "E0501", message))
    if theme.accent and main["accent"] != accent:
        ratio = min(contrast(accent, main["background"]), contrast(accent, main["surface"]))
        message = f"accent {accent} has a contrast of {_ratio(ratio)} to the background; links and buttons use "
        problems.append(ThemeProblem("accent", "N0502", message + main["accent"]))
    dark = None
    if theme.mode == "auto":
        # A background that is dark already is the dark one, too.
        own = background is not None and not is_light(background)
        dark = main if own else make_palette(_lighter(accent), _dark_ground(background or accent), None, dark=True)
    paper = make_palette(accent, "#ffffff", "#000000", dark=False)
    return Palettes(main, dark, paper, tuple(problems))


def make_palette(accent: str, background: str | None, text: str | None, *, dark: bool) -> Palette:
    """Every colour of one palette; `dark` says which way the missing ones go.

    The accent is moved where it must be. A given text on a given background is left as it is.
    """
    tone = to_oklch(accent)
    if background is None:
        dark_ground = is_light(text) if text else dark
        background = (
            _dark_ground(accent) if dark_ground else from_oklch(Oklch(0.993, min(tone.chroma, 0.003), tone.hue))
        )
    light = is_light(background)
    if text is None:
        soft = Oklch(0.22 if light else 0.94, min(tone.chroma, 0.018 if light else 0.01), tone.hue)
        text = move_until(from_oklch(soft), {background: 7.0 if light else READABLE})
    readable = min(READABLE, contrast(text, background))

    def ground(colour: str) -> str:
        """The colour, or one nearer to the background, on which the text can be read."""
        for share in (0.0, 0.25, 0.5, 0.75):
            nearer = mix(colour, background, share)
            if contrast(text, nearer) >= readable:
                return nearer
        return background

    result = {"background": background, "text": text}
    result["surface"] = ground(_raised(background))
    shown = move_until(accent, {background: READABLE, result["surface"]: READABLE})
    result["wash"] = _wash(background, text, shown, readable)
    result["tinted"] = mix(background, result["wash"], TINT_MAX)
    grounds = [result[name] for name in _GROUNDS]
    result["code-background"] = ground(mix(background, text, 0.045) if light else _raised(background))
    result["accent"] = move_until(shown, {grounds[0]: READABLE, grounds[1]: READABLE, grounds[2]: VISIBLE})
    result["link"] = move_until(result["accent"], dict.fromkeys(grounds, READABLE))
    result["muted"] = _faded(text, background, [*grounds, result["code-background"]], 0.36, READABLE)
    result["outline"] = _faded(text, background, grounds, 0.5, VISIBLE)
    result["border"] = mix(background, text, 0.14 if light else 0.24)
    result["on-accent"] = _on(result["accent"], background)
    result["band"] = _band(accent, background, light=light)
    result["on-band"] = _on(result["band"], "#ffffff")
    result["shadow"] = from_oklch(Oklch(0.3, min(tone.chroma, 0.05), tone.hue)) if light else "#000000"
    for name, hue in _TOKENS.items():
        token = Oklch(0.47 if light else 0.8, 0.13, tone.hue if hue is None else hue)
        colour = from_oklch(token if hue is not None or tone.chroma > 0.03 else replace(token, chroma=tone.chroma))
        result[name] = move_until(colour, {result["code-background"]: READABLE})
    return result


def declarations(palette: Palette) -> list[str]:
    """The custom properties of a palette, in a fixed order."""
    return [f"--{name}: {colour};" for name, colour in sorted(palette.items()) if name != "tinted"]


def weak_pairs(palette: Palette) -> list[tuple[str, str, float]]:
    """The pairs of `PAIRS` that a palette does not reach, with the contrast they have."""
    ratios = ((front, back, contrast(palette[front], palette[back]), least) for front, back, least in PAIRS)
    return [(front, back, ratio) for front, back, ratio, least in ratios if ratio < least]


def _ratio(value: float) -> str:
    """`4.49` must not be shown as 4.5."""
    return f"{int(value * 100) / 100:.2f}:1"


def _dark_ground(colour: str) -> str:
    tone = to_oklch(colour)
    return from_oklch(Oklch(0.185, min(tone.chroma, 0.014), tone.hue))


def _lighter(accent: str) -> str:
    """The accent for a dark page: light enough to glow, a little less saturated."""
    tone = to_oklch(accent)
    return from_oklch(Oklch(max(tone.lightness, 0.76), tone.chroma * 0.88, tone.hue))


def _raised(background: str) -> str:
    """The ground of cards: a little lighter than the page, white on white."""
    tone = to_oklch(background)
    step = 0.02 if is_light(background) else 0.06
    return from_oklch(replace(tone, lightness=min(1.0, tone.lightness + step), chroma=tone.chroma * 0.8))


def _wash(background: str, text: str, accent: str, readable: float) -> str:
    """What tints the background: the accent, or so much of it that the text can be read at the deepest tint."""
    for share in (0.0, 0.25, 0.5, 0.75):
        wash = mix(accent, background, share)
        if contrast(text, mix(background, wash, TINT_MAX)) >= readable:
            return wash
    return background


def _faded(text: str, background: str, grounds: Iterable[str], most: float, ratio: float) -> str:
    """The text mixed with up to `most` of the background, as long as it keeps the ratio on all grounds."""
    needs = dict.fromkeys(grounds, ratio)
    for percent in range(round(most * 100), 0, -2):
        colour = mix(text, background, percent / 100)
        if reaches(colour, needs):
            return colour
    return text


def _on(colour: str, favourite: str) -> str:
    """The text colour on a filled ground: the favourite if it can be read, else white or a near black or black."""
    for candidate in (favourite, "#ffffff", "#14161a", "#000000"):
        if contrast(candidate, colour) >= READABLE:
            return candidate
    return "#ffffff"


def _band(accent: str, background: str, *, light: bool) -> str:
    """The ground of the call to action: the accent as given; deep on a dark page; never the page's own ground."""
    tone = to_oklch(accent)
    if not light:
        return from_oklch(replace(tone, lightness=0.36, chroma=min(tone.chroma, 0.12)))
    return accent if contrast(accent, background) >= 1.5 else move_until(accent, {background: VISIBLE})
