"""A spec as plain dicts, lists and texts, and where each of them stands."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pagecompiler import yaml_source
from pagecompiler.diagnostics import Diagnostic, Span, diagnostic
from pagecompiler.yaml_errors import glued_key
from pagecompiler.yaml_source import Broken, Node, Scalar, Sequence, Source

SpecPath = tuple[str | int, ...]

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
# A comment behind one of these cuts no text: a wrong value is reported anyway.
_NO_TEXT = frozenset({"kind", "lang", "mode", "font", "id", "width", "height", "href", "src", "url", "robots"})


@dataclass(frozen=True, slots=True)
class Place:
    """A range in one of the files that a page is made from."""

    file: str
    span: Span


Found = tuple[str, str, Place, str]  # code, message, place, hint


def first_line(place: Place) -> Place:
    """A long value is shown by its first character."""
    span = place.span
    if span.line == span.end_line:
        return place
    return Place(place.file, Span(span.line, span.column, span.line, span.column + 1))


def nearest(positions: Mapping[SpecPath, Any], path: SpecPath) -> SpecPath | None:
    """`path` or its nearest ancestor that has a position."""
    return next((path[:length] for length in range(len(path), -1, -1) if path[:length] in positions), None)


def is_private(text: str) -> bool:
    """Whether a text has a private-use character."""
    return _PRIVATE.search(text) is not None


@dataclass
class RawSpec:
    """`broken` are values that were reported already; they are None in `value`. `images` cannot be used."""

    source: Source
    value: Any = None
    positions: dict[SpecPath, Place] = field(default_factory=dict)
    keys: dict[SpecPath, Place] = field(default_factory=dict)
    broken: set[SpecPath] = field(default_factory=set)
    images: set[Path] = field(default_factory=set)
    sources: dict[str, Source] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sources[self.source.name] = self.source

    def at(self, path: SpecPath) -> Place:
        """Where the value stands, or the nearest one around it."""
        known = nearest(self.positions, path)
        return Place(self.source.name, Span(1, 1, 1, 1)) if known is None else self.positions[known]

    def part(self, path: SpecPath, words: str) -> Place:
        """Where `words` stand in the value at `path`; the value itself if that is not certain."""
        place = self.at(path)
        source = self.sources[place.file]
        start, end = source.offset(place.span), source.end_offset(place.span)
        if not words or source.text.count(words, start, end) != 1:
            return first_line(place)
        found = source.text.index(words, start, end)
        return Place(place.file, source.span(found, found + len(words)))

    def key(self, path: SpecPath) -> Place:
        """Where the key stands; for an item of a list, the item."""
        return self.keys.get(path) or self.at(path)

    def is_broken(self, path: SpecPath) -> bool:
        return any(path[:length] in self.broken for length in range(len(path) + 1))

    def adopt(self, other: RawSpec, prefix: SpecPath) -> None:
        """Take over where the values under `prefix` stand in another file."""
        length = len(prefix)
        self.positions |= {path: place for path, place in other.positions.items() if path[:length] == prefix}
        self.keys |= {path: place for path, place in other.keys.items() if path[:length] == prefix}
        self.broken |= {path for path in other.broken if path[:length] == prefix}
        self.sources |= other.sources


def read_raw(source: Source) -> tuple[RawSpec | None, list[Diagnostic]]:
    """The mapping that a source holds, and all that is wrong with its text; None if it holds none."""
    tree, findings = yaml_source.read_tree(source)
    if tree is None:
        return None, findings
    reader = _Reader(source)
    value = reader.raw.value = reader.value(tree, ())
    if not isinstance(value, dict):
        if not reader.raw.is_broken(()):
            place = first_line(reader.raw.at(()))
            reader.add(
                "E0205", "a spec is a mapping of keys such as `title` and `hero`", place.span, "begin with `title: …`"
            )
        return None, findings + reader.findings
    return reader.raw, findings + reader.findings


class _Reader:
    """One pass over a tree; `findings` in no order."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.raw = RawSpec(source)
        self.findings: list[Diagnostic] = []

    def add(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.findings.append(diagnostic(code, message, file=self.source.name, span=span, hint=hint))

    def _place(self, start: int, end: int) -> Place:
        return Place(self.source.name, self.source.span(start, end))

    def value(self, node: Node, path: SpecPath) -> Any:
        span = self.source.span(node.start, max(node.end, node.start))
        self.raw.positions[path] = Place(self.source.name, span)
        if len(path) > yaml_source.MAX_DEPTH:
            self.add("E0111", f"more than {yaml_source.MAX_DEPTH} levels deep", span)
            self.raw.broken.add(path)
            return None
        if isinstance(node, Scalar):
            return self._text(node, path, span)
        if isinstance(node, Broken):
            self.raw.broken.add(path)
            return None
        if isinstance(node, Sequence):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.items)]
        result: dict[str, Any] = {}
        for name, entry in node.entries.items():
            word = self._key(entry.key)
            key = (*path, word)
            self.raw.keys[key] = self._place(entry.key.start, entry.key.end)
            if isinstance(entry.value, Scalar) and entry.value.plain and entry.value.text in _NULLS:
                self._null(entry.key, entry.value, name)
                self.raw.positions[key] = self.raw.keys[key]
                self.raw.broken.add(key)
                result[word] = None
            else:
                result[word] = self.value(entry.value, key)
        return result

    def _key(self, key: Scalar) -> str:
        """A key is shown in messages and compared with names: characters matter, positions do not."""
        if bad := yaml_source.bad_character(key.text):
            self.add("E0103", f"a key has the character {bad}", self.source.span(key.start, key.end))
        return unicodedata.normalize("NFC", key.text)

    def _null(self, key: Scalar, value: Scalar, name: str) -> None:
        line_end = self.source.text.find("\n", key.end)
        rest = self.source.text[key.end : line_end if line_end >= 0 else None]
        comment = re.match(r"\s*:\s+#", rest)
        if not value.text and comment:
            start = key.end + comment.end() - 1
            end = key.end + len(rest.rstrip())
            shown = self.source.text[start:end]
            if not shown.startswith("# "):
                message = f"`{name}` has no value: `#` begins a comment"
                hint = f'write {name}: "{shown}"' if len(shown) < 40 and '"' not in shown else ""
                self.add("E0116", message, self.source.span(start, end), hint)
                return
        if value.text:
            message = f"`{name}` is `{value.text}`, which is no value"
            hint = f'delete the key, or quote it if the word is meant: "{value.text}"'
            self.add("E0202", message, self.source.span(value.start, value.end), hint)
        else:
            # In braces a key without a colon is most often the rest of a text that has a comma.
            in_braces = rest.lstrip()[:1] in (",", "}")
            comma = 'a comma in {…} begins a new key: put the text in quotes, as in text: "one, two"'
            glued = glued_key(name)
            hint = f"write a space behind `{glued}`" if glued else comma if in_braces else ""
            self.add("E0202", f"`{name}` has no value", self.source.span(key.start, key.end), hint)

    def _text(self, node: Scalar, path: SpecPath, span: Span) -> str | None:
        if node.plain and node.text in _NULLS:
            if not node.text and ("rows" in path[-3:] or "columns" in path[-2:]):
                return ""
            message = f"`{node.text}` is no value" if node.text else "this item is empty"
            hint = 'write "" for an empty table cell' if "rows" in path else "write a text, or delete the item"
            self.add("E0202", message, span, hint)
            self.raw.broken.add(path)
            return None
        if bad := yaml_source.bad_character(node.text):
            self.add("E0103", f"the character {bad} cannot stand in a page", span)
            self.raw.broken.add(path)
            return None
        if private := _PRIVATE.search(node.text):
            at = self.source.text.find(private[0], node.start, node.end)
            place = span if at < 0 else self.source.span(at, at + 1)
            self.add("E0120", f"U+{ord(private[0]):04X} is a private-use character", place)
            self.raw.broken.add(path)
            return None
        if node.comment is not None:
            self._comment(node, path)
        return unicodedata.normalize("NFC", node.text.replace("\r\n", "\n").replace("\r", "\n"))

    def _comment(self, node: Scalar, path: SpecPath) -> None:
        name = next((part for part in reversed(path) if isinstance(part, str)), "")
        if name in _NO_TEXT or node.comment is None:
            return
        text = self.source.text
        end = text.find("\n", node.comment)
        comment = text[node.comment : end if end >= 0 else None].rstrip()
        message = f"the text ends before `{_short(comment)}`, which is read as a comment"
        self.add("W0117", message, self.source.span(node.comment, node.comment + len(comment)))


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
