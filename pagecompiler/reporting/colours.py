"""The colours of reports: the palette of a page without a theme, and tones that mark groups and sources of guesses."""

from __future__ import annotations

from pagecompiler.colour import Oklch, from_oklch
from pagecompiler.palette import palettes
from pagecompiler.schema import Theme
from pagecompiler.style import palette_rules

HUES = (260.0, 150.0, 75.0, 330.0, 205.0, 30.0)
"""Hue of each tone, in degrees."""

WRONG_HUE = 27.0


def tones(*, dark: bool) -> dict[str, str]:
    """Colours by their names: grounds on which the palette's text can be read, and `wrong`, a text colour."""
    found = {f"tone-{number}": from_oklch(_ground(hue, dark)) for number, hue in enumerate(HUES)}
    found["wrong"] = from_oklch(Oklch(0.78 if dark else 0.5, 0.14 if dark else 0.19, WRONG_HUE))
    return found


def _ground(hue: float, dark: bool) -> Oklch:
    return Oklch(0.42, 0.085, hue) if dark else Oklch(0.89, 0.075, hue)


def colour_rules() -> str:
    """All colours as CSS, for light and for dark."""
    light, dark = (
        " ".join(f"--{name}: {value};" for name, value in tones(dark=each).items()) for each in (False, True)
    )
    classes = [f".tone-{number} {{ --tone: var(--tone-{number}); }}" for number in range(len(HUES))]
    return "\n".join(
        [
            palette_rules(palettes(Theme()), "auto"),
            f":root {{ {light} }}",
            f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}",
            *classes,
        ]
    )
