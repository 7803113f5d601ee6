"""From a YAML text to a page spec with positions, or to everything that is wrong with it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pagecompiler import spec_rules, yaml_source
from pagecompiler.diagnostics import CompileError, Diagnostic, Span, diagnostic
from pagecompiler.schema import PageSpec
from pagecompiler.spec_errors import SpecPath, first_line, translate
from pagecompiler.yaml_source import Broken, Node, Scalar, Sequence, Source

MAX_FINDINGS = 100
STDIN = "<stdin>"

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd]")
# A comment behind one of these cuts no text: a wrong value is reported anyway.
_NO_TEXT = frozenset({"kind", "lang", "mode", "font", "id", "width", "height", "href", "src", "url", "robots"})


class SpecNotFound(Exception):  # noqa: N818
    """There is no spec to read. Exit code 2."""

    exit_code = 2

    def __init__(self, name: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class LoadedSpec:
    """A spec that can be compiled.

    `name` is as the user named it, `<stdin>` for stdin; `folder` is what relative paths start from.
    `text` has `\\n` line ends and no BOM; positions refer to it.
    """

    page: PageSpec
    name: str
    path: Path | None
    folder: Path
    text: str
    positions: Mapping[SpecPath, Span]
    warnings: tuple[Diagnostic, ...] = ()

    def at(self, path: SpecPath) -> Span:
        """Where the value stands, or the nearest one around it."""
        return nearest(self.positions, path)

    def diagnostic(self, code: str, message: str, path: SpecPath, hint: str = "") -> Diagnostic:
        """A finding about the value at `path`, as in ("sections", 0, "heading")."""
        return diagnostic(code, message, file=self.name, span=self.at(path), hint=hint)


def load_spec(source: Path | str, *, data: bytes | None = None, root: Path | None = None) -> LoadedSpec:
    """Read and check one spec. CompileError carries every finding, warnings included, in reading order.

    `data` is the spec's content where it is known already; `-` as source means stdin and needs it. Images
    must lie inside `root`, by default the folder of the spec.
    """
    path = None if str(source) in ("-", STDIN) else Path(source)
    name = STDIN if path is None else str(source)
    if data is None:
        data = _read(path, name)
    folder = Path.cwd() if path is None else path.parent
    text, findings = yaml_source.decode(data, name)
    if findings:
        raise CompileError(tuple(findings))
    reader = _Reader(Source(text, name))
    page = reader.read(folder, root)
    findings = _ordered(reader.findings)
    if page is None or any(finding.severity == "error" for finding in findings):
        raise CompileError(tuple(findings))
    return LoadedSpec(page, name, path, folder, text, reader.raw.positions, tuple(findings))


def nearest(positions: Mapping[SpecPath, Span], path: SpecPath) -> Span:
    """The position of `path` or of its nearest known ancestor."""
    for length in range(len(path), -1, -1):
        if (span := positions.get(path[:length])) is not None:
            return span
    return Span(1, 1, 1, 1)


def _read(path: Path | None, name: str) -> bytes:
    if path is None:
        raise SpecNotFound(name, "the content of stdin was not given")
    try:
        with path.open("rb") as file:
            return file.read(yaml_source.MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise SpecNotFound(name, f"there is no file `{name}`") from error
    except IsADirectoryError as error:
        raise SpecNotFound(name, f"`{name}` is a folder", f"did you mean `pagec batch {name}`?") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SpecNotFound(name, f"`{name}` cannot be read: {reason}") from error


def _ordered(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    unique = dict.fromkeys(findings)
    ordered = sorted(unique, key=lambda f: (f.span.line, f.span.column) if f.span else (0, 0))
    rest = len(ordered) - MAX_FINDINGS
    if rest > 0:
        # An error must not be lost behind a hundred warnings.
        first = set(sorted(ordered, key=lambda f: f.severity != "error")[:MAX_FINDINGS])
        more = diagnostic("N0121", f"{rest} more findings", file=ordered[0].file)
        return [f for f in ordered if f in first] + [more]
    return ordered


@dataclass
class RawSpec:
    """The spec as plain dicts, lists and texts. `broken` are values that were reported already (None)."""

    source: Source
    value: Any = None
    positions: dict[SpecPath, Span] = field(default_factory=dict)
    keys: dict[SpecPath, Span] = field(default_factory=dict)
    broken: set[SpecPath] = field(default_factory=set)

    def at(self, path: SpecPath) -> Span:
        return nearest(self.positions, path)

    def part(self, path: SpecPath, words: str) -> Span:
        """Where `words` stand in the value at `path`; the whole value if that is not certain."""
        span = self.at(path)
        start, end = self.source.offset(span), self.source.end_offset(span)
        if not words or self.source.text.count(words, start, end) != 1:
            return first_line(span)
        found = self.source.text.index(words, start, end)
        return self.source.span(found, found + len(words))

    def key(self, path: SpecPath) -> Span:
        """Where the key stands; for an item of a list, the item."""
        return self.keys.get(path) or self.at(path)

    def is_broken(self, path: SpecPath) -> bool:
        return any(path[:length] in self.broken for length in range(len(path) + 1))


class _Reader:
    """One pass over one source; `findings` in no order."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.raw = RawSpec(source)
        self.findings: list[Diagnostic] = []

    def read(self, folder: Path, root: Path | None) -> PageSpec | None:
        tree, self.findings = yaml_source.read_tree(self.source)
        if tree is None:
            return None
        self.raw.value = self._value(tree, ())
        if not isinstance(self.raw.value, dict):
            if not self.raw.is_broken(()):
                message = "a spec is a mapping of keys such as `title` and `hero`"
                self.add("E0205", message, first_line(self.raw.at(())), "begin with `title: …`")
            return None
        page = None
        try:
            page = PageSpec.model_validate(self.raw.value)
        except ValidationError as error:
            for found in translate(error, self.raw):
                self.add(*found)
        for found in spec_rules.check(page, self.raw, folder, root):
            self.add(*found)
        return page

    def add(self, code: str, message: str, span: Span, hint: str = "") -> None:
        self.findings.append(diagnostic(code, message, file=self.source.name, span=span, hint=hint))

    def _value(self, node: Node, path: SpecPath) -> Any:
        span = self.source.span(node.start, max(node.end, node.start))
        self.raw.positions[path] = span
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
            return [self._value(item, (*path, index)) for index, item in enumerate(node.items)]
        result: dict[str, Any] = {}
        for name, entry in node.entries.items():
            word = self._key(entry.key)
            key = (*path, word)
            self.raw.keys[key] = self.source.span(entry.key.start, entry.key.end)
            if isinstance(entry.value, Scalar) and entry.value.plain and entry.value.text in _NULLS:
                self._null(entry.key, entry.value, name)
                self.raw.positions[key] = self.raw.keys[key]
                self.raw.broken.add(key)
                result[word] = None
            else:
                result[word] = self._value(entry.value, key)
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
            self.add("E0202", f"`{name}` has no value", self.source.span(key.start, key.end))

    def _text(self, node: Scalar, path: SpecPath, span: Span) -> str | None:
        if node.plain and node.text in _NULLS:
            if not node.text and len(path) > 3 and path[-3] == "rows":
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
