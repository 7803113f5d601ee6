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
    "E0110": Code("empty spec", "The spec holds nothing but comments.", "`pagec new page` writes one to start from"),
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
    "E0122": Code(
        "site file not readable", "The `_site.yaml` above the spec cannot be read.", "check the rights of the file"
    ),
    "E0123": Code("spec not readable", "The file cannot be read.", "check that it is there, and its rights"),
    "N0121": Code("more findings", "Only the first findings are shown.", "mend these first"),
    # 02 schema
    "E0201": Code("missing key", "A required key is not there.", "add the key"),
    "E0202": Code("empty value", "The key has no text.", "write a value, or delete the key"),
    "E0203": Code("unknown key", "This place has no key of that name.", "check the spelling, or delete the key"),
    "E0204": Code("unknown kind", "There is no section of that kind.", "use one of the kinds that `pagec new` lists"),
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
        "write for example 1200 or 12.5 %",
    ),
    "E0214": Code("negative number", "A bar cannot be shorter than nothing.", "use a table for negative numbers"),
    "E0215": Code("not a size", "Width and height are whole CSS pixels from 1 to 20000.", "write for example 640"),
    "W0216": Code(
        "no words in this language",
        "The compiler has no words of its own (skip link, navigation) for this language; it uses English.",
        "give them in `labels`, or accept the English words",
    ),
    "E0217": Code("unknown label", "`labels` overrides the compiler's own words.", "use one of the known names"),
    "W0218": Code(
        "number can be read in two ways",
        "A mark before three digits may group thousands or begin decimals.",
        "write the number without marks between thousands",
    ),
    "W0219": Code(
        "units differ",
        "The bars of a chart are compared by number alone.",
        "give every value in the same unit",
    ),
    "E0220": Code("not an address", "`url` is the page's own absolute address.", "write https://example.org/page"),
    # 03 links, ids, assets
    "E0301": Code(
        "link refused",
        "Links may be anchors, paths, http, https, mailto and tel; other schemes can run code or do nothing.",
        "write a path, #id, https://…, mailto:… or tel:…",
    ),
    "E0302": Code("broken link", "The address is not a valid URL.", "correct the address"),
    "E0303": Code("undefined anchor", "No block of the page has that id.", "link to an id that exists"),
    "E0304": Code("duplicate id", "Two blocks have the same id.", "change one of the two"),
    "E0305": Code(
        "not an id",
        "An id begins with a letter or digit and has letters, digits, `-`, `_` and `.`.",
        "write for example my-section",
    ),
    "E0306": Code("reserved id", "The compiler uses this id itself.", "choose another id"),
    "E0307": Code(
        "image outside the folder",
        "Images lie in the folder of the spec (or of the batch), so that the page can be moved with them.",
        "copy the image beside the spec and give its relative path",
    ),
    "E0308": Code("image not found", "There is no file of that name.", "check the path; it is relative to the spec"),
    "E0309": Code("not an image", "The file cannot be read as an image.", "use PNG, JPEG, GIF, WebP, AVIF or SVG"),
    "E0310": Code("broken Markdown link", "A link in a text needs words and an address.", "write [words](address)"),
    "E0311": Code(
        "undefined anchor on another page",
        "The page that the link leads to is built from a spec here, and has no block with that id.",
        "link to an id of that page",
    ),
    "W0312": Code(
        "no such page",
        "A relative link leads to a page that no spec here builds and that is not in the output folder either.",
        "correct the link, or add the spec",
    ),
    "W0313": Code(
        "text that says nothing by itself",
        "Screen readers list links without the sentences around them, and read the text of an image instead of it.",
        'name the target, or what the image shows; `alt: ""` is for decoration',
    ),
    "W0314": Code(
        "address without its scheme",
        "Without `mailto:` or `https://` an address is the path of a file beside the page.",
        "write the scheme in front; if a file is meant, ./",
    ),
    "W0315": Code(
        "shared image without address",
        "Other sites show `image` where the page is linked, but they need its whole address, which begins with `url`.",
        "set `url`, in the spec or in `_site.yaml`",
    ),
    # 04 fragments and linking
    "E0401": Code(
        "no markup",
        "The model's answer holds no markup at all.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0402": Code(
        "markup with errors",
        "The fragment is not well-formed HTML, or its elements may not be nested like this.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0403": Code(
        "wrong outer element",
        "A fragment is one element of the block's kind: nav, section or div with the kind as its class.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0404": Code(
        "element not allowed",
        "The fragment holds an element that the compiler owns, or that pages may not have.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0405": Code(
        "attribute not allowed",
        "A model writes `class`, `data-each`, and slots in `href` and `src`; everything else is the compiler's.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0406": Code(
        "words of the model's own",
        "The fragment holds words that are not in the spec.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0407": Code(
        "slot does not exist",
        "The fragment refers to a slot that the block does not have, or writes one in a damaged way.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0408": Code(
        "slot placed twice",
        "A text of the spec would stand on the page more than once.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0409": Code(
        "slot in the wrong place",
        "A text, link or image stands in an element that does not fit its role.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0410": Code(
        "Markdown where no markup may be",
        "A text that may hold links and emphasis stands in a link, a summary or a heading.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0411": Code(
        "wrong repetition",
        "Rows, paragraphs and points are written once, in an element with `data-each`; nothing else is.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0412": Code(
        "slot never placed",
        "A text, link or image of the spec would be missing from the page.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0413": Code(
        "items out of order",
        "Items or columns are not in the order of the spec, or the parts of two items are mixed.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0414": Code(
        "link and address do not match",
        "The address of a link stands on another text than its own.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0415": Code(
        "empty element",
        "The fragment holds an element that shows nothing.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0416": Code(
        "bars do not match the values",
        "A chart needs one bar beside each value.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0417": Code(
        "answer cut",
        "The model reached its budget, or wrote on without getting anywhere, before the block was finished.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0419": Code(
        "brief not answered",
        "The model wrote no words of its own where a brief asks for them.",
        "compile again with another --seed, or say more in the brief",
    ),
    "E0420": Code(
        "answer too long",
        "The model wrote far more than a block of this kind should hold.",
        "ask for less in the brief, or split the section",
    ),
    "E0421": Code(
        "invented fact",
        "A number, address or mail address in the model's words stands neither in the spec nor in the brief.",
        "put the fact into the brief if it is right, or compile again with another --seed",
    ),
    "E0422": Code(
        "not finished text",
        "The model's words hold Markdown, a placeholder or a trace of its thoughts.",
        "compile again with another --seed, or choose a larger model",
    ),
    "E0423": Code(
        "wrong language",
        "The model's words do not look like the language of the page.",
        "set `lang` in the spec, or say the language in the brief",
    ),
    "W0418": Code(
        "unknown code language",
        "There is no lexer of this name, so the code is shown without colours.",
        "use a name that Pygments knows, for example python, sh, yaml, html",
    ),
    # 05 style
    "E0501": Code(
        "text cannot be read",
        "`theme.text` on `theme.background` has a contrast below 4.5:1.",
        "make one of them darker or lighter, or leave one out",
    ),
    "N0502": Code(
        "accent moved",
        "`theme.accent` cannot be read on the background, so a lighter or darker one of its hue is used.",
        "nothing to do; or choose an accent with a contrast of at least 4.5:1",
    ),
    "E0510": Code(
        "style is not CSS",
        "The style fragment is cut off, is no CSS, or holds strings, comments or markup.",
        "another attempt, or another model, may write it well",
    ),
    "E0511": Code("at-rule in a style", "Media queries and imports belong to the base stylesheet.", "leave it out"),
    "E0512": Code(
        "selector not allowed",
        "A style may only speak of `:root` and of the classes of the markup.",
        "use a class of the markup, alone or with one class or element inside it",
    ),
    "E0513": Code(
        "property not allowed",
        "The property is not one that a style may set here, or it is set twice.",
        "leave the property out",
    ),
    "E0514": Code(
        "value not allowed",
        "The property takes certain words, or numbers in a range; colours are variables.",
        "use one of the values that the message names",
    ),
    "E0515": Code("too many rules", "A style has at most 40 rules.", "leave rules out"),
    "W0520": Code(
        "unknown mood words",
        "The embedded model knows the words of its card only, and three of them at once; others are left out.",
        "use up to three of the words, or another model",
    ),
    # 06 page validation
    "E0601": Code(
        "markup error",
        "The parser found something that browsers must guess the meaning of.",
        "write the tag or the attribute as the standard has it",
    ),
    "E0602": Code("markup cut off", "The text ends inside a tag or an open element.", "close every element"),
    "E0603": Code(
        "end tag does not match",
        "An end tag closes nothing, or closes elements in the wrong order.",
        "close elements in the reverse order of opening; a block element ends a paragraph",
    ),
    "E0604": Code(
        "not one document",
        "A page is one doctype, one head and one body, with nothing before or behind them.",
        "remove what stands outside, and any second document",
    ),
    "E0605": Code(
        "element not allowed",
        "Pages are made of a fixed set of elements: no scripts, frames, forms, drawings or made-up names.",
        "use an element of the set",
    ),
    "E0606": Code(
        "attribute not allowed",
        "The element may not have this attribute, or the attribute not this value.",
        "remove the attribute",
    ),
    "E0607": Code(
        "element in the wrong place",
        "The standard does not allow the element, or text, in its parent.",
        "move it, or change what is around it",
    ),
    "E0608": Code(
        "part missing or repeated",
        "An element lacks a part that it must have (a summary, a term, a cell), or has it twice.",
        "write each part once",
    ),
    "E0609": Code(
        "too deep or too long",
        "The markup is nested more than a hundred deep, or a fragment is far longer than any block needs.",
        "write flatter and shorter markup",
    ),
    "E0610": Code("id used twice", "An id names one element of a page.", "give one of them another id"),
    "E0611": Code("id not usable", "An id is not empty and has no white space.", "use letters, digits and `-`"),
    "E0612": Code("anchor leads nowhere", "No element has the id that the link names.", "link to an id of the page"),
    "E0613": Code(
        "reference to nothing",
        "`for`, `headers` or an `aria-…` attribute names an id that no element has.",
        "name an id of the page",
    ),
    "E0614": Code("address malformed", "The address of a link breaks the rules of URLs.", "correct the address"),
    "E0615": Code(
        "address refused",
        "Links may use http, https, mailto and tel, or be relative; nothing that runs or embeds.",
        "use one of these schemes",
    ),
    "E0616": Code(
        "outside resource",
        "A page is complete by itself: opening it asks no other server for anything.",
        "remove the resource, or put the file beside the page",
    ),
    "E0620": Code("image without alt", "Every image needs an `alt`.", 'describe the image, or write `alt=""`'),
    "E0621": Code(
        "image without size",
        "Width and height in whole pixels keep the page from jumping while images load.",
        "give both as whole numbers",
    ),
    "E0622": Code(
        "image address not allowed",
        "Images are files beside the page, or `data:` images.",
        "use a relative path",
    ),
    "E0623": Code("empty link", "A link without words cannot be announced or clicked.", "give the link words"),
    "E0624": Code("empty heading", "A heading or summary without words leads nowhere.", "give it words"),
    "E0630": Code("not one h1", "A page has exactly one `<h1>`.", "keep one `<h1>`, in the hero"),
    "E0631": Code(
        "heading level skipped",
        "Headings go down one level at a time, so that their outline can be followed.",
        "use the next level",
    ),
    "E0632": Code(
        "landmarks not single",
        "A page has one `<main>` and at most one `<header>` and one `<footer>`.",
        "keep one of each",
    ),
    "E0633": Code(
        "content outside landmarks",
        "Everything but the skip link stands in header, nav, main or footer.",
        "move it into one of them",
    ),
    "E0634": Code(
        "landmark name",
        "Navigations and named sections need names of their own.",
        "give each its own `aria-label` or heading",
    ),
    "E0635": Code(
        "section without a name",
        "A section has a heading and is named by it, unless an earlier section has the same heading.",
        "add a heading with an id, and `aria-labelledby`",
    ),
    "E0636": Code("focus order", "`tabindex` is 0 or -1: a positive one overrides the reading order.", "remove it"),
    "E0637": Code(
        "role not fitting",
        "The role says what the element is anyway, contradicts it, or hides what takes the focus.",
        "remove the attribute",
    ),
    "E0638": Code("table header", "A `<th>` has words and a `scope`.", "add `scope`, or make an empty cell a `<td>`"),
    "E0640": Code("language", "`lang` on `<html>` is the BCP 47 tag of the text.", "set `lang` to the spec's"),
    "E0641": Code("text direction", "`dir` must fit the language.", 'set `dir="rtl"` for right-to-left scripts only'),
    "E0642": Code(
        "character set",
        'One `<meta charset="utf-8">` stands within the first 1024 bytes.',
        "make it the first element of the head",
    ),
    "E0643": Code(
        "viewport",
        "One viewport follows the width of the device and lets readers zoom.",
        'write `content="width=device-width, initial-scale=1"`',
    ),
    "E0644": Code("page title", "A page has one `<title>` with words.", "write a title"),
    "E0645": Code(
        "skip link",
        "The first thing in the body is a link to `<main>`, which takes the focus.",
        'link to the id of `<main>` and give it `tabindex="-1"`',
    ),
    "E0650": Code(
        "content security policy",
        "Every page has the same policy, before its stylesheet; only the hash differs.",
        "do not change the policy",
    ),
    "E0651": Code(
        "stylesheet hash",
        "The policy allows only the stylesheet whose hash it holds, so browsers block this one.",
        "compute the hash after the last change to the stylesheet",
    ),
    "E0652": Code("script", "Pages run nothing: no script, no event handler.", "remove it"),
    "E0653": Code("style attribute", "The policy blocks `style` attributes.", "use a class"),
    "E0654": Code("not one stylesheet", "A page has exactly one `<style>`.", "merge the stylesheets"),
    "E0655": Code(
        "page redirected",
        "A refresh or a base would take readers or links somewhere else.",
        "remove the element",
    ),
    "E0656": Code(
        "stylesheet broken",
        "The stylesheet does not parse, uses an unknown property, or asks for another file.",
        "correct the rule",
    ),
    "E0660": Code(
        "character not allowed in a page",
        "Control characters, noncharacters and lone surrogates cannot stand in HTML.",
        "remove the character",
    ),
    "W0661": Code(
        "unusual text",
        "The text is not in normalisation form C, begins with a combining mark, or has private characters.",
        "type the text again, in common characters",
    ),
    "E0662": Code(
        "broken slot",
        "Double braces in a fragment are slots, `{{` number `}}`, and nothing else.",
        "write the slot as it stands in the description",
    ),
    "E0663": Code(
        "left over from writing",
        "The model left something that is no content: a fence, its thoughts, a placeholder, a remark.",
        "write only the element of the block",
    ),
    "E0664": Code("comment in the page", "A finished page has no comments.", "remove the comment"),
    "W0665": Code(
        "looks left over",
        "A text reads like something that a model left behind; the spec may mean it.",
        "look at the text",
    ),
    # 07 model and engine
    "E0701": Code(
        "brief without a writer",
        "A brief asks the model to write text, and this model does not write any.",
        "choose a model that writes (`pagec model pull`, --model FILE.gguf), or write the text and delete the brief",
    ),
    "E0702": Code(
        "model of another format",
        "The model was not trained on the prompts and the vocabulary of this version.",
        "use the model that comes with pagec: --model pagec-mini",
    ),
    "E0703": Code(
        "engine error",
        "The engine that runs the model could not go on.",
        "run again with -v to see what llama.cpp printed",
    ),
    "E0704": Code(
        "configuration",
        "A `pagec.toml`, or the user's `config.toml`, has a line that pagec does not know or cannot take.",
        "correct the line or delete it",
    ),
    "E0705": Code(
        "would be written",
        "With --locked nothing is decoded, and there is no fragment for this block.",
        "build without --locked first, and keep the cache folder",
    ),
    # 08 output and cache
    "E0801": Code(
        "cannot write",
        "A file of the page or of the cache could not be written. What was there before is still there.",
        "check the folder, its permissions and the space on the disk",
    ),
    "E0802": Code(
        "two specs, one page",
        "Two specs would be written to the same page.",
        "rename one of the specs, or compile them to different folders",
    ),
    "W0803": Code(
        "images not copied",
        "The page goes to standard output, so its images are not put beside it.",
        "use -o with a file or a folder to have them copied",
    ),
    "E0804": Code(
        "page is being built",
        "Another pagec is building this page at this moment. `pagec watch` tries again by itself when it is done.",
        "wait until it is done, or stop it",
    ),
    "E0807": Code(
        "two images, one file",
        "Two specs of different folders have images of the same path, and their pages go to the same folder.",
        "compile them to different folders, or rename one of the images",
    ),
    "W0805": Code(
        "cache not written",
        "The page is good, but what the model wrote could not be kept, so that the next build writes it again.",
        "check the folder of the cache and the space on the disk, or choose another one with --cache-dir",
    ),
    "E0806": Code(
        "template broken",
        "A template or the base stylesheet of pagec cannot be read, or has a mistake. The last good page stays.",
        "correct the file, or install pagec again",
    ),
}


def severity(code: str) -> Severity:
    """The severity of a code, from its first letter."""
    return {"E": Severity.ERROR, "W": Severity.WARNING, "N": Severity.NOTE}[code[0]]
