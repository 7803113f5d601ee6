"""The style fragment by rule: a base from the font, then each mood word changes properties and adds a rule."""

from __future__ import annotations

from pagecompiler.engine.reference.description import Description

Properties = dict[str, str]

_BASE: Properties = {
    "--heading-font": "var(--sans)",
    "--body-font": "var(--sans)",
    "--heading-weight": "700",
    "--heading-tracking": "-0.02em",
    "--scale": "1.25",
    "--leading": "1.6",
    "--measure": "66ch",
    "--space": "1.1",
    "--radius": "0.75rem",
    "--button-radius": "0.5rem",
    "--line": "1px",
    "--lift": "0.3",
    "--tint": "6%",
    "--align": "start",
}

_FONTS: dict[str, Properties] = {
    "sans": {},
    "serif": {
        "--heading-font": "var(--serif)",
        "--body-font": "var(--serif)",
        "--heading-weight": "600",
        "--heading-tracking": "-0.01em",
        "--leading": "1.65",
        "--radius": "0.5rem",
    },
    "mono": {
        "--heading-font": "var(--mono)",
        "--body-font": "var(--mono)",
        "--heading-tracking": "-0.03em",
        "--scale": "1.2",
        "--measure": "72ch",
        "--radius": "0.25rem",
        "--button-radius": "0.25rem",
    },
}

_MOODS: dict[str, Properties] = {
    "calm": {
        "--heading-weight": "500",
        "--leading": "1.7",
        "--space": "1.3",
        "--lift": "0",
        "--align": "center",
    },
    "bold": {"--heading-weight": "800", "--heading-tracking": "-0.03em", "--scale": "1.35", "--tint": "10%"},
    "playful": {"--radius": "1.5rem", "--button-radius": "3rem", "--lift": "0.6", "--tint": "12%"},
    "technical": {
        "--heading-font": "var(--mono)",
        "--scale": "1.18",
        "--space": "0.95",
        "--radius": "0.25rem",
        "--button-radius": "0.25rem",
        "--lift": "0",
    },
    "elegant": {
        "--heading-font": "var(--serif)",
        "--heading-weight": "400",
        "--heading-tracking": "0em",
        "--scale": "1.3",
        "--space": "1.4",
        "--align": "center",
    },
    "warm": {"--leading": "1.7", "--radius": "1rem", "--tint": "14%"},
    "compact": {"--scale": "1.16", "--leading": "1.5", "--measure": "72ch", "--space": "0.75"},
    "generous": {"--measure": "62ch", "--space": "1.5"},
    "crisp": {"--radius": "0rem", "--button-radius": "0rem", "--line": "2px", "--lift": "0"},
    "soft": {"--radius": "1.25rem", "--button-radius": "1.25rem", "--line": "0px", "--lift": "0.5"},
    "editorial": {
        "--heading-font": "var(--serif)",
        "--scale": "1.38",
        "--measure": "60ch",
        "--radius": "0.25rem",
        "--align": "start",
    },
    "minimal": {"--heading-weight": "500", "--line": "1px", "--lift": "0", "--tint": "2%"},
}

_RULES: dict[str, tuple[str, str]] = {
    "calm": (".lead", "font-weight: 300;"),
    "bold": (".figures dd", "font-weight: 800;"),
    "playful": (".cards li", "border-color: var(--accent);"),
    "technical": (".figures dd", "font-family: var(--mono);"),
    "elegant": (".lead", "font-family: var(--serif);"),
    "warm": (".quote", "background: var(--tinted);"),
    "compact": (".cards", "gap: 0.75rem;"),
    "generous": (".cards li", "padding: 2rem;"),
    "crisp": (".plans > li", "border-color: var(--text);"),
    "soft": (".cards li", "background: var(--tinted);"),
    "editorial": (".quote blockquote", "font-style: italic;"),
    "minimal": (".figures dd", "font-weight: 400;"),
}


def write_style(block: Description) -> str:
    """The style of `font` and `mood`; a later mood word wins over an earlier one."""
    moods = block.fields["mood"].length.split(", ") if "mood" in block.fields else []
    properties = _BASE | _FONTS[block.fields["font"].length]
    for mood in moods:
        properties = properties | _MOODS[mood]
    lines = [":root {", *(f"{name}: {value};" for name, value in properties.items()), "}"]
    for mood in moods:
        selector, declaration = _RULES[mood]
        lines += [f"{selector} {{", declaration, "}"]
    return "\n".join(lines)
