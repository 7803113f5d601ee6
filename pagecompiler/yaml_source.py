"""YAML text → a tree of texts with positions, and a diagnostic for all that is wrong with the text itself.

Built from parser events, without recursion: every scalar stays the text that was typed (no booleans, no
numbers, no dates), duplicate keys, depth and aliases are seen before anything is expanded. Positions count
characters of the normalised text (no BOM, line ends `\\n`).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

import yaml

from pagecompiler.diagnostics import Diagnostic, Span, diagnostic
from pagecompiler.yaml_errors import explain_error, quote_hint

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_ALIAS_WEIGHT = 1 << 20  # characters that aliases may add, with 16 for every node
MAX_MENDED = 8
_MAX_BAD = 200

_BAD = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
_STANDARD_TAGS = frozenset(
    {"!"} | {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "map", "seq")}
)
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Source:
    """A text with its name; turns offsets into positions."""

    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def span(self, start: int, end: int) -> Span:
        """The span of text[start:end]."""
        starts = self._starts
        first = bisect_right(starts, start) - 1
        last = bisect_right(starts, end) - 1
        return Span(first + 1, start - starts[first] + 1, last + 1, end - starts[last] + 1)

    def offset(self, span: Span) -> int:
        return self._starts[span.line - 1] + span.column - 1

    def end_offset(self, span: Span) -> int:
        return self._starts[span.end_line - 1] + span.end_column - 1

    def diagnostic(self, code: str, message: str, start: int, end: int, hint: str = "") -> Diagnostic:
        return diagnostic(code, message, file=self.name, span=self.span(start, end), hint=hint)


@dataclass(slots=True)
class Scalar:
    """`plain`: without quotes. `comment`: where a comment behind it begins, if only one space is between."""

    text: str
    start: int
    end: int
    plain: bool
    comment: int | None = None
    weight: int = 0


@dataclass(slots=True)
class Sequence:
    start: int
    end: int
    items: list[Node] = field(default_factory=list)
    weight: int = 0


@dataclass(slots=True)
class Entry:
    """One `key: value`; a merged one came through `<<`."""

    key: Scalar
    value: Node
    merged: bool = False


@dataclass(slots=True)
class Mapping:
    start: int
    end: int
    entries: dict[str, Entry] = field(default_factory=dict)
    weight: int = 0


@dataclass(slots=True)
class Broken:
    """A value that has been reported already: nothing more should be said of it."""

    start: int
    end: int
    weight: int = 0


Node = Scalar | Sequence | Mapping | Broken


def decode(data: bytes, name: str) -> tuple[str, list[Diagnostic]]:
    """The text of a spec with `\\n` line ends and without BOM; '' with one finding if it is no UTF-8."""
    if len(data) > MAX_BYTES:
        return "", [diagnostic("E0102", "the spec is larger than 1 MiB", file=name, span=Span(1, 1, 1, 1))]
    hint = ""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        message = f"the spec is not UTF-8: the byte 0x{data[error.start]:02x} here is not part of a character"
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            message, hint = "the spec is UTF-16, not UTF-8", "save the file as UTF-8"
        return "", [diagnostic("E0101", message, file=name, span=Span(line, column, line, column + 1), hint=hint)]
    if "\0" in text[:4] and text.count("\0") * 3 > len(text):
        message = "the spec is UTF-16, not UTF-8"
        return "", [diagnostic("E0101", message, file=name, span=Span(1, 1, 1, 2))]
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), []


def read_tree(source: Source) -> tuple[Node | None, list[Diagnostic]]:
    """The tree of a text and all findings. A mistake that can be fenced in becomes Broken; reading goes on.

    None: there is no tree, and at least one finding says why.
    """
    findings = list(_bad_characters(source))
    # Same length, so that positions stay; the loader would stop at the first of them.
    text = _BAD.sub("\ufffd", source.text) if findings else source.text
    mended: set[int] = set()
    for _ in range(MAX_MENDED):
        builder = _Builder(source, text, mended)
        try:
            root = builder.build()
        except yaml.MarkedYAMLError as error:
            finding, fence = explain_error(source, text, error)
            findings.append(finding)
            if fence is None or fence[0] in mended:
                return None, findings
            start, end = fence
            text = text[:start] + "x" * (end - start) + text[end:]
            mended.add(start)
        except yaml.YAMLError:
            findings.append(source.diagnostic("E0104", "this is not a YAML text", 0, 1))
            return None, findings
        else:
            return root, findings + builder.findings
    return None, findings


def bad_character(text: str) -> str | None:
    """The first character that a page cannot hold, as `U+XXXX`, or None."""
    match = _BAD.search(text)
    return f"U+{ord(match[0]):04X}" if match else None


def _bad_characters(source: Source) -> Iterator[Diagnostic]:
    for match in islice(_BAD.finditer(source.text), _MAX_BAD):
        message = f"the character U+{ord(match[0]):04X} cannot stand in a page"
        yield source.diagnostic("E0103", message, match.start(), match.end())


def _index(mark: Any) -> int:
    """The offset of a mark; events of parsed text always have one."""
    return int(mark.index)


class _StopError(Exception):
    """A finding after which reading further makes no sense."""


@dataclass(slots=True)
class _Frame:
    """A collection being read; `key` waits for its value."""

    node: Sequence | Mapping
    anchor: str | None
    key: Scalar | None = None
    waiting: bool = False
    broken: bool = False


class _Builder:
    def __init__(self, source: Source, text: str, mended: set[int]) -> None:
        self.findings: list[Diagnostic] = []
        self._source = source
        self._text = text
        self._mended = mended
        self._stack: list[_Frame] = []
        self._anchors: dict[str, Node | None] = {}
        self._unused: dict[str, Scalar] = {}
        self._added = 0
        self._root: Node | None = None

    def build(self) -> Node | None:
        try:
            for event in yaml.parse(self._text, Loader=_LOADER):
                self._take(event)
        except _StopError:
            return None
        root = self._root
        if root is None or (isinstance(root, Scalar) and root.plain and not root.text):
            self._root = None
            self._report("E0110", "the spec is empty", 0, 0)
        for name, scalar in self._unused.items():
            message = f"`&{name}` is read as an anchor, not as text, and is never used"
            self._report("W0118", message, scalar.start, scalar.end)
        return self._root

    def _report(self, code: str, message: str, start: int, end: int, hint: str = "") -> None:
        self.findings.append(self._source.diagnostic(code, message, start, end, hint))

    def _stop(self, code: str, message: str, start: int, end: int, hint: str = "") -> _StopError:
        self._report(code, message, start, end, hint)
        self._root = None
        return _StopError()

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._alias(event)
        elif isinstance(event, yaml.SequenceStartEvent | yaml.MappingStartEvent):
            self._open(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)
        elif isinstance(event, yaml.DocumentStartEvent) and self._root is not None:
            start = _index(event.start_mark)
            raise self._stop("E0109", "a second YAML document begins here", start, start + 3)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        start, end = self._trimmed(event)
        node: Node
        if start in self._mended:
            node = Broken(start, end)
        elif (tag := event.tag) is not None and tag not in _STANDARD_TAGS:
            node = self._tagged(tag, start, self._line_end(end))
        else:
            plain = event.style is None or event.style == ""
            node = Scalar(event.value, start, end, plain)
            if plain and event.value and self._text[end : end + 2] == " #":
                node.comment = end + 1
            if event.anchor is not None:
                self._unused[event.anchor] = node
        node.weight = 16 + len(event.value)
        if start > 0 and self._text[start - 1] == "\t" and not isinstance(node, Broken):
            self._report("E0106", "there is a tab before the value", start - 1, start)
        if event.anchor is not None:
            self._anchors[event.anchor] = node
        self._add(node)

    def _tagged(self, tag: str, start: int, end: int) -> Broken:
        shown = self._text[start:end].split(None, 1)[0] if self._text[start:end].strip() else tag
        hint = quote_hint(self._text[start:end])
        self._report("E0113", f"`{shown}` is read as a YAML tag, not as text", start, end, hint)
        return Broken(start, end)

    def _alias(self, event: yaml.AliasEvent) -> None:
        start, end = _index(event.start_mark), _index(event.end_mark)
        name = event.anchor or ""
        node = self._anchors.get(name)
        self._unused.pop(name, None)
        if node is None:
            known = name in self._anchors
            message = f"`*{name}` contains itself" if known else f"`*{name}` refers to no `&{name}` above"
            end = end if known else self._line_end(end)
            self._report("E0112", message, start, end)
            self._add(Broken(start, end))
            return
        self._added += node.weight
        if self._added > MAX_ALIAS_WEIGHT:
            raise self._stop("E0112", "the aliases repeat more than 1 MiB of text", start, end, "write fewer aliases")
        self._add(node)

    def _open(self, event: yaml.SequenceStartEvent | yaml.MappingStartEvent) -> None:
        start = _index(event.start_mark)
        if len(self._stack) >= MAX_DEPTH:
            raise self._stop("E0111", f"more than {MAX_DEPTH} levels deep", start, start + 1)
        if event.tag is not None and event.tag not in _STANDARD_TAGS:
            self._tagged(event.tag, start, self._line_end(start))
        kind = Sequence if isinstance(event, yaml.SequenceStartEvent) else Mapping
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        self._stack.append(_Frame(kind(start, start), event.anchor))

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        frame = self._stack.pop()
        node = frame.node
        node.end = max(node.start + 1, self._trim(node.start, _index(event.end_mark)))
        children = node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries.values()]
        node.weight = 16 + sum(child.weight for child in children)
        if frame.anchor is not None:
            self._anchors[frame.anchor] = node
        self._add(Broken(node.start, node.end, node.weight) if frame.broken else node)

    def _add(self, node: Node) -> None:
        """Put a finished node where it belongs."""
        if not self._stack:
            self._root = node
            return
        frame = self._stack[-1]
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif not frame.waiting:
            frame.waiting = True
            frame.key = self._key(node)
        else:
            key, frame.key, frame.waiting = frame.key, None, False
            if key is not None:
                self._entry(frame.node, key, node)

    def _key(self, node: Node) -> Scalar | None:
        if isinstance(node, Scalar) and (node.text or not node.plain):
            return node
        if isinstance(node, Broken):
            return None
        frame = self._stack[-1]
        frame.broken = True
        start = frame.node.start
        if self._text[start : start + 2] == "{{":
            end = self._line_end(start)
            hint = quote_hint(self._text[start:end])
            self._report("E0105", "a text that begins with `{{` must be quoted", start, end, hint)
        else:
            self._report("E0114", "a key must be a word", node.start, max(node.end, node.start + 1))
        return None

    def _entry(self, mapping: Mapping, key: Scalar, value: Node) -> None:
        if key.plain and key.text == "<<":
            self._merge(mapping, key, value)
            return
        first = mapping.entries.get(key.text)
        if first is None or first.merged:
            mapping.entries[key.text] = Entry(key, value)
            return
        line = self._source.span(first.key.start, first.key.end).line
        second = self._source.span(key.start, key.end).line
        message = f"the key `{key.text}` stands twice in one mapping: in line {line} and in line {second}"
        self._report("E0108", message, key.start, key.end)

    def _merge(self, mapping: Mapping, key: Scalar, value: Node) -> None:
        """The mapping's own keys win, whether they stand before or behind; then the earlier merged ones."""
        parts = value.items if isinstance(value, Sequence) else [value]
        for part in parts:
            if isinstance(part, Mapping):
                for name, entry in part.entries.items():
                    mapping.entries.setdefault(name, Entry(entry.key, entry.value, merged=True))
            elif not isinstance(part, Broken):
                self._report("E0115", "`<<` must be given a mapping", key.start, key.end)
                return

    def _trimmed(self, event: yaml.ScalarEvent) -> tuple[int, int]:
        start = _index(event.start_mark)
        return start, self._trim(start, _index(event.end_mark))

    def _trim(self, start: int, end: int) -> int:
        return start + len(self._text[start:end].rstrip())

    def _line_end(self, offset: int) -> int:
        end = self._text.find("\n", offset)
        end = len(self._text) if end < 0 else end
        return self._trim(offset, end)
