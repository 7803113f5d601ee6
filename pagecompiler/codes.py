"""Every diagnostic code in one table: severity, what it means, how to fix it.

Ranges: 01 reading and YAML · 02 schema · 03 links, ids, assets · 04 fragments and linking · 05 style ·
06 page validation · 07 model and engine · 08 output and cache.  E is an error, W a warning, N a note.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of diagnostic. `title` is a short name, `meaning` a sentence or two, `fix` what to do."""

    title: str
    meaning: str
    fix: str


CODES: dict[str, Code] = {
    # 01 reading and YAML
    "E0101": Code("not UTF-8", "The bytes of the spec are not UTF-8 text.", "save the file as UTF-8"),
    "E0102": Code("spec too large", "A spec may have at most 1 MiB.", "split the page into several specs"),
    "E0103": Code(
        "character not allowed",
        "Control characters, line separators, noncharacters and lone surrogates cannot stand in a page.",
        "delete the character, or type it again",
    ),
    "E0104": Code(
        "not YAML",
        "The text does not follow the rules of YAML here, so nothing after it can be understood.",
        "check the indentation, and that every line is `key: value`, `- item` or belongs to a text block",
    ),
    "E0105": Code(
        "value must be quoted",
        "The text begins with, or contains, a character that means something to YAML.",
        'put the value in quotes: key: "value"',
    ),
    "E0106": Code("tab", "YAML allows no tabs between or before values.", "use spaces instead of tabs"),
    "E0107": Code(
        "quotes do not match",
        "A quote is never closed, or the text goes on after its closing quote.",
        """close the quote; write \\" for a quote inside "…" and '' for one inside '…'""",
    ),
    "E0108": Code(
        "duplicate key",
        "A key stands twice in one mapping, so one value would be lost.",
        "delete one of the two",
    ),
    "E0109": Code(
        "several documents",
        "A spec is one YAML document; `---` begins another.",
        "delete the `---` or split the file",
    ),
    "E0110": Code(
        "empty spec", "The spec holds nothing but comments.", "`pagec new features` prints one to start from"
    ),
    "E0111": Code("nested too deeply", "A spec may be nested at most 32 levels.", "flatten the spec"),
    "E0112": Code(
        "alias",
        "A `*name` that no `&name` defines, that contains itself, or that repeats too much text.",
        "quote the value if the text begins with `*`; otherwise write the text out",
    ),
    "E0113": Code(
        "tag",
        "`!name` before a value is a YAML tag; specs have none.",
        'put the value in quotes: key: "!value"',
    ),
    "E0114": Code(
        "key is not text",
        "A key is a list or a mapping, not a word.",
        "write `key: value`, or quote the value",
    ),
    "E0115": Code("merge", "`<<` merges mappings only.", "give `<<` an alias of a mapping: `<<: *defaults`"),
    "E0116": Code(
        "value is a comment",
        "A `#` after a space begins a comment, so the key has no value.",
        'put the value in quotes: key: "#…"',
    ),
    "W0117": Code(
        "text cut by a comment",
        "A ` #` in a text without quotes begins a comment, so the rest of the line is not on the page. "
        "With two spaces before `#` the comment is taken as meant.",
        "quote the text, or put a second space before `#`",
    ),
    "W0118": Code(
        "anchor without use",
        "`&name` before a value is an anchor; this one is never used, so a part of the text may be lost.",
        "quote the value if the text begins with `&`",
    ),
    "E0119": Code(
        "text begins with a combining mark",
        "A combining mark belongs to the character before it; here there is none.",
        "delete the mark, or put a letter or a no-break space before it",
    ),
    "E0120": Code(
        "private-use character",
        "Private-use characters have no meaning outside one font; browsers show a box.",
        "use an image, an emoji or a word",
    ),
    "N0121": Code("more findings", "Only the first findings are shown.", "mend these first"),
    # 02 schema
    "E0201": Code("missing key", "A required key is not there.", "add the key"),
    "E0202": Code("empty value", "The key has no text.", "write a value, or delete the key"),
    "E0203": Code(
        "unknown key", "This place has no key of that name.", "check the spelling, or delete the key"
    ),
    "E0204": Code(
        "unknown kind", "There is no section of that kind.", "use one of the kinds that `pagec new` lists"
    ),
    "E0205": Code(
        "wrong shape",
        "A text, a list or a mapping stands where another of these belongs.",
        "see docs/spec.md",
    ),
    "E0206": Code("not one of the choices", "The key takes one of a few words.", "use one of them"),
    "E0207": Code("too many", "A block may have 24 items and 12 columns.", "split the section into two"),
    "E0208": Code(
        "nothing to show",
        "The section has neither content nor a brief from which a model could write it.",
        "write the content, or add a `brief`",
    ),
    "E0209": Code(
        "brief not allowed",
        "Facts come from the spec: only features, steps, prose, faq, cta and hero may have a brief.",
        "write the texts, or use another kind",
    ),
    "E0210": Code("not a colour", "Colours are written as #rgb or #rrggbb.", 'write for example "#0b6e4f"'),
    "E0211": Code("not a language", "`lang` is a BCP 47 tag.", "write for example en, de, pt-BR or zh-Hans"),
    "E0212": Code("row length", "Every row has one cell a column.", 'write "" for an empty cell'),
    "E0213": Code(
        "not a number",
        "The value of a chart must be a number; a decimal mark, group marks and a unit or % are allowed.",
        "write for example 1,200 or 12.5 %",
    ),
    "E0214": Code(
        "negative number", "A bar cannot be shorter than nothing.", "use a table for negative numbers"
    ),
    "E0215": Code(
        "not a size", "Width and height are whole CSS pixels from 1 to 20000.", "write for example 640"
    ),
    "W0216": Code(
        "no words in this language",
        "The compiler has no words of its own (skip link, navigation) for this language; it uses English.",
        "give them in `labels`, or accept the English words",
    ),
    "E0217": Code(
        "unknown label", "`labels` overrides the compiler's own words.", "use one of the known names"
    ),
    "W0218": Code(
        "number can be read in two ways",
        "A mark before three digits may group thousands or begin decimals.",
        "write 1234 or 1.2340",
    ),
    "W0219": Code(
        "units differ",
        "The bars of a chart are compared by number alone.",
        "give every value in the same unit",
    ),
    "E0220": Code(
        "not an address", "`url` is the page's own absolute address.", "write https://example.org/page"
    ),
    # 03 links, ids, assets
    "E0301": Code(
        "link refused",
        "Links may be anchors, paths, http, https, mailto and tel; other schemes can run code or do nothing.",
        "write a path, #id, https://…, mailto:… or tel:…",
    ),
    "E0302": Code(
        "broken link", "The address is not a valid URL.", "check the address; a space is written %20"
    ),
    "E0303": Code("undefined anchor", "No block of the page has that id.", "link to an id that exists"),
    "E0304": Code("duplicate id", "Two blocks have the same id.", "change one of the two"),
    "E0305": Code(
        "not an id",
        "An id begins with a letter or digit and has letters, digits, `-`, `_` and `.`.",
        "change the id",
    ),
    "E0306": Code("reserved id", "The compiler uses this id itself.", "choose another id"),
    "E0307": Code(
        "image outside the folder",
        "Images lie in the folder of the spec (or of the batch), so that the page can be moved with them.",
        "copy the image beside the spec and give its relative path",
    ),
    "E0308": Code(
        "image not found", "There is no file of that name.", "check the path; it is relative to the spec"
    ),
    "E0309": Code(
        "not an image", "The file cannot be read as an image.", "use PNG, JPEG, GIF, WebP, AVIF or SVG"
    ),
    "E0310": Code(
        "broken Markdown link", "A link in a text needs words and an address.", "write [words](address)"
    ),
    # 04 fragments and linking
    # 05 style
    # 06 page validation
    # 07 model and engine
    # 08 output and cache
}


def severity(code: str) -> Severity:
    """The severity of a code, from its first letter."""
    return {"E": Severity.ERROR, "W": Severity.WARNING, "N": Severity.NOTE}[code[0]]
